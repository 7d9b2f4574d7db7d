import type { Signer } from "../signatures.ts";
import type { GeminiRequest } from "../wire.ts";

/** One thing that the real API refuses: says what is wrong in terms of positions and names of fields, or nothing. */
export type Rule = (request: GeminiRequest, signer: Signer) => string | undefined;

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
