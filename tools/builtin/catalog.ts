import { z } from "zod";
import type { ToolContext } from "../tool.ts";
import { type Failed, lookUp, unknownIds } from "./lookup.ts";

const dose = z.object({ max: z.number(), unit: z.string() });
const limit = z.object({ value: z.number(), unit: z.string() });

export const catalogProduct = z.object({
  id: z.string(),
  brand: z.string(),
  name: z.string(),
  supplements: z.array(z.object({ id: z.string(), name: z.string() })),
  ingredients: z.array(z.object({ supplementId: z.string(), amount: z.number(), unit: z.string() })),
  price: z.object({ amount: z.number(), currency: z.string() }).nullish(),
  servingsPerContainer: z.number().nullish(),
  inStock: z.boolean(),
  exceedsUpperLimit: z.array(z.string()).default([]),
  availableOrMasterVariant: z.object({ id: z.string() }),
  allergens: z.array(z.string()).default([]),
  dietFlags: z.array(z.string()).default([]),
  /** Of the supplement; none for combinations. */
  typicalAdultDose: dose.nullish(),
  upperLimit: limit.nullish(),
});
export type Product = z.infer<typeof catalogProduct>;

/** What the model says of a product; everything else is the catalog's word. */
export type Chosen = { readonly variant_id: string; readonly dosing: string; readonly rationale: string };

/** A product as cards and proposals show it. */
export type ProductItem = ReturnType<typeof productItem>;

/** The products of these variants, each found, in the order of the variants. */
export async function productsOf(
  context: ToolContext,
  variantIds: readonly string[],
): Promise<{ readonly found: readonly Product[] } | { readonly failed: Failed }> {
  const looked = await lookUp(
    context,
    "product_search",
    { variantIds, limit: variantIds.length },
    z.object({ products: z.array(catalogProduct) }),
  );
  if ("failed" in looked) return looked;
  const byVariant = new Map(looked.found.products.map((one) => [one.availableOrMasterVariant.id, one]));
  const unknown = variantIds.filter((id) => !byVariant.has(id));
  if (unknown.length > 0) return { failed: unknownIds("variant_id", unknown, "product_search") };
  return { found: variantIds.flatMap((id) => byVariant.get(id) ?? []) };
}

export function productItem(found: Product, { variant_id, dosing, rationale }: Chosen) {
  return {
    product_id: found.id,
    variant_id,
    name: found.name,
    brand: found.brand,
    strength: strength(found),
    dosing,
    price: found.price ?? null,
    in_stock: found.inStock,
    rationale,
  };
}

/** "200 mg elemental"; with several ingredients each is named: "Vitamin D3 2,000 IU, Vitamin K 100 mcg". */
function strength({ ingredients, supplements }: Pick<Product, "ingredients" | "supplements">): string {
  const amount = (one: Product["ingredients"][number]) => `${one.amount.toLocaleString("en-US")} ${one.unit}`;
  const [first, ...others] = ingredients;
  if (first === undefined) return "not stated";
  if (others.length === 0) return amount(first);
  const nameOf = (id: string) => supplements.find((supplement) => supplement.id === id)?.name ?? id;
  return ingredients.map((one) => `${nameOf(one.supplementId)} ${amount(one)}`).join(", ");
}
