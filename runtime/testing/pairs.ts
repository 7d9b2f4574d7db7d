/** Pairs of the data set with what it records of them, and a seeded choice among them. */
import { readFileSync } from "node:fs";

export type Pair = {
  readonly drug: string;
  readonly supplement: string;
  /** Undefined: the data set says that none is recorded. */
  readonly severity?: string;
};

type Recorded = {
  readonly kind?: string;
  readonly drug: { readonly name: string };
  readonly supplement_id: string;
  readonly severity?: string;
};

const read = <T>(name: string): readonly T[] =>
  JSON.parse(readFileSync(new URL(`../../tools/platform/data/${name}.json`, import.meta.url), "utf8")).records;

const names = new Map(read<{ id: string; name: string }>("supplements").map(({ id, name }) => [id, name]));
const pairOf = ({ drug, supplement_id, severity }: Recorded): Pair => ({
  drug: drug.name,
  supplement: names.get(supplement_id) ?? supplement_id,
  ...(severity !== undefined && { severity }),
});

export const recordedPairs = read<Recorded>("interactions")
  .filter(({ kind }) => kind === "interaction")
  .map(pairOf);
export const negativePairs = read<Recorded>("negatives").map(pairOf);

/** Numbers from 0 up to 1, the same for the same seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function pick<T>(from: readonly T[], random: () => number): T {
  const one = from[Math.floor(random() * from.length)];
  if (one === undefined) throw new RangeError("nothing to pick from");
  return one;
}
