import type { SessionId } from "../../../machines/ids.ts";
import { callId } from "../../../machines/ids.ts";
import type { Fence, Store, SubagentKey, SubagentRow } from "../../../persistence/store.ts";
import { admitted, newSession, type StoreScene, storeScene } from "../../../persistence/testing/store-scene.ts";
import { realClock } from "../../effects.ts";
import { type JobEvents, type JobsBackend, type JobsConnection, openBackend } from "../backend.ts";
import { type Producer, producerOf } from "../producer.ts";
import type { JobData, WorkerTimes } from "../queues.ts";
import type { Problem } from "../reports.ts";
import { type Wait, type Waits, waitsOf } from "../waiting.ts";
import { type Processors, startWorkers, type Workers, type WorkersOptions } from "../workers.ts";

/** What a test does to the far end of the queues. */
export type FarEnd = {
  readonly connection: JobsConnection;
  /** All that is stored there, as text. */
  everything(): Promise<string>;
  /** Keys or rows. */
  count(): Promise<number>;
  /** Events of the sub-agents' queue. */
  events(): Promise<number>;
  /** The lock of a job runs out, though its worker lives. */
  expireLock(jobId: string): Promise<void>;
  /** Ends every connection of the queues. Gives how many there were. */
  breakConnections(): Promise<number>;
  drop(): Promise<void>;
};

/** Soon enough for a test; a lock that is not renewed within it. */
export const QUICK: WorkerTimes = { lockMs: 60_000, stalledMs: 100 };

/** One process: its backend, with all that uses it. */
export type Node = {
  readonly backend: JobsBackend;
  readonly producer: Producer;
  readonly waits: Waits;
  readonly problems: Problem[];
  /** Listeners on its readers of events. */
  listeners(): number;
  workers(processors: Processors, options?: Partial<WorkersOptions>): Workers;
  close(): Promise<void>;
};

export function nodeOf(connection: JobsConnection, backoffMs = 50): Node {
  const problems: Problem[] = [];
  const opened = openBackend(connection, { clock: realClock, tell: (problem) => problems.push(problem) });
  const readers: JobEvents[] = [];
  const backend: JobsBackend = {
    ...opened,
    events(name) {
      const events = opened.events(name);
      readers.push(events);
      return events;
    },
  };
  const producer = producerOf({ backend, clock: realClock, backoffMs });
  let waits: Waits | undefined;
  const started: Workers[] = [];
  return {
    backend,
    producer,
    problems,
    listeners: () =>
      readers.reduce(
        (sum, events) => events.eventNames().reduce((n, event) => n + events.listenerCount(event as "error"), sum),
        0,
      ),
    get waits() {
      waits ??= waitsOf(backend, realClock);
      return waits;
    },
    workers(processors, options = {}) {
      const workers = startWorkers({ backend, processors, clock: realClock, concurrency: 4, times: QUICK, ...options });
      started.push(workers);
      return workers;
    },
    async close() {
      await Promise.all(started.map((workers) => workers.close(0)));
      await waits?.close();
      await backend.close();
    },
  };
}

export type JobsScene = {
  readonly far: FarEnd;
  readonly stored: StoreScene;
  readonly store: Store;
  /** A process; jobs that it adds are tried again after `backoffMs`, 50 by default. */
  node(backoffMs?: number): Node;
  close(): Promise<void>;
};

export async function jobsScene(farEnd: (stored: StoreScene) => FarEnd): Promise<JobsScene> {
  const stored = await storeScene();
  stored.clock.at = Date.now();
  const far = farEnd(stored);
  const nodes: Node[] = [];
  return {
    far,
    stored,
    store: stored.store,
    node(backoffMs) {
      const node = nodeOf(far.connection, backoffMs);
      nodes.push(node);
      return node;
    },
    async close() {
      await Promise.all(nodes.map((node) => node.close()));
      await far.drop();
      await stored.close();
    },
  };
}

export type Asked = {
  readonly fence: Fence;
  readonly key: SubagentKey;
  readonly data: JobData<"subagents">;
  readonly deadline: number;
};

let calls = 0;

/** A turn whose model has asked for research: its row waits, no job is there. */
export async function asked({ store }: JobsScene, request: unknown = { question: "?" }, ms = 30_000): Promise<Asked> {
  const id: SessionId = await newSession(store);
  const { fence, turnId } = await admitted(store, id);
  calls += 1;
  const key = { sessionId: id, turnId, callId: callId(`call-${calls}`) };
  const deadline = Date.now() + ms;
  await store.subagents.begin(fence, { ...key, kind: "research", request, deadline });
  return { fence, key, data: dataOf(key), deadline };
}

export const dataOf = ({ sessionId, turnId, callId: call }: SubagentKey): JobData<"subagents"> => ({
  session_id: sessionId,
  turn_id: turnId,
  call_id: call,
});

export const keyOf = ({ session_id, turn_id, call_id }: JobData<"subagents">): SubagentKey => ({
  sessionId: session_id,
  turnId: turn_id,
  callId: callId(call_id),
});

/** Waits as a parent does: for the row to have ended. */
export function parentWaits(
  { store }: JobsScene,
  { waits }: Node,
  { key, deadline }: Pick<Asked, "key" | "deadline">,
  jobId: string,
  more: Partial<Wait<SubagentRow>> = {},
): Promise<SubagentRow> {
  const look = async () => {
    const row = await store.subagents.load(key);
    return row?.state === "waiting" || row?.state === "running" ? undefined : row;
  };
  return waits.waitFor({ queue: "subagents", jobId, look, deadline, ...more });
}

/** Resolves when it is so; it is looked at often. */
export async function until(isSo: () => boolean | Promise<boolean>, ms = 10_000): Promise<void> {
  const end = performance.now() + ms;
  while (!(await isSo())) {
    if (performance.now() > end) throw new Error("it never came to be so");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** A promise that a test settles. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}
