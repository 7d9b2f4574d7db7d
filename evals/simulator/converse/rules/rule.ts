import type { ConverseSigner } from "../signatures.ts";
import type { ConverseBlock, ConverseRequest } from "../wire.ts";

/** One thing that the real API refuses: says what is wrong in terms of positions and names of fields, or nothing. */
export type Rule = (request: ConverseRequest, signer: ConverseSigner) => string | undefined;

/** The first problem that `find` reports over `items`. */
export function firstOf<Item>(
  items: readonly Item[],
  find: (item: Item, index: number) => string | undefined,
): string | undefined {
  for (const [index, item] of items.entries()) {
    const problem = find(item, index);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** The first problem with a content block of any message, with its position in front. */
export const inBlocks = (
  { messages = [] }: ConverseRequest,
  find: (block: ConverseBlock, role: string, index: number, all: readonly ConverseBlock[]) => string | undefined,
): string | undefined =>
  firstOf(messages, ({ role, content }, at) =>
    firstOf(content, (block, index) => {
      const problem = find(block, role, index, content);
      return problem === undefined ? undefined : `messages.${at}.content.${index}: ${problem}`;
    }),
  );
