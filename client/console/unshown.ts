import type { CardData } from "../../machines/protocol/cards.ts";
import { readCard } from "../card.ts";
import type { View } from "../view.ts";

/** The card of what waits for an answer, when none of the turns that are shown has it. */
export function unshown({ pending, turns }: View): CardData<"interaction_request"> | undefined {
  if (pending === null) return undefined;
  const { id: interaction_id, schema: _, ...asked } = pending;
  const isIt = (card: ReturnType<typeof readCard>) =>
    card?.kind === "interaction_request" &&
    card.data.interaction_id === interaction_id &&
    card.data.revision === pending.revision;
  return turns.some(({ blocks }) => blocks.some((block) => isIt(readCard(block))))
    ? undefined
    : { interaction_id, ...asked };
}
