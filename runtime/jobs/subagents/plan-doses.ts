import type { Product } from "../../../tools/builtin/catalog.ts";

/** A product of the plan and how many of its servings a day. */
export type Dosed = { readonly product: Product; readonly unitsPerDay: number };
/** What the data allow of one supplement: the typical adult dose and the upper limit, where there are any. */
export type Limits = Pick<Product, "typicalAdultDose" | "upperLimit">;
export type Verdict = { readonly problems: readonly string[]; readonly warnings: readonly string[] };

type Unit = { readonly base: string; readonly factor: number; readonly of: string };

const MASS: Readonly<Record<string, number>> = { g: 1_000, mg: 1, mcg: 0.001, µg: 0.001, ug: 0.001 };

/** "mg EPA plus DHA": a mass, in milligrams, of something. Other units are their own base. */
function unitOf(text: string): Unit {
  const [head = "", ...rest] = text.trim().toLowerCase().split(/\s+/);
  const factor = MASS[head];
  return { base: factor === undefined ? head : "mg", factor: factor ?? 1, of: rest.join(" ") };
}

/** An amount in the limit's unit; undefined where they measure different things: "mg" of leaf is no "mg EGCG". */
function inUnitOf(limit: string, amount: number, unit: string): number | undefined {
  const [wanted, own] = [unitOf(limit), unitOf(unit)];
  if (wanted.base !== own.base || (wanted.of !== "" && wanted.of !== own.of)) return undefined;
  return (amount * own.factor) / wanted.factor;
}

const shown = (amount: number, unit: string): string =>
  `${amount.toLocaleString("en-US", { maximumFractionDigits: 2 })} ${unit}`;

/** Supplement ids of these items whose limits no product of them tells: those of combinations. */
export function withoutLimits(items: readonly Dosed[]): readonly string[] {
  const told = new Set(
    items.flatMap(({ product }) => (isSingle(product) ? product.supplements.map(({ id }) => id) : [])),
  );
  return [...new Set(items.flatMap(({ product }) => product.supplements.map(({ id }) => id)))].filter(
    (id) => !told.has(id),
  );
}

export const isSingle = ({ supplements }: Product): boolean => supplements.length === 1;

/**
 * Every supplement of the plan over all its items, against the data. Above an upper limit is a problem. Above the typical dose is a
 * warning; where no upper limit is set it is a problem, unless it is one unit a day, the least there is to take.
 */
export function doseVerdict(items: readonly Dosed[], limitsOf: (supplementId: string) => Limits | undefined): Verdict {
  const problems: string[] = [];
  const warnings: string[] = [];
  const over = items.filter(({ product }) => product.exceedsUpperLimit.length > 0);
  for (const { product } of over)
    problems.push(`one serving of ${product.name} is above an upper limit: take another product.`);
  const supplements = new Map(
    items.flatMap(({ product }) => product.supplements.map(({ id, name }) => [id, name] as const)),
  );
  for (const [id, name] of supplements) {
    const parts = items.flatMap(({ product, unitsPerDay }) =>
      product.ingredients
        .filter(({ supplementId }) => supplementId === id)
        .map(({ amount, unit }) => ({ amount: amount * unitsPerDay, unit, unitsPerDay })),
    );
    const { upperLimit, typicalAdultDose } = limitsOf(id) ?? {};
    const total = (unit: string): number =>
      parts.reduce((sum, part) => sum + (inUnitOf(unit, part.amount, part.unit) ?? 0), 0);
    if (upperLimit && total(upperLimit.unit) > upperLimit.value) {
      problems.push(
        `${name} comes to ${shown(total(upperLimit.unit), upperLimit.unit)} a day over all items, above the upper limit of ${shown(upperLimit.value, upperLimit.unit)}: fewer units, a smaller product, or one item less.`,
      );
      continue;
    }
    if (!typicalAdultDose || total(typicalAdultDose.unit) <= typicalAdultDose.max) continue;
    const { max, unit } = typicalAdultDose;
    const said = `${name} comes to ${shown(total(unit), unit)} a day, above the typical ${shown(max, unit)}`;
    const isLeast = parts.length === 1 && parts.every(({ unitsPerDay }) => unitsPerDay <= 1);
    if (upperLimit || isLeast) warnings.push(`${said}.`);
    else problems.push(`${said}, and no upper limit is set: fewer units, or a smaller product.`);
  }
  return { problems, warnings };
}

const NUMBERS: Readonly<Record<string, number>> = { half: 0.5, one: 1, two: 2, three: 3, four: 4 };
const NUMBER = "\\d+(?:\\.\\d+)?|half|one|two|three|four";
const COUNT = new RegExp(
  `\\b(${NUMBER})(?: an?| of)? (?:\\p{L}+[ -])?(?:capsule|tablet|softgel|serving|scoop|lozenge|unit|sachet|gumm)`,
  "giu",
);
const TIMES = new RegExp(`\\b(${NUMBER}) times (?:a|per|each) day\\b|\\b(${NUMBER}) times daily\\b`, "i");
const ONCE =
  /\b(?:daily|nightly|(?:once|a|per|each|every) (?:day|morning|evening|night)|at (?:bedtime|night)|in the (?:morning|evening)|with (?:breakfast|lunch|dinner))\b/gi;

const numberOf = (text: string): number => NUMBERS[text.toLowerCase()] ?? Number(text);

/** Units a day that a dosing says in words; undefined where it can't be told: then the number given counts. */
export function unitsInWords(dosing: string): number | undefined {
  const text = dosing.replace(/\([^)]*\)/g, " ").replace(/\s+/g, " ");
  const counts = [...text.matchAll(COUNT)].map(([, count = ""]) => numberOf(count));
  const [count, ...more] = counts;
  if (count === undefined || more.length > 0) return undefined;
  const [, times, timesDaily] = TIMES.exec(text) ?? [];
  if (times !== undefined || timesDaily !== undefined) return count * numberOf(times ?? timesDaily ?? "");
  if (/\bevery (?:other|second) day\b|\balternate days?\b/i.test(text)) return count / 2;
  if (/\btwice (?:a day|daily|per day)\b/i.test(text)) return count * 2;
  // "in the morning and at bedtime" says two.
  const moments = [...text.matchAll(ONCE)].length;
  return moments === 1 ? count : undefined;
}
