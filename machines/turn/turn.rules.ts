import * as compaction from "../compaction/compaction.rules.ts";
import { failureCode, isRetryable } from "../failure.ts";
import type { CallId, TurnId } from "../ids.ts";
import type { EndReason } from "../protocol/signals.ts";

/** A call by reference: history holds the rest. */
export type CallRef = { readonly callId: CallId; readonly name: string };

/** Limits of one turn. Each ends it with its own reason and a final answer without tools. */
export type TurnLimits = {
  /** Model calls with tools. */
  readonly steps: number;
  /** Owned time in milliseconds: time asleep or without an owner does not count. */
  readonly ms: number;
  /** Tokens that the turn's model calls put out, thinking included. */
  readonly tokens: number;
  /** Equal calls with equal results in a row before the turn ends as a loop; the model is told one earlier. */
  readonly repeats: number;
  /** Steps in a row that called nothing but unknown tools. */
  readonly unknownSteps: number;
};

/** How full the context is after something was added to it. Left out where nobody keeps a budget. */
type Filled = { readonly room?: compaction.Room };

/** How far a turn is, as read from its entries. A fresh turn is at zero; a taken-over one goes on from here. */
export type Progress = Filled & {
  readonly steps: number;
  readonly ms: number;
  readonly tokens: number;
  readonly openCalls: readonly CallRef[];
  /** The last entry is an assistant's without calls: nothing is owed but the settlement. */
  readonly answered: boolean;
  readonly repeats: number;
  readonly unknownSteps: number;
  /** The final answer without tools was asked for already. */
  readonly concluded: boolean;
  readonly truncated: boolean;
  /** A call has asked a person: the turn waits once every call has its result. */
  readonly paused: boolean;
  /** Cancelled before a new owner opened it: it settles without asking the model. */
  readonly cancelled: boolean;
  /** Taken over too often: it settles as failed. */
  readonly exhausted: boolean;
};

/** What a model call came to. */
export type Reasoned = Filled & {
  readonly calls: readonly CallRef[];
  readonly ms: number;
  readonly tokens: number;
  readonly truncated: boolean;
};

/** What running a step's calls came to. */
export type Acted = Filled & {
  readonly ms: number;
  /** A call of this turn has asked a person. */
  readonly paused: boolean;
  /** The login is dead: the turn ends in an orderly way. */
  readonly authExpired: boolean;
  readonly repeats: number;
  readonly unknownSteps: number;
};

export type Ending =
  /** `unanswered`: the final answer could not be had; the user is told why the turn ended instead. */
  | { readonly outcome: "completed"; readonly reason?: EndReason; readonly unanswered?: true }
  | { readonly outcome: "awaiting" }
  | { readonly outcome: "cancelled" }
  | { readonly outcome: "failed"; readonly code: string; readonly retryable: boolean };

export type TurnContext = Progress & {
  readonly turnId: TurnId;
  readonly limits: TurnLimits;
  readonly authExpired: boolean;
  /** A limit was reached and the final answer failed, or came to nothing. */
  readonly unanswered: boolean;
  readonly error: { readonly code: string; readonly retryable: boolean } | null;
  /** Ended without an outcome: the next owner goes on (`parked`), or has already begun to (`lost`). */
  readonly leftAs: "parked" | "lost" | null;
  /** What a compaction that made no room left behind; outlives the turn. */
  readonly backOff: compaction.BackOff | null;
  /** The summariser was asked in this turn. */
  readonly summariserAsked: boolean;
  /** What can be done for the next model call has been done. */
  readonly compacted: boolean;
};

/** The limit this turn has reached, if any. */
export function limitReached(turn: TurnContext): EndReason | undefined {
  if (turn.repeats >= turn.limits.repeats || turn.unknownSteps >= turn.limits.unknownSteps) return "tool_loop";
  if (turn.steps >= turn.limits.steps) return "step_limit";
  if (turn.ms >= turn.limits.ms) return "time_limit";
  if (turn.tokens >= turn.limits.tokens) return "token_limit";
  return undefined;
}

/** Nothing more will be asked or run; `endingOf` says how it ends. */
export function isOver(turn: TurnContext): boolean {
  if (turn.error || turn.cancelled || turn.exhausted || turn.authExpired) return true;
  return turn.openCalls.length === 0 && (turn.paused || turn.answered || turn.concluded);
}

/** The order is the rule: a cancel wins over a failure, a failure over an answer. */
export function endingOf(turn: TurnContext): Ending {
  if (turn.cancelled) return { outcome: "cancelled" };
  if (turn.exhausted) return { outcome: "failed", code: "recovery_exhausted", retryable: true };
  if (turn.error) return { outcome: "failed", ...turn.error };
  if (turn.authExpired) return { outcome: "failed", code: "auth_required", retryable: true };
  if (turn.paused) return { outcome: "awaiting" };
  if (turn.concluded) {
    const reason = limitReached(turn) ?? "step_limit";
    return { outcome: "completed", reason, ...(turn.unanswered && { unanswered: true }) };
  }
  return turn.truncated ? { outcome: "completed", reason: "truncated" } : { outcome: "completed" };
}

/** A model call comes next and the context is too full for it: a summary, a draft or a cut may help. Once a call. */
export function mustCompact(turn: TurnContext): boolean {
  const { room } = turn;
  if (room === undefined || turn.compacted || !compaction.isOverThreshold(room)) return false;
  return compaction.isOverWindow(room) || room.drafted === true || maySummarise(turn);
}

/** At most one call of the summariser a turn, and none while the back-off lasts. */
export function maySummarise({ room, summariserAsked, backOff }: TurnContext): boolean {
  return room !== undefined && !summariserAsked && compaction.mayAskAgain(room, backOff);
}

export function afterCompacting(turn: TurnContext, done: compaction.Compacted): Partial<TurnContext> {
  return {
    room: done.room,
    compacted: true,
    summariserAsked: turn.summariserAsked || done.asked,
    backOff: compaction.backOffAfter(done, turn.backOff),
  };
}

/** The back-off as the next turn finds it. */
export function backOffLeft({ backOff, summariserAsked }: TurnContext): compaction.BackOff | null {
  if (backOff === null || summariserAsked) return backOff;
  return { ...backOff, rest: Math.max(0, backOff.rest - 1) };
}

export function afterReasoning(turn: TurnContext, done: Reasoned): Partial<TurnContext> {
  const concluded = turn.concluded || limitReached(turn) !== undefined;
  return {
    steps: turn.steps + 1,
    ms: turn.ms + done.ms,
    tokens: turn.tokens + done.tokens,
    openCalls: done.calls,
    answered: done.calls.length === 0,
    truncated: done.truncated,
    concluded,
    compacted: false,
    ...(done.room && { room: done.room }),
  };
}

export function afterActing(turn: TurnContext, done: Acted): Partial<TurnContext> {
  return {
    ms: turn.ms + done.ms,
    openCalls: [],
    paused: done.paused,
    authExpired: done.authExpired,
    repeats: done.repeats,
    unknownSteps: done.unknownSteps,
    ...(done.room && { room: done.room }),
  };
}

export function failedWith(error: unknown): TurnContext["error"] {
  return { code: failureCode(error), retryable: isRetryable(error) };
}

/** Another node owns the session: this actor must not write, not even the failure. */
export function isOwnershipLost(error: unknown): boolean {
  return failureCode(error) === "ownership_lost";
}
