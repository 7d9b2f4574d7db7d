/**
 * A small ranked search. Each document has fields with a weight. A word of the question scores, for each document,
 *
 *   rarity × max over fields of (weight × match)      rarity = ln(1 + documents / documents with the word)
 *
 * where match is 1 for the word itself and 0.5 when one of the two begins with the other (from `prefixLength` letters on). The sum is
 * multiplied by the share of the question's rarity that was found, so that a document with every word beats one that repeats
 * a single word. Documents below 30 % of the best are left out. Equal scores keep the order of the data.
 */
import { keywords, words } from "./words.ts";

export type Field = { readonly weight: number; readonly text: string };

export type Ranker<T> = {
  /** Documents that fit the question, best first. A question without words gives nothing. */
  rank(question: string): readonly T[];
};

export type RankerOptions = {
  /** From how many letters on the beginning of a word counts. */
  readonly prefixLength?: number;
  /** Documents with a smaller share of the question's rarity do not answer it. */
  readonly leastShare?: number;
};

const PREFIX_MATCH = 0.5;
const CUT = 0.3;

type Indexed<T> = { readonly item: T; readonly weights: ReadonlyMap<string, number> };

export function ranker<T>(
  items: readonly T[],
  fields: (item: T) => readonly Field[],
  { prefixLength = 4, leastShare = 0 }: RankerOptions = {},
): Ranker<T> {
  const indexed = items.map((item): Indexed<T> => ({ item, weights: weigh(fields(item)) }));

  const found = (word: string) => indexed.map(({ weights }) => strength(word, weights, prefixLength));
  const rarity = (strengths: readonly number[]) =>
    Math.log(1 + indexed.length / Math.max(1, strengths.filter((value) => value > 0).length));

  return {
    rank(question) {
      const asked = [...new Set(keywords(question))].map((word) => {
        const strengths = found(word);
        return { strengths, rarity: rarity(strengths) };
      });
      const total = asked.reduce((sum, word) => sum + word.rarity, 0);
      const scored = indexed.map(({ item }, at) => {
        const hits = asked.filter((word) => (word.strengths[at] ?? 0) > 0);
        const sum = hits.reduce((score, word) => score + word.rarity * (word.strengths[at] ?? 0), 0);
        const share = hits.reduce((score, word) => score + word.rarity, 0) / Math.max(total, Number.MIN_VALUE);
        return { item, score: share < leastShare ? 0 : sum * share };
      });
      const best = Math.max(0, ...scored.map(({ score }) => score));
      return scored
        .filter(({ score }) => score > 0 && score >= best * CUT)
        .sort((left, right) => right.score - left.score)
        .map(({ item }) => item);
    },
  };
}

function weigh(fields: readonly Field[]): ReadonlyMap<string, number> {
  const weights = new Map<string, number>();
  for (const { weight, text } of fields)
    for (const word of words(text)) weights.set(word, Math.max(weight, weights.get(word) ?? 0));
  return weights;
}

function strength(word: string, weights: ReadonlyMap<string, number>, prefixLength: number): number {
  const exact = weights.get(word);
  if (exact !== undefined) return exact;
  let best = 0;
  for (const [other, weight] of weights) {
    const [short, long] = word.length < other.length ? [word, other] : [other, word];
    if (short.length >= prefixLength && long.startsWith(short)) best = Math.max(best, weight * PREFIX_MATCH);
  }
  return best;
}
