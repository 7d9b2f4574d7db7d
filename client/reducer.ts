import { never } from "../machines/failure.ts";
import { type CardKind, isCardKind } from "../machines/protocol/cards.ts";
import {
  isNumbered,
  type NumberedSignal,
  type PlainSignal,
  type Signal,
  type UnknownSignal,
} from "../machines/protocol/signals.ts";
import type { Block, Turn } from "../machines/protocol/turns.ts";
import {
  addAction,
  changeActivity,
  changeTurn,
  endTurn,
  insertBlock,
  patchBlock,
  removeBlock,
  resolveInteraction,
  writeText,
} from "./changes.ts";
import type { Ending, TurnView, View } from "./view.ts";

/**
 * The view after one more signal. Pure. Numbered signals that were applied before change nothing, so a replay is
 * harmless; applying everything in order always gives the stored blocks.
 */
export function applySignal(view: View, signal: Signal | UnknownSignal): View {
  if ("unknown" in signal) return signal.seq === undefined ? view : advance(view, signal.seq);
  if (!isNumbered(signal)) return applyPlain(view, signal);
  if (view.seq !== undefined && signal.seq <= view.seq) return view;
  return advance(applyNumbered(view, signal), signal.seq);
}

/** Puts stored turns, all older than those held, in front of them. */
export function withOlderTurns(view: View, turns: readonly Turn[]): View {
  const first = view.turns[0]?.n ?? Number.POSITIVE_INFINITY;
  return holding(view, [...turns.filter((turn) => turn.n < first).map(storedTurn), ...view.turns]);
}

const holding = (view: View, turns: readonly TurnView[]): View => ({
  ...view,
  turns,
  actions: turns.flatMap((turn) => turn.actions),
});

const advance = (view: View, seq: number): View =>
  view.seq !== undefined && seq <= view.seq ? view : { ...view, seq };

function applyNumbered(view: View, signal: NumberedSignal): View {
  const at = signal.turn_id;
  switch (signal.kind) {
    case "turn_started":
      return startTurn(view, signal.data);
    case "queue_changed":
      return { ...view, queue: signal.data.waiting };
    case "block_started":
      return changeTurn(view, at, (turn) => insertBlock(turn, { ...signal.data, content: {}, finished: false }));
    case "llm_delta":
    case "thinking_summary":
      return patchBlock(view, signal.data.block_id, (block) => writeText(block, signal.data.offset, signal.data.text));
    case "block_reset":
      return removeBlock(view, signal.data.block_id);
    case "block_finished":
      return changeTurn(
        view,
        at,
        (turn) => insertBlock(turn, { ...signal.data, finished: true }),
        signal.data.block_id,
      );
    case "recommend_supplements":
    case "recommend_lifestyle":
    case "recommend_labs":
    case "interaction_check_results":
    case "citations":
    case "knowledge_base_results":
    case "treatment_plan":
    case "interaction_request":
      return showCard(view, signal.data);
    case "skill_loaded":
      return changeTurn(view, at, (turn) => ({ ...turn, skills: [...turn.skills, signal.data.name] }));
    case "tool_call_started":
      return changeActivity(view, at, signal.data);
    case "tool_call_finished":
      return changeActivity(view, at, signal.data);
    case "tool_call_progress": {
      const { call_id, name, ...progress } = signal.data;
      return changeActivity(view, at, { call_id, name, progress });
    }
    case "subagent_started":
    case "subagent_progress":
    case "subagent_finished": {
      const { call_id, kind } = signal.data;
      const label = signal.kind === "subagent_finished" ? undefined : signal.data.label;
      const outcome = signal.kind === "subagent_finished" ? (signal.data.outcome ?? "ok") : undefined;
      return changeActivity(view, at, {
        call_id: `${call_id}:${kind}`,
        name: kind,
        ...(label !== undefined && { title: label }),
        ...(outcome !== undefined && { outcome }),
      });
    }
    case "action_done":
      return addAction(view, signal.data);
    case "compaction_started":
      return { ...view, compacting: true };
    case "compaction_finished":
      return { ...view, compacting: false };
    case "state_changed":
      return { ...view, status: signal.data.status, pending: signal.data.pending_interaction };
    case "interaction_resolved":
      return resolveInteraction(view, signal.data);
    case "context_budget":
      return { ...view, budget: signal.data };
    case "turn_completed": {
      const { turn_id, outcome, reason, usage, ms, steps } = signal.data;
      return endTurn(view, turn_id, {
        kind: outcome,
        ...(reason !== undefined && { reason }),
        spent: { usage, ms, steps },
      });
    }
    case "turn_failed": {
      const { turn_id, code, message, retryable } = signal.data;
      return endTurn(view, turn_id, { kind: "failed", code, message, retryable });
    }
    case "turn_cancelled":
      return endTurn(view, signal.data.turn_id, { kind: "cancelled" });
    default:
      return never(signal);
  }
}

