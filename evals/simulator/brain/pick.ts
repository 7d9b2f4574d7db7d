import { z } from "zod";
import { nameOf, type Patient, type Product } from "./data.ts";

/** The products that say `name` themselves, in name or supplement; when none does, the best hit and its like, not `literal`. */
export function naming(
  products: readonly Product[],
  name: string,
): { readonly literal: boolean; readonly list: readonly Product[] } {
  const words = name.toLowerCase().split(/\s+/);
  const literal = products.filter((product) => {
    const own = new Set(
      [product.name, ...(product.supplements ?? []).map(nameOf)]
        .join(" ")
        .toLowerCase()
        .split(/[^\p{L}\p{N}-]+/u),
    );
    // "vitamin D" is said by "Vitamin D3".
    return words.every(
      (word) =>
        own.has(word) ||
        (word.length === 1 && [...own].some((each) => /^\p{L}\d+$/u.test(each) && each.startsWith(word))),
    );
  });
  if (literal.length > 0) return { literal: true, list: literal };
  // Another vitamin shares the word and is no match.
  if (/^vitamin\b/i.test(name)) return { literal: false, list: [] };
  // A synonym: only what holds the same thing as the best hit counts, not everything that shares a word.
  const first = products[0]?.supplements?.[0];
  const same =
    first === undefined ? products : products.filter(({ supplements }) => holds(supplements ?? [], nameOf(first)));
  return { literal: false, list: same };
}

const holds = (supplements: NonNullable<Product["supplements"]>, name: string): boolean =>
  supplements.some((each) => nameOf(each) === name);

/** What decides between products, gathered from the patient's record, the provider's preferences and the question. */
export type Wishes = {
  readonly forms: readonly string[];
  readonly asked: string | null;
  readonly diet: string;
  readonly allergies: readonly string[];
  readonly preferences: string;
  readonly question: string;
};

export type Choice = {
  readonly product: Product;
  readonly variantId: string;
  readonly dosing: string;
  readonly reasons: readonly string[];
};
export type Picked = { readonly choices: readonly Choice[]; readonly leftOut: readonly string[] };

const Preferences = z.looseObject({ forms: z.array(z.string()).nullish(), diet: z.string().nullish() });
const FORM = /\b(capsule|tablet|powder|softgel|liquid|gumm(?:y|ies)|lozenge|chewable|drops)s?\b/i;

export function wishes(question: string, patient: Patient | null, preferences: string): Wishes {
  const own = Preferences.safeParse(patient?.preferences);
  return {
    forms: own.success ? (own.data.forms ?? []) : [],
    asked: FORM.exec(question)?.[1]?.toLowerCase() ?? null,
    diet: own.success ? (own.data.diet ?? "").toLowerCase() : "",
    allergies: patient?.allergies ?? [],
    preferences: preferences.toLowerCase(),
    question: question.toLowerCase(),
  };
}

/** The best `count` products; products with a hard objection are left out and counted by reason. */
export function pick(products: readonly Product[], wants: Wishes, count: number): Picked {
  const objections = products.map((product) => objection(product, wants));
  const rated = products
    .flatMap((product, at) => {
      const variantId = product.availableOrMasterVariant?.id;
      if (objections[at] !== null || variantId === undefined) return [];
      const reasons = reasonsFor(product, wants);
      return [{ product, variantId, dosing: dosing(product), reasons, at }];
    })
    .sort((a, b) => weightOf(b.reasons) - weightOf(a.reasons) || a.at - b.at);
  const counts = new Map<string, number>();
  for (const reason of objections) if (reason !== null) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  return {
    choices: rated
      .slice(0, count)
      .map(({ at: _, reasons, ...choice }) => ({ ...choice, reasons: reasons.map(({ words }) => words) })),
    leftOut: [...counts].map(([reason, times]) => `${times} ${reason}`),
  };
}

