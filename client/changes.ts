import type { SignalData } from "../machines/protocol/signals.ts";
import type { ActionDone } from "../machines/protocol/turns.ts";
import { newestRevision } from "./interactions.ts";
import { type Activity, type BlockView, blockText, type Ending, type TurnView, type View } from "./view.ts";

/** So many endings of interactions are kept; of older ones the turn that followed still tells. */
const MOST_RESOLVED = 100;

/**
 * Changes the turn a signal belongs to: the one it names, else the one that holds `blockId`, else the one that runs.
 * A signal of a turn that is not held changes nothing.
 */
export function changeTurn(
  view: View,
  turnId: string | undefined,
  change: (turn: TurnView) => TurnView,
  blockId?: string,
): View {
  const at = indexOf(view, turnId, blockId);
  const turn = view.turns[at];
  return turn === undefined ? view : { ...view, turns: view.turns.with(at, change(turn)) };
}

function indexOf({ turns }: View, turnId: string | undefined, blockId: string | undefined): number {
  if (turnId !== undefined) return turns.findIndex((turn) => turn.turn_id === turnId);
  const holder = turns.findLastIndex((turn) => turn.blocks.some((block) => block.block_id === blockId));
  return holder >= 0 ? holder : turns.findLastIndex((turn) => turn.ending === undefined);
}

/** Puts a block in its place by `idx`, instead of one with the same id. */
export function insertBlock(turn: TurnView, block: BlockView): TurnView {
  const others = turn.blocks.filter((other) => other.block_id !== block.block_id);
  return { ...turn, blocks: [...others, block].sort((a, b) => a.idx - b.idx) };
}

export function patchBlock(view: View, blockId: string, patch: (block: BlockView) => BlockView): View {
  const at = view.turns.findLastIndex((turn) => turn.blocks.some((block) => block.block_id === blockId));
  const turn = view.turns[at];
  if (turn === undefined) return view;
  const blocks = turn.blocks.map((block) => (block.block_id === blockId ? patch(block) : block));
  return { ...view, turns: view.turns.with(at, { ...turn, blocks }) };
}

export function removeBlock(view: View, blockId: string): View {
  const at = view.turns.findLastIndex((turn) => turn.blocks.some((block) => block.block_id === blockId));
  const turn = view.turns[at];
  if (turn === undefined) return view;
  const blocks = turn.blocks.filter((block) => block.block_id !== blockId);
  return { ...view, turns: view.turns.with(at, { ...turn, blocks }) };
}

/** A merged frame may begin before what is held: it overwrites from its offset on. One beyond the end waits for the stored form. */
export function writeText(block: BlockView, offset: number, text: string): BlockView {
  const held = blockText(block);
  return offset > held.length ? block : { ...block, content: { text: held.slice(0, offset) + text } };
}

type ActivityChange = Pick<Activity, "call_id" | "name"> & Partial<Activity>;

/** Adds an activity or completes the one with the same id; a finish without a start stands for itself. */
export function changeActivity(view: View, turnId: string | undefined, change: ActivityChange): View {
  return changeTurn(view, turnId, (turn) => {
    const at = turn.activity.findIndex((known) => known.call_id === change.call_id);
    const known = turn.activity[at];
    const activity =
      known === undefined
        ? [...turn.activity, { title: change.name, ...change }]
        : turn.activity.with(at, { ...known, ...change });
    return { ...turn, activity };
  });
}

/** Ends a turn: nothing of it is written on, and no call of it runs on. */
export function endTurn(view: View, turnId: string, ending: Ending): View {
  return changeTurn(view, turnId, (turn) => ({
    ...turn,
    ending,
    blocks: turn.blocks.map((block) => (block.finished ? block : { ...block, finished: true })),
    activity: turn.activity.map((one) => (one.outcome === undefined ? { ...one, outcome: "unknown" } : one)),
  }));
}

/** Keeps an action with the turn that holds its card. That of a card that is not held comes with its turn, when it is read. */
export function addAction(view: View, action: ActionDone): View {
  const at = view.turns.findLastIndex((turn) => turn.blocks.some((block) => block.block_id === action.block_id));
  const turn = view.turns[at];
  if (turn === undefined) return view;
  const turns = view.turns.with(at, { ...turn, actions: [...turn.actions, action] });
  return { ...view, turns, actions: turns.flatMap((one) => one.actions) };
}

/** Closes what is open if it is that, and remembers how it ended: a later revision may be open again. */
export function resolveInteraction(view: View, ended: SignalData<"interaction_resolved">): View {
  const { interaction_id } = ended;
  const pending = view.pending?.id === interaction_id ? null : view.pending;
  const revision = newestRevision(view, interaction_id);
  return { ...view, pending, resolved: [...view.resolved, { ...ended, revision }].slice(-MOST_RESOLVED) };
}
