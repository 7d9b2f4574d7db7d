import type { Limits, SignalData } from "../machines/protocol/signals.ts";
import type { ActionDone, Block, QueuedTurn, SessionStatus, StateData, Turn } from "../machines/protocol/turns.ts";

/** A block as it stands now. Until `finished`, its content is what has been streamed of this attempt. */
export type BlockView = Block & { readonly finished: boolean };

/** What the agent did beside writing: a tool call, or a sub-agent at work. Not stored; gone after a resync. */
export type Activity = {
  readonly call_id: string;
  readonly name: string;
  readonly title: string;
  /** Absent while it runs. */
  readonly outcome?: string;
  readonly ms?: number;
  /** How far it said it is, last. */
  readonly progress?: Omit<SignalData<"tool_call_progress">, "call_id" | "name">;
};

export type TurnSpending = Pick<SignalData<"turn_completed">, "usage" | "ms" | "steps">;

/** How a turn ended. Details that only the live signal carries are absent on turns read from storage. */
export type Ending =
  | { readonly kind: "completed" | "awaiting"; readonly reason?: string; readonly spent?: TurnSpending }
  | { readonly kind: "failed"; readonly code?: string; readonly message?: string; readonly retryable?: boolean }
  | { readonly kind: "cancelled" };

export type TurnView = Pick<Turn, "turn_id" | "n" | "cause" | "input"> & {
  readonly blocks: readonly BlockView[];
  readonly activity: readonly Activity[];
  readonly skills: readonly string[];
  /** What was done with a button of one of its cards, oldest first. */
  readonly actions: readonly ActionDone[];
  /** Absent while the turn runs. */
  readonly ending?: Ending;
};

/** How an interaction ended, as `interaction_resolved` told it, and the revision that was the newest then. */
export type Resolved = SignalData<"interaction_resolved"> & { readonly revision: number };

/** Everything a client shows of one session. Made by `applySignal` only; plain JSON. */
export type View = {
  readonly session_id?: string;
  readonly agent?: string;
  readonly simulated: boolean;
  readonly limits?: Limits;
  /** The last number applied; absent before the first numbered signal or resync. */
  readonly seq?: number;
  readonly status: SessionStatus;
  readonly pending: StateData["pending_interaction"];
  readonly queue: readonly QueuedTurn[];
  /** In order of `n`. */
  readonly turns: readonly TurnView[];
  /** The actions of all turns held, in their order. */
  readonly actions: readonly ActionDone[];
  /** How interactions ended while we listened: the newest 100. Read it with `standing` (interactions.ts). */
  readonly resolved: readonly Resolved[];
  readonly budget?: SignalData<"context_budget">;
  readonly compacting: boolean;
};

export const emptyView: View = {
  simulated: false,
  status: "resting",
  pending: null,
  queue: [],
  turns: [],
  actions: [],
  resolved: [],
  compacting: false,
};

/** The text of a text or thinking block; `""` for any other block. */
export function blockText(block: Pick<Block, "content">): string {
  const text = block.content["text"];
  return typeof text === "string" ? text : "";
}

/** The turn that runs now, if one does. */
export const runningTurn = (view: View): TurnView | undefined =>
  view.turns.findLast((turn) => turn.ending === undefined);

/** The number to ask older turns with (`?before=`), or undefined when everything is here. */
export function olderThan(view: View): number | undefined {
  const first = view.turns[0];
  return first !== undefined && first.n > 1 ? first.n : undefined;
}
