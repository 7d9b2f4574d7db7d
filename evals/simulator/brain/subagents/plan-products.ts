import { z } from "zod";
import { nameOf, type Patient, type Product } from "../data.ts";
import { pick, type Wishes } from "../pick.ts";
import { amountIn, isLowDose } from "./notes.ts";

export type Serving = {
  readonly product: Product;
  readonly variantId: string;
  readonly units: number;
  readonly cost: number;
};

const MASS: Readonly<Record<string, number>> = { g: 1_000, mg: 1, mcg: 0.001, µg: 0.001, ug: 0.001 };
const MOST_UNITS = 4;
const DAYS = 30;

const headOf = (unit: string | null | undefined): string => (unit ?? "").split(" ")[0]?.toLowerCase() ?? "";

/** An amount in another unit of the same kind; null where there is none. */
function inUnit(amount: number, from: string, to: string): number | null {
  if (headOf(from) === headOf(to)) return amount;
  const [own, wanted] = [MASS[headOf(from)], MASS[headOf(to)]];
  return own === undefined || wanted === undefined ? null : (amount * own) / wanted;
}

type Range = { readonly low: number; readonly high: number };

/** What the notes ask for, else the usual range, in the product's own unit. */
function wantedRange(product: Product, unit: string, about: string): Range | null {
  const asked = amountIn(about);
  const [low, high] = [asked && inUnit(asked.low, asked.unit, unit), asked && inUnit(asked.high, asked.unit, unit)];
  if (typeof low === "number" && typeof high === "number") return { low, high };
  const typical = [product.typicalAdultDose].flat()[0];
  if (typical?.max == null || headOf(typical.unit) !== headOf(unit)) return null;
  return { low: typical.min ?? 0, high: typical.max };
}

function limitOf(product: Product, unit: string): number {
  const limit = [product.upperLimit].flat()[0];
  const value = limit?.value == null ? null : inUnit(limit.value, limit.unit ?? "", unit);
  return value ?? Number.POSITIVE_INFINITY;
}

/** The product and the servings that come nearest to what the notes say of it; null when none will do. */
export function best(products: readonly Product[], wants: Wishes, about: string): Serving | null {
  const single = products.filter(({ supplements }) => supplements?.length === 1);
  for (const list of [single, products]) {
    const { choices } = pick(list, wants, list.length);
    const rated = choices
      .flatMap(({ product, variantId, reasons }) => {
        const liked = reasons.some((reason) => reason.includes("prefers")) ? 2 : 0;
        return servings(product, about).map(({ units, fit }) => {
          const cost = monthly(product, units);
          const small = isLowDose(about) ? -(product.ingredients?.[0]?.amount ?? 0) * units * 0.01 : 0;
          return {
            product,
            variantId,
            units,
            cost,
            score: fit + liked + named(product, about) + small - units - cost / 50,
          };
        });
      })
      .sort((a, b) => b.score - a.score);
    const [first] = rated;
    if (first !== undefined) return first;
  }
  return null;
}

function servings(product: Product, about: string): readonly { readonly units: number; readonly fit: number }[] {
  const first = product.ingredients?.[0];
  const amount = first?.amount ?? 0;
  if (amount <= 0) return [{ units: 1, fit: 0 }];
  const unit = first?.unit ?? "";
  const range = isLowDose(about) ? null : wantedRange(product, unit, about);
  const limit = limitOf(product, unit);
  return Array.from({ length: isLowDose(about) ? 1 : MOST_UNITS }, (_, at) => at + 1).flatMap((units) => {
    const total = amount * units;
    if (total > limit || (range === null && units > 1) || (range !== null && units > 1 && total > range.high))
      return [];
    const fits = range !== null && total >= range.low && total <= range.high;
    return [{ units, fit: fits ? 8 : 0 }];
  });
}

/** A form that the notes name: "glycinate", "algal". */
function named(product: Product, about: string): number {
  const own = new Set((product.supplements ?? []).flatMap((each) => words(nameOf(each))));
  const said = new Set(words(about));
  return words(product.name).some((word) => word.length > 4 && !own.has(word) && said.has(word)) ? 4 : 0;
}

const words = (text: string): readonly string[] => text.toLowerCase().match(/\p{L}+/gu) ?? [];

/** What a month of it costs; the container, where nothing tells how long it lasts. */
function monthly({ price, servingsPerContainer }: Product, units: number): number {
  const amount = price?.amount ?? 0;
  return servingsPerContainer ? (amount * units * DAYS) / servingsPerContainer : amount;
}

const Preferences = z.looseObject({ budgetUsdMonth: z.number().nullish() });
export const budgetOf = (patient: Patient): number =>
  Preferences.safeParse(patient.preferences).data?.budgetUsdMonth ?? Number.POSITIVE_INFINITY;