/** Plain signals tell of the connection or of one command; only two of them change the view. */
function applyPlain(view: View, signal: PlainSignal): View {
  if (signal.kind === "resync") return replaceFrom(view, signal.session_id, signal.data);
  if (signal.kind !== "session_opened") return view;
  const { session_id, status, agent, simulated, limits } = signal.data;
  return { ...view, session_id, status, agent, simulated, limits };
}

function replaceFrom(view: View, session_id: string, resync: Extract<PlainSignal, { kind: "resync" }>["data"]): View {
  const older = view.turns.filter((turn) => turn.n < resync.from_turn);
  // Turns missed in between would be a silent gap; without the older ones, paging fetches all of them.
  const kept = older.at(-1)?.n === resync.from_turn - 1 ? older : [];
  const replaced = resync.turns.map(storedTurn);
  const pending = resync.state.pending_interaction;
  return {
    ...holding(view, [...kept, ...replaced]),
    session_id,
    seq: resync.seq,
    status: resync.state.status,
    pending,
    // An ending that a dead owner had told of but not stored is void.
    resolved: view.resolved.filter(({ interaction_id }) => interaction_id !== pending?.id),
    queue: resync.state.queue,
    compacting: false,
  };
}

/** A recovered turn starts again under its id: it keeps what is stored of it, and has no ending any more. */
function startTurn(view: View, started: Extract<NumberedSignal, { kind: "turn_started" }>["data"]): View {
  const held = view.turns.find((turn) => turn.turn_id === started.turn_id);
  const { blocks = [], actions = [] } = held ?? {};
  const turn: TurnView = { ...started, blocks, activity: [], skills: [], actions };
  const others = view.turns.filter((other) => other !== held);
  return { ...view, turns: [...others, turn].sort((a, b) => a.n - b.n) };
}

function showCard(view: View, data: { readonly block_id: string } & Readonly<Record<string, unknown>>): View {
  const { block_id, ...content } = data;
  return patchBlock(view, block_id, (block) => ({ ...block, content }));
}

/** A stored turn as a view. Its blocks count as finished once the turn has an outcome. */
export function storedTurn(turn: Turn): TurnView {
  const { turn_id, n, cause, input, actions = [] } = turn;
  const ending = storedEnding(turn);
  const blocks = turn.blocks.map((block) => ({ ...block, finished: ending !== undefined }));
  return { turn_id, n, cause, input, blocks, activity: [], skills: [], actions, ...(ending && { ending }) };
}

function storedEnding({ outcome, reason }: Turn): Ending | undefined {
  switch (outcome) {
    case undefined:
      return undefined;
    case "completed":
    case "awaiting":
      return { kind: outcome, ...(reason !== undefined && { reason }) };
    case "failed":
      return { kind: "failed", ...(reason !== undefined && { code: reason }) };
    case "cancelled":
      return { kind: "cancelled" };
    default:
      return never(outcome);
  }
}

/** The blocks of a turn in their stored form. */
export const storedBlocks = (turn: TurnView): Block[] => turn.blocks.map(({ finished: _, ...block }) => block);

/** The card kind of a block, or undefined for text, thinking and kinds this version does not know. */
export const cardKind = (block: Pick<Block, "type">): CardKind | undefined =>
  isCardKind(block.type) ? block.type : undefined;
