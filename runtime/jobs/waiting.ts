import type { Clock } from "../../machines/effects.ts";
import { Failure } from "../../machines/failure.ts";
import { StoreUnavailable } from "../../persistence/store.ts";
import type { JobEvents, JobsBackend } from "./backend.ts";
import { closeSoon } from "./closing.ts";
import { type JobProgress, jobProgress, keepsEnded, QUEUES, type QueueName } from "./queues.ts";

/** How often the database is looked at by someone who waits: events are quicker, and may be lost. */
const LOOK_MS = 1_000;

/** The deadline came and there is no result. */
export class JobLate extends Failure {
  readonly code = "job_late";
  readonly retryable = true;
  constructor() {
    super("a job had no result by its deadline");
  }
}

/**
 * The queue is done with the job and there is no result. `code` is what its worker threw, `job_empty` when it threw
 * nothing, `job_removed` or `job_stalled`.
 */
export class JobFailed extends Failure {
  readonly code: string;
  readonly retryable = false;
  constructor(code: string) {
    super(`a job ended without a result (${code})`);
    this.code = code;
  }
}

export type Wait<T> = {
  readonly queue: QueueName;
  readonly jobId: string;
  /** Looks into the database. Undefined: there is no result yet. It decides; the queue only tells when to look. */
  readonly look: () => Promise<T | undefined>;
  /** Milliseconds since 1970. */
  readonly deadline: number;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: JobProgress) => void;
};

export interface Waits {
  /**
   * The result, as soon as it is in the database. Rejects with `JobLate` at the deadline, with `JobFailed` when the job
   * has ended or is gone without one, with the signal's reason, or with what `look` throws, a `StoreUnavailable` aside.
   */
  waitFor<T>(wait: Wait<T>): Promise<T>;
  /** Who waits now. */
  count(): number;
  close(): Promise<void>;
}

/** Who waits for one job: told that it ended, and with which code if there is no result; or how far it is. */
type Waiter = { end(code: string): void; progress(progress: JobProgress): void };
type Waiters = Map<string, Set<Waiter>>;

const late = Symbol("late");
const toLate = (): typeof late => late;

/** Waits for any number of jobs over one reader of events for each queue. */
export function waitsOf(backend: JobsBackend, clock: Clock): Waits {
  const waiters: Waiters = new Map();
  const readers = QUEUES.map((queue) => reading(backend.events(queue), (id) => waiters.get(`${queue} ${id}`) ?? []));

  return {
    count: () => [...waiters.values()].reduce((sum, some) => sum + some.size, 0),

    async waitFor({ queue, jobId, look, deadline, signal, onProgress }) {
      signal?.throwIfAborted();
      const over = new AbortController();
      const stopped = aborted(signal, over.signal);
      const after = (ms: number) => clock.sleep(Math.max(0, ms), over.signal).then(toLate, toLate);
      const job = joined(waiters, `${queue} ${jobId}`, onProgress);
      try {
        // What is there already is found, even when the deadline was long ago.
        const first = await Promise.race([looked(look), stopped, after(LOOK_MS)]);
        if (first !== undefined && first !== late) return first.result;
        const end = after(deadline - clock.now());
        for (;;) {
          // What ended before anybody listened, or while no event came through, tells nobody any more.
          void endedBefore(backend, queue, jobId).then((code) => code !== undefined && job.end(code));
          const heard = await Promise.race([job.ended, stopped, end, after(LOOK_MS).then(() => undefined)]);
          if (heard === late) throw new JobLate();
          const found = await Promise.race([looked(look), stopped, end]);
          if (found === late) throw new JobLate();
          if (found !== undefined) return found.result;
          if (heard !== undefined) throw new JobFailed(heard.code);
        }
      } finally {
        over.abort();
        job.leave();
      }
    },

    async close() {
      await Promise.all(readers.map((events) => closeSoon(events, clock)));
    },
  };
}

/** Four listeners for each reader, however many wait. */
function reading(events: JobEvents, of: (jobId: string) => Iterable<Waiter>): JobEvents {
  events.on("completed", ({ jobId }) => {
    for (const waiter of of(jobId)) waiter.end("job_empty");
  });
  events.on("failed", ({ jobId, failedReason }) => {
    for (const waiter of of(jobId)) waiter.end(codeIn(failedReason));
  });
  events.on("removed", ({ jobId }) => {
    for (const waiter of of(jobId)) waiter.end("job_removed");
  });
  events.on("progress", ({ jobId, data }) => {
    const progress = jobProgress.safeParse(data);
    if (!progress.success) return;
    for (const waiter of of(jobId)) waiter.progress(progress.data);
  });
  return events;
}

/** How the job has ended already; undefined: it has not, or the queue is away and its events and the looks have to do. */
async function endedBefore(backend: JobsBackend, queue: QueueName, jobId: string): Promise<string | undefined> {
  try {
    const job = await backend.queue(queue).getJob(jobId);
    if (job === undefined) return keepsEnded(queue) ? undefined : "job_removed";
    if (job.finishedOn === undefined) return undefined;
    return job.failedReason ? codeIn(job.failedReason) : "job_empty";
  } catch {
    return undefined;
  }
}

/** One who waits for a job, from now until it leaves. */
function joined(waiters: Waiters, name: string, onProgress: ((progress: JobProgress) => void) | undefined) {
  let end: Waiter["end"] = () => {};
  const ended = new Promise<{ readonly code: string }>((resolve) => {
    end = (code) => resolve({ code });
  });
  const waiter: Waiter = { end, progress: (progress) => onProgress?.(progress) };
  const others = waiters.get(name) ?? new Set();
  waiters.set(name, others.add(waiter));
  return {
    /** Resolves when the job has ended: time for one look more. */
    ended,
    end: waiter.end,
    leave() {
      others.delete(waiter);
      if (others.size === 0) waiters.delete(name);
    },
  };
}

/** What cannot be read now may be there at the next look. */
async function looked<T>(look: () => Promise<T | undefined>): Promise<{ readonly result: T } | undefined> {
  try {
    const result = await look();
    return result === undefined ? undefined : { result };
  } catch (error) {
    if (error instanceof StoreUnavailable) return undefined;
    throw error;
  }
}

function aborted(signal: AbortSignal | undefined, over: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal?.addEventListener("abort", () => reject(signal.reason), { once: true, signal: over });
  });
}

/** BullMQ's own reasons are sentences. */
const codeIn = (reason: string): string =>
  /^[a-z][a-z0-9_.:]{0,79}$/.test(reason) ? reason : reason.includes("stalled") ? "job_stalled" : "job_failed";
