import { type CardData, cards } from "../machines/protocol/cards.ts";
import type { Resolution } from "../machines/protocol/commands.ts";
import type { PendingInteraction } from "../machines/protocol/interactions.ts";
import type { BlockView, Resolved, TurnView, View } from "./view.ts";

/** The interaction of a card: its id in the revision that the card shows. */
export type Asked = Pick<CardData<"interaction_request">, "interaction_id" | "revision">;

/**
 * Where the interaction of a card stands. `settling`: its turn is not over, it can't be answered yet. `revised`: a newer
 * revision took its place. `closed` says how it ended where that is known.
 */
export type Standing =
  | { readonly kind: "open"; readonly pending: PendingInteraction }
  | { readonly kind: "settling" | "revised" }
  | { readonly kind: "closed"; readonly ended?: Ended };

export type Ended =
  /** `label` is the resolution in words, for people. */
  | { readonly by: "user"; readonly resolution?: Resolution; readonly label?: string }
  | { readonly by: "superseded" | "expired" };

const askedSchema = cards.interaction_request.pick({ interaction_id: true, revision: true });

/** Whether this interaction, in this revision, can be answered now. */
export const isOpen = ({ pending }: View, interactionId: string, revision: number): boolean =>
  pending?.id === interactionId && pending.revision === revision;

/** Where the interaction of a card stands in this view. */
export function standing(view: View, asked: Asked): Standing {
  const { pending } = view;
  const { interaction_id: id, revision } = asked;
  if (pending !== null && isOpen(view, id, revision)) return { kind: "open", pending };
  if (revision < newestRevision(view, id)) return { kind: "revised" };
  const ended = endOf(view, asked);
  if (ended === undefined && isSettling(view, asked)) return { kind: "settling" };
  return { kind: "closed", ...(ended && { ended }) };
}

/** The newest revision of an interaction that is known, 1 when none is. */
export function newestRevision({ pending, turns }: View, id: string): number {
  const shown = turns.flatMap(({ blocks }) => blocks.flatMap((block) => askedBy(block) ?? []));
  const open = pending?.id === id ? pending.revision : 1;
  return Math.max(open, ...shown.filter((one) => one.interaction_id === id).map(({ revision }) => revision));
}

/** An answer counts for the revision that was shown before it: a changed proposal has the same id. */
function endOf({ turns, resolved }: View, asked: Asked): Ended | undefined {
  const { interaction_id: id, revision } = asked;
  const later = turns.slice(turns.findLastIndex((turn) => asks(turn, asked)) + 1);
  const answer = later.findLast(({ input }) => "interaction_id" in input && input.interaction_id === id)?.input;
  if (answer !== undefined && "interaction_id" in answer) {
    const { resolution, label } = answer;
    return { by: "user", resolution, ...(label !== undefined && { label }) };
  }
  const told = resolved.findLast((one) => one.interaction_id === id && one.revision === revision);
  return told && endedBy(told);
}

const endedBy = ({ by, resolution }: Resolved): Ended =>
  by === "user" ? { by, ...(resolution && { resolution }) } : { by };

/** The turn that asks has not ended, or the state that opens the interaction is still on its way. */
function isSettling({ turns, status }: View, asked: Asked): boolean {
  const turn = turns.findLast((one) => asks(one, asked));
  if (turn === undefined) return false;
  return turn.ending === undefined || (isLast(turns, turn) && status === "turning" && turn.ending.kind === "awaiting");
}

const asks = ({ blocks }: TurnView, asked: Asked): boolean => blocks.some((block) => isSame(askedBy(block), asked));

const isLast = (turns: readonly TurnView[], turn: TurnView): boolean => turns.at(-1) === turn;

const isSame = (one: Asked | undefined, other: Asked): boolean =>
  one?.interaction_id === other.interaction_id && one.revision === other.revision;

function askedBy(block: BlockView): Asked | undefined {
  if (block.type !== "interaction_request") return undefined;
  const read = askedSchema.safeParse(block.content);
  return read.success ? read.data : undefined;
}
