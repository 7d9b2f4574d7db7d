import { type CardSignal, cards, isCardKind } from "../machines/protocol/cards.ts";
import type { Block } from "../machines/protocol/turns.ts";

/** The typed card of a block. Undefined for text, for unknown kinds, and while its data has not come. */
export function readCard(block: Pick<Block, "type" | "content">): CardSignal | undefined {
  if (!isCardKind(block.type)) return undefined;
  const read = cards[block.type].safeParse(block.content);
  return read.success ? ({ kind: block.type, data: read.data } as CardSignal) : undefined;
}
