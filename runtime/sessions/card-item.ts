import type { SessionId, TurnId } from "../../machines/ids.ts";
import { turnId } from "../../machines/ids.ts";
import { supplementCard } from "../../machines/protocol/cards.ts";
import type { ActionCommand } from "../../machines/protocol/commands.ts";
import type { Turn } from "../../machines/protocol/turns.ts";
import type { Resident } from "./resident.ts";
import type { World } from "./world.ts";

/** The item of a card that a button stands for. */
export type CardItem = {
  readonly turnId: TurnId;
  readonly name: string;
  readonly brand: string;
  /** Whose plan it goes into, where the card or its turn says so. */
  readonly patientId: string | undefined;
};

const PAGE = 100;
/** How many of the newest turns may hold a card whose button still works. */
const MOST_TURNS = 500;

/** Finds the item on a card of this session: in the turn that runs, else among the stored ones, newest first. */
export async function cardItem(
  { store }: World,
  id: SessionId,
  resident: Resident | undefined,
  command: ActionCommand,
): Promise<CardItem | undefined> {
  const live = resident?.run?.live.snapshot();
  const shown = live && itemIn(live, command);
  if (shown) return shown;
  let before: number | undefined;
  for (let seen = 0; seen < MOST_TURNS; seen += PAGE) {
    const turns = await store.turns.page(id, PAGE, before);
    for (const turn of turns.toReversed()) {
      const found = itemIn(turn, command);
      if (found) return found;
    }
    before = turns[0]?.n;
    if (before === undefined || before <= 1) return undefined;
  }
  return undefined;
}

function itemIn(turn: Turn, { block_id, item }: ActionCommand): CardItem | undefined {
  const block = turn.blocks.find((one) => one.block_id === block_id && one.type === "recommend_supplements");
  const card = supplementCard.safeParse(block?.content);
  if (!card.success) return undefined;
  const { supplements, patient_id } = card.data;
  const found = supplements.find((one) => one.variant_id === item.variant_id && one.product_id === item.product_id);
  if (found === undefined) return undefined;
  const onScreen = "text" in turn.input ? turn.input.context?.patient_id : undefined;
  return { turnId: turnId(turn.turn_id), name: found.name, brand: found.brand, patientId: patient_id ?? onScreen };
}
