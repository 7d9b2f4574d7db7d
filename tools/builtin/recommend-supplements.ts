import { z } from "zod";
import type { CardData } from "../../machines/protocol/cards.ts";
import { showingTool } from "./define.ts";
import { lookUp, unknownIds } from "./lookup.ts";

const product = z.object({
  id: z.string(),
  brand: z.string(),
  name: z.string(),
  supplements: z.array(z.object({ id: z.string(), name: z.string() })),
  ingredients: z.array(z.object({ supplementId: z.string(), amount: z.number(), unit: z.string() })),
  price: z.object({ amount: z.number(), currency: z.string() }).nullish(),
  inStock: z.boolean(),
  exceedsUpperLimit: z.array(z.string()).default([]),
  availableOrMasterVariant: z.object({ id: z.string() }),
});
type Product = z.infer<typeof product>;

/** Shows supplements of the catalog as a card. Everything but dosing and rationale comes from the catalog, never from the model. */
export const recommendSupplements = showingTool({
  name: "recommend_supplements",
  title: "Showing supplements",
  description:
    "Show supplements to the user as cards with product, strength, price and stock. Takes variant ids of product_search results (availableOrMasterVariant.id). The card shows the details: do not repeat them in your text. Saves nothing.",
  input: z.object({
    supplements: z
      .array(
        z.object({
          variant_id: z.string().min(1).max(100).describe("availableOrMasterVariant.id of a product_search result."),
          dosing: z.string().min(1).max(300).describe('How to take it, e.g. "1 capsule with dinner".'),
          rationale: z.string().min(1).max(600).describe("Why this one for this patient, one or two sentences."),
        }),
      )
      .min(1)
      .max(12),
  }),
  async run({ supplements }, context) {
    const chosen = [...new Map(supplements.map((one) => [one.variant_id, one])).values()];
    const variantIds = chosen.map(({ variant_id }) => variant_id);
    const looked = await lookUp(
      context,
      "product_search",
      { variantIds, limit: variantIds.length },
      z.object({ products: z.array(product) }),
    );
    if ("failed" in looked) return looked.failed;

    const byVariant = new Map(looked.found.products.map((one) => [one.availableOrMasterVariant.id, one]));
    const unknown = variantIds.filter((id) => !byVariant.has(id));
    if (unknown.length > 0) return unknownIds("variant_id", unknown, "product_search");

    const shown = chosen.flatMap((one) => {
      const found = byVariant.get(one.variant_id);
      return found === undefined ? [] : [{ found, item: item(found, one) }];
    });
    return {
      kind: "ok",
      text: ["The user sees these cards:", ...shown.map(({ found, item }) => line(found, item))].join("\n"),
      card: { kind: "recommend_supplements", data: { supplements: shown.map(({ item }) => item) } },
    };
  },
});

type Item = CardData<"recommend_supplements">["supplements"][number];

function item(found: Product, said: { variant_id: string; dosing: string; rationale: string }): Item {
  return {
    product_id: found.id,
    variant_id: said.variant_id,
    name: found.name,
    brand: found.brand,
    strength: strength(found),
    dosing: said.dosing,
    price: found.price ?? null,
    in_stock: found.inStock,
    rationale: said.rationale,
  };
}

/** "200 mg elemental"; with several ingredients each is named: "Vitamin D3 2,000 IU, Vitamin K 100 mcg". */
export function strength({ ingredients, supplements }: Pick<Product, "ingredients" | "supplements">): string {
  const amount = (one: Product["ingredients"][number]) => `${one.amount.toLocaleString("en-US")} ${one.unit}`;
  const [first, ...others] = ingredients;
  if (first === undefined) return "not stated";
  if (others.length === 0) return amount(first);
  const nameOf = (id: string) => supplements.find((supplement) => supplement.id === id)?.name ?? id;
  return ingredients.map((one) => `${nameOf(one.supplementId)} ${amount(one)}`).join(", ");
}

function line(found: Product, { product_id, variant_id, name, strength, in_stock }: Item): string {
  const warnings = [
    ...(in_stock ? [] : ["OUT OF STOCK"]),
    ...(found.exceedsUpperLimit.length > 0
      ? [`one serving exceeds the adult upper limit of ${found.exceedsUpperLimit.join(", ")}`]
      : []),
  ];
  const warned = warnings.length > 0 ? ` Tell the user: ${warnings.join("; ")}.` : "";
  return `- ${name}, ${strength} (productId ${product_id}, variantId ${variant_id}).${warned}`;
}
