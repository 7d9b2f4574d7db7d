import type { BackOff } from "../compaction/compaction.rules.ts";
import { failureCode } from "../failure.ts";
import type { SessionId, TurnId } from "../ids.ts";
import type { TurnLimits } from "../turn/turn.rules.ts";

export const SESSION_MACHINE = "session";
/** Grows when a stored snapshot of the version before can't be restored as it is. */
export const SESSION_VERSION = 1;

/** Small and serialisable; history is not in it. `queue` mirrors the waiting inbox rows by ordinal. */
export type SessionContext = {
  readonly sessionId: SessionId;
  readonly queue: readonly TurnId[];
  readonly running: TurnId | null;
  /** An interaction is open: the session waits for a person. */
  readonly awaiting: boolean;
  readonly draining: boolean;
  /** Falling asleep that failed in a row; the delay before the next try grows with it. */
  readonly restless: number;
  /** What keeps the next turns from compacting in vain. */
  readonly backOff: BackOff | null;
  readonly hibernateAfterMs: number;
  readonly limits: TurnLimits;
};

/** `draining`: the node drains already, so nothing starts. */
export type SessionInput = Pick<
  SessionContext,
  "sessionId" | "queue" | "awaiting" | "draining" | "hibernateAfterMs" | "limits"
> & {
  /** Of the chart that slept before. */
  readonly backOff?: BackOff | null;
};

/** A queue never holds an id twice: an admission may be heard of again after a take-over. */
export function enqueue(queue: readonly TurnId[], running: TurnId | null, turnId: TurnId): readonly TurnId[] {
  return queue.includes(turnId) || running === turnId ? queue : [...queue, turnId];
}

export function withdraw(queue: readonly TurnId[], turnId: TurnId): readonly TurnId[] {
  return queue.filter((id) => id !== turnId);
}

const LONGEST_REST_MS = 60_000;

/** How long a session rests before it falls asleep; doubles from a second after each failed try, bounded. */
export function restMs(session: SessionContext): number {
  if (session.restless === 0) return session.hibernateAfterMs;
  return Math.min(LONGEST_REST_MS, Math.max(session.hibernateAfterMs, 1000 * 2 ** (session.restless - 1)));
}

export function isOwnershipLost(error: unknown): boolean {
  return failureCode(error) === "ownership_lost";
}