function objection(product: Product, { allergies, diet }: Wishes): string | null {
  if (product.inStock !== true) return "out of stock";
  const over = product.exceedsUpperLimit;
  if (over === true || (Array.isArray(over) && over.length > 0)) return "above an upper limit";
  const contains = (product.allergens ?? []).map((each) => each.toLowerCase());
  if (allergies.some((allergy) => contains.some((each) => sharesWord(each, allergy))))
    return "with an allergen of the patient";
  const flags = (product.dietFlags ?? []).map((each) => each.toLowerCase().replace("-", " "));
  if (diet.includes("vegan") && !flags.includes("vegan")) return "not vegan";
  if (diet.includes("vegetarian") && !flags.some((flag) => flag.startsWith("veg"))) return "not vegetarian";
  if (diet.includes("dairy") && contains.some((each) => /milk|dairy|lactose/.test(each))) return "with dairy";
  if (diet.includes("gluten") && !flags.includes("gluten free")) return "not gluten-free";
  return null;
}

type Reason = { readonly words: string; readonly weight: number };

/** What speaks for a product. What the question itself asks for weighs most. */
function reasonsFor(product: Product, wants: Wishes): readonly Reason[] {
  const form = (product.form ?? "").toLowerCase();
  const brand = (product.brand ?? "").toLowerCase();
  const asked = wants.asked !== null && form.includes(wants.asked.replace(/(y|ies)$/, ""));
  const liked = wants.forms.some((wish) => form.includes(wish.toLowerCase()));
  const all: readonly (Reason & { readonly holds: boolean })[] = [
    { words: `a ${form}, as asked`, weight: 4, holds: asked },
    { words: "the brand you named", weight: 4, holds: brand !== "" && wants.question.includes(brand) },
    { words: `a ${form}, the form the patient prefers`, weight: 2, holds: liked && !asked },
    { words: "a brand that you prefer", weight: 2, holds: brand !== "" && wants.preferences.includes(brand) },
    { words: "within the usual adult range", weight: 1, holds: withinRange(product) },
    { words: "a single ingredient", weight: 1, holds: (product.ingredients ?? []).length === 1 },
  ];
  return all.filter(({ holds }) => holds);
}

const weightOf = (reasons: readonly Reason[]): number => reasons.reduce((sum, { weight }) => sum + weight, 0);

type Dose = {
  readonly amount: number;
  readonly unit: string;
  readonly min: number | null;
  readonly max: number | null;
};

function dose(product: Product): Dose | null {
  const first = product.ingredients?.[0];
  const typical = Array.isArray(product.typicalAdultDose) ? product.typicalAdultDose[0] : product.typicalAdultDose;
  if (first?.amount === undefined || first.amount === null) return null;
  const unit = first.unit ?? "";
  const sameUnit = typical?.unit?.split(" ")[0]?.toLowerCase() === unit.split(" ")[0]?.toLowerCase();
  return {
    amount: first.amount,
    unit,
    min: sameUnit ? (typical?.min ?? null) : null,
    max: sameUnit ? (typical?.max ?? null) : null,
  };
}

function withinRange(product: Product): boolean {
  const found = dose(product);
  return (
    found !== null && found.min !== null && found.max !== null && found.amount >= found.min && found.amount <= found.max
  );
}

/** Servings a day that reach the usual range without passing it or the upper limit; one when the data say nothing. */
export function dosing(product: Product): string {
  const found = dose(product);
  if (found === null || found.amount <= 0) return "1 serving daily, as on the label";
  const { amount, unit, min, max } = found;
  const top = Math.min(max ?? amount, upperLimit(product, unit) ?? Number.POSITIVE_INFINITY);
  const wanted = min !== null && amount < min ? Math.ceil(min / amount) : 1;
  const servings = Math.max(1, Math.min(wanted, 3, Math.floor(top / amount)));
  return `${servings} serving${servings === 1 ? "" : "s"} daily (${amount * servings} ${unit})`;
}

function upperLimit(product: Product, unit: string): number | null {
  const limit = Array.isArray(product.upperLimit) ? product.upperLimit[0] : product.upperLimit;
  return limit?.unit?.split(" ")[0]?.toLowerCase() === unit.split(" ")[0]?.toLowerCase()
    ? (limit?.value ?? null)
    : null;
}

function sharesWord(a: string, b: string): boolean {
  const words = new Set(a.toLowerCase().split(/\W+/));
  return b
    .toLowerCase()
    .split(/\W+/)
    .some((word) => word.length > 2 && words.has(word));
}
