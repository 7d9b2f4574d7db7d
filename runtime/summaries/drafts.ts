import type { Clock } from "../../machines/effects.ts";
import { Failure } from "../../machines/failure.ts";
import type { SessionId } from "../../machines/ids.ts";
import type { Summaries as StoredDrafts, SummaryDraft } from "../../persistence/store.ts";
import type { Summariser } from "./summariser.ts";
import { type SummaryCall, type SummaryWork, summarised } from "./summarising.ts";

/** Who makes summaries, ahead of time or while a turn waits. One at a time for each session and anchor. */
export interface Drafts {
  readonly summariserWindow: number;
  /** Makes a draft, or joins whoever makes one for the same anchor. It goes on when nobody waits any more. */
  make(work: SummaryWork): Promise<SummaryDraft>;
  /** Makes one unless there is one, or a try for this anchor has failed. Nobody waits for it. */
  prepare(work: SummaryWork): void;
  /** A draft for this anchor was made and stored here, and was not taken yet. */
  isReady(id: SessionId, anchor: number): boolean;
  find(id: SessionId, anchor: number): Promise<SummaryDraft | undefined>;
  /** The anchor has moved: what is known of it is of no use. */
  forget(id: SessionId, anchor: number): void;
  /** Ends what is being made. */
  close(): Promise<void>;
}

export type DraftsOptions = {
  readonly summariser: Summariser;
  readonly store: StoredDrafts;
  readonly clock: Clock;
  /** Longest time that a summary may take, all its calls together. */
  readonly limitMs: number;
  readonly onCall: (call: SummaryCall) => void;
  /** A draft that could not be made or kept. */
  readonly onFailure: (error: unknown, work: SummaryWork) => void;
};

/** The summariser did not end in time. */
export class SummaryLate extends Failure {
  readonly code = "summary_late";
  readonly retryable = true;
  constructor() {
    super("the summariser took too long; the conversation goes on without a summary for now");
  }
}

/** How many drafts, and anchors without one, are remembered. */
const MOST = 1_000;

/** Drafts made in this process. */
export function localDrafts({ summariser, store, clock, limitMs, onCall, onFailure }: DraftsOptions): Drafts {
  const running = new Map<string, Promise<SummaryDraft>>();
  const ready = new Set<string>();
  const failed = new Set<string>();
  const endings = new Set<Promise<void>>();
  const closing = new AbortController();
  const key = (id: SessionId, anchor: number) => `${id}_${anchor}`;
  const how = { summariser, monotonic: clock.monotonic, onCall };

  async function begun(work: SummaryWork): Promise<SummaryDraft> {
    const late = new AbortController();
    const signal = AbortSignal.any([late.signal, closing.signal]);
    const done = new AbortController();
    const timer = clock.sleep(limitMs, AbortSignal.any([done.signal, closing.signal])).then(
      () => late.abort(new SummaryLate()),
      () => {},
    );
    try {
      // Whoever does not hear the signal is not waited for either.
      return await Promise.race([summarised(work, how, signal), aborted(signal)]);
    } finally {
      done.abort();
      await timer;
    }
  }

  async function keep(work: SummaryWork, draft: SummaryDraft): Promise<void> {
    try {
      const isKept = await store.keep(work.sessionId, draft);
      if (isKept) bounded(ready, MOST).add(key(work.sessionId, work.from));
    } catch (error) {
      onFailure(error, work);
    }
  }

  async function made(work: SummaryWork): Promise<SummaryDraft> {
    // Stored by now, though whoever asks has looked for it just before.
    const stored = ready.has(key(work.sessionId, work.from)) ? await store.find(work.sessionId, work.from) : undefined;
    return stored ?? (await begun(work));
  }

  function make(work: SummaryWork): Promise<SummaryDraft> {
    const name = key(work.sessionId, work.from);
    const known = running.get(name);
    if (known) return known;
    const making = made(work);
    running.set(name, making);
    // Who asks again before it is stored joins all the same: a second one is never made.
    const ending = making
      .then(
        (draft) => keep(work, draft),
        (error: unknown) => {
          bounded(failed, MOST).add(name);
          onFailure(error, work);
        },
      )
      .finally(() => {
        running.delete(name);
        endings.delete(ending);
      });
    endings.add(ending);
    return making;
  }

  return {
    summariserWindow: summariser.window,
    make,
    prepare(work) {
      const name = key(work.sessionId, work.from);
      if (running.has(name) || ready.has(name) || failed.has(name) || closing.signal.aborted) return;
      // Its failure was told to `onFailure`.
      make(work).catch(() => {});
    },
    isReady: (id, anchor) => ready.has(key(id, anchor)),
    find: (id, anchor) => store.find(id, anchor),
    forget(id, anchor) {
      ready.delete(key(id, anchor));
      failed.delete(key(id, anchor));
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

/** The oldest name leaves when there are too many: what is forgotten is looked up, or made again. */
function bounded(names: Set<string>, most: number): Set<string> {
  const [oldest] = names;
  if (names.size >= most && oldest !== undefined) names.delete(oldest);
  return names;
}
