import {
  type BackendFactory,
  type IQueueBackend,
  type JobProgress,
  type Processor,
  Queue,
  QueueEvents,
  Worker,
} from "bullmq";
import type { Clock } from "../../machines/effects.ts";
import { never } from "../../machines/failure.ts";
import { type Health, healthOf, type JobsHealth } from "./health.ts";
import { postgresLink } from "./postgres-link.ts";
import { KEPT_EVENTS, type QueueName, type WorkerTimes } from "./queues.ts";
import { redisLink } from "./redis-link.ts";
import { isOfServer, levelOf, problemCode, type Report, reportOf, type TellProblem } from "./reports.ts";

export type JobsConnection =
  /** `url` is a direct one: LISTEN and session settings don't pass a pooler in transaction mode. */
  | { readonly kind: "postgres"; readonly url: string }
  /** All keys begin with `prefix`, `dormouse` by default. */
  | { readonly kind: "redis"; readonly url: string; readonly prefix?: string };

/** Connections are made here, not by BullMQ: its options only say so. */
export type OwnConnection = "own";
export type JobQueue = Queue<unknown, unknown, string, unknown, unknown, string, IQueueBackend, OwnConnection>;
export type JobEvents = QueueEvents<unknown, IQueueBackend, OwnConnection>;
export type JobWorker = Worker<unknown, unknown, string, IQueueBackend, JobProgress, OwnConnection>;
export type RunJob = Processor<unknown, unknown>;
export type WorkerOptions = { readonly concurrency: number; readonly times: WorkerTimes };

/**
 * Where the queues live. Nothing here rejects because the far end is away: it connects when it can, and again whenever
 * it was lost. Everything that is made here has its error listener.
 */
export interface JobsBackend {
  readonly kind: JobsConnection["kind"];
  /** As soon as it is ready, at the latest after `withinMs`; at once when it was away for longer than that already. */
  ready(withinMs: number): Promise<JobsHealth>;
  health(): JobsHealth;
  /** The one queue of this name, for adding: it fails fast. */
  queue(name: QueueName): JobQueue;
  /** A reader of its own connection. Whoever makes it closes it. */
  events(name: QueueName): JobEvents;
  /** Begins at once. Whoever makes it closes it. */
  worker(name: QueueName, run: RunJob, options: WorkerOptions): JobWorker;
  /** The last to be closed: workers and readers are closed before. */
  close(): Promise<void>;
}

/** The connections of one kind of far end. */
export type Link = {
  /** For adding: gives up soon and keeps nothing for later. */
  readonly adding: BackendFactory<IQueueBackend, OwnConnection>;
  /** For workers and readers: never gives up. */
  readonly working: BackendFactory<IQueueBackend, OwnConnection>;
  close(): Promise<void>;
};
export type LinkParts = { readonly clock: Clock; readonly health: Health; readonly report: Report };

export type BackendOptions = {
  readonly clock: Clock;
  /** Told of problems: the first of a kind at once, then at most one a minute with how many there were. */
  readonly tell: TellProblem;
};

export function openBackend(connection: JobsConnection, { clock, tell }: BackendOptions): JobsBackend {
  const health = healthOf(clock);
  const report = reportOf(tell, clock.monotonic);
  const link = linkOf(connection, { clock, health, report });
  const queues = new Map<QueueName, JobQueue>();
  let closing: Promise<void> | undefined;
  const common = { connection: "own", prefix: prefixOf(connection) } as const;

  const heard = <T extends { on(event: "error", heard: (error: Error) => void): unknown }>(
    made: T,
    name: QueueName,
  ): T => {
    made.on("error", (error) => {
      const code = problemCode(error);
      report(levelOf(code), code, isOfServer(code) ? undefined : name);
    });
    return made;
  };

  return {
    kind: connection.kind,
    ready: health.ready,
    health: health.now,

    queue(name) {
      const known = queues.get(name);
      if (known) return known;
      const options = { ...common, streams: { events: { maxLen: KEPT_EVENTS } } };
      const made: JobQueue = heard(new Queue(name, options, link.adding), name);
      queues.set(name, made);
      return made;
    },

    events(name) {
      const made: JobEvents = new QueueEvents(name, { ...common, blockingTimeout: 5_000 }, link.working);
      return heard(made, name);
    },

    worker(name, run, { concurrency, times: { lockMs, stalledMs } }) {
      const options = {
        ...common,
        concurrency,
        lockDuration: lockMs,
        lockRenewTime: lockMs / 3,
        stalledInterval: stalledMs,
        maxStalledCount: 1,
        // After a break that BullMQ notices itself.
        runRetryDelay: 1_000,
      };
      const made: JobWorker = new Worker<unknown, unknown, string, IQueueBackend, JobProgress, OwnConnection>(
        name,
        run,
        options,
        link.working,
      );
      return heard(made, name);
    },

    close() {
      closing ??= closed();
      return closing;
    },
  };

  async function closed(): Promise<void> {
    for (const queue of queues.values()) {
      await queue.close().catch((error: unknown) => report("warn", problemCode(error)));
    }
    await link.close();
  }
}

function linkOf(connection: JobsConnection, parts: LinkParts): Link {
  switch (connection.kind) {
    case "postgres":
      return postgresLink(connection.url, parts);
    case "redis":
      return redisLink(connection.url, prefixOf(connection), parts);
    default:
      return never(connection);
  }
}

const prefixOf = (connection: JobsConnection): string =>
  (connection.kind === "redis" ? connection.prefix : undefined) ?? "dormouse";
