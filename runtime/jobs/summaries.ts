import type { Clock } from "../../machines/effects.ts";
import { Failure } from "../../machines/failure.ts";
import type { SessionId } from "../../machines/ids.ts";
import type { Histories, Summaries, SummaryDraft, WantedSummaries } from "../../persistence/store.ts";
import { type Drafts, type DraftsOptions, SummaryLate } from "../summaries/drafts.ts";
import { type SummaryWork, summarised } from "../summaries/summarising.ts";
import type { Producer } from "./producer.ts";
import type { JobData } from "./queues.ts";
import { JobFailed, JobLate, type Waits } from "./waiting.ts";
import type { Processor } from "./workers.ts";

export type SummaryProcessorOptions = Pick<
  DraftsOptions,
  "summariser" | "clock" | "limitMs" | "onCall" | "onFailure"
> & {
  readonly histories: Pick<Histories, "load">;
  readonly summaries: WantedSummaries;
};

/** What is stored is not (or not any more) what the job was made for. */
export class HistoryChanged extends Failure {
  readonly code = "history_changed";
  readonly retryable = false;
  constructor() {
    super("a summary was asked for that does not fit what is stored; another one is asked for when it is needed");
  }
}

/** Makes a draft of what a job names and keeps it. One that nobody can use any more is not made. */
export function summaryProcessor(options: SummaryProcessorOptions): Processor<"summaries"> {
  const { summariser, histories, summaries, clock, limitMs, onCall, onFailure } = options;
  return async ({ data, signal }) => {
    const { session_id: id, from } = data;
    if (!(await summaries.isWanted(id, from))) return;
    const work = workFrom(data, await histories.load(id, from));
    const over = new AbortController();
    const late = new AbortController();
    clock.sleep(limitMs, over.signal).then(
      () => late.abort(new SummaryLate()),
      () => {},
    );
    const any = AbortSignal.any([signal, late.signal]);
    try {
      const making = summarised(work, { summariser, monotonic: clock.monotonic, onCall }, any);
      // Whoever does not hear the signal is not waited for either.
      const draft = await Promise.race([making, aborted(any)]);
      await summaries.keep(id, draft);
    } catch (error) {
      if (!signal.aborted) onFailure(error, work);
      throw error;
    } finally {
      over.abort();
    }
  };
}

/** The same work as its owner would do: older turns are stored whole before anybody asks for their summary. */
function workFrom(data: JobData<"summaries">, history: Awaited<ReturnType<Histories["load"]>>): SummaryWork {
  const { session_id: sessionId, turn_id: turnId, from, to, cap } = data;
  if (!history.some(({ pos }) => pos >= to)) throw new HistoryChanged();
  const earlier = history.findLast(({ entry }) => entry.kind === "summary")?.entry;
  return {
    sessionId,
    turnId,
    from,
    to,
    cap,
    entries: history.filter(({ pos, entry }) => pos < to && entry.kind !== "summary"),
    earlier: earlier?.kind === "summary" ? earlier.text : "",
  };
}

export type QueuedDraftsOptions = {
  readonly producer: Producer;
  readonly waits: Waits;
  readonly store: Summaries;
  readonly clock: Clock;
  /** Longest time to wait for a draft, the queue included. */
  readonly limitMs: number;
  readonly summariserWindow: number;
  /** A draft that could not be asked for, or did not come. What fails in a worker is told there. */
  readonly onFailure: (error: unknown, work: SummaryWork) => void;
};

/** How many drafts, and anchors without one, are remembered. */
const MOST = 2_000;

/** Drafts that workers make, here or in other processes: the table tells whether there is one. */
export function queuedDrafts(options: QueuedDraftsOptions): Drafts {
  const { producer, waits, store, clock, limitMs, summariserWindow, onFailure } = options;
  const running = new Map<string, Promise<SummaryDraft>>();
  const known = new Map<string, "looking" | "none" | "ready" | "failed">();
  const endings = new Set<Promise<unknown>>();
  const closing = new AbortController();
  const key = (id: SessionId, anchor: number) => `${id}_${anchor}`;

  function note(name: string, state: "looking" | "none" | "ready" | "failed"): void {
    known.delete(name);
    known.set(name, state);
    const [oldest] = known.keys();
    if (known.size > MOST && oldest !== undefined) known.delete(oldest);
  }

  function tracked<T>(work: Promise<T>): Promise<T> {
    const ending = work.catch(() => {}).finally(() => endings.delete(ending));
    endings.add(ending);
    return work;
  }

  async function asked({ sessionId, turnId, from, to, cap }: SummaryWork): Promise<SummaryDraft> {
    closing.signal.throwIfAborted();
    const look = () => store.find(sessionId, from);
    const stored = await look();
    if (stored !== undefined) return stored;
    const data = { session_id: sessionId, turn_id: turnId, from, to, cap };
    const jobId = await producer.add("summaries", data);
    const deadline = clock.now() + limitMs;
    return await waits.waitFor({ queue: "summaries", jobId, look, deadline, signal: closing.signal });
  }

  async function made(work: SummaryWork, name: string): Promise<SummaryDraft> {
    try {
      const draft = await asked(work);
      note(name, "ready");
      return draft;
    } catch (error) {
      // A queue that was away is asked again; a range that can't be summed up is not, ahead of time.
      if (error instanceof JobFailed) note(name, "failed");
      const told = error instanceof JobLate ? new SummaryLate() : error;
      if (!(error instanceof JobFailed)) onFailure(told, work);
      throw told;
    } finally {
      running.delete(name);
    }
  }

  function make(work: SummaryWork): Promise<SummaryDraft> {
    const name = key(work.sessionId, work.from);
    const joined = running.get(name);
    if (joined) return joined;
    const making = tracked(made(work, name));
    running.set(name, making);
    return making;
  }

  async function lookFor(id: SessionId, anchor: number, name: string): Promise<void> {
    note(name, "looking");
    const draft = await store.find(id, anchor).catch(() => undefined);
    if (known.get(name) === "looking") note(name, draft === undefined ? "none" : "ready");
  }

  return {
    summariserWindow,
    make,
    prepare(work) {
      const name = key(work.sessionId, work.from);
      const state = known.get(name);
      if (running.has(name) || state === "ready" || state === "failed" || closing.signal.aborted) return;
      // Its failure was told to `onFailure`, or by the worker.
      make(work).catch(() => {});
    },
    isReady(id, anchor) {
      const name = key(id, anchor);
      // Another process may have asked for it: looked up once, in time for the next call of this turn.
      if (!known.has(name) && !closing.signal.aborted) void tracked(lookFor(id, anchor, name));
      return known.get(name) === "ready";
    },
    find: (id, anchor) => store.find(id, anchor),
    forget(id, anchor) {
      known.delete(key(id, anchor));
    },
    async close() {
      closing.abort(new SummaryLate());
      await Promise.all(endings);
    },
  };
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
