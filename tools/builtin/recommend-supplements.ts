import { z } from "zod";
import { type Product, type ProductItem, productItem, productsOf } from "./catalog.ts";
import { showingTool } from "./define.ts";

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
    patient_id: z
      .string()
      .min(1)
      .max(100)
      .optional()
      .describe("Whom they are for: with it the user can add an item to this patient's plan with one click."),
  }),
  async run({ supplements, patient_id }, context) {
    const chosen = [...new Map(supplements.map((one) => [one.variant_id, one])).values()];
    const products = await productsOf(
      context,
      chosen.map(({ variant_id }) => variant_id),
    );
    if ("failed" in products) return products.failed;
    const shown = chosen.flatMap((one, at) => {
      const found = products.found[at];
      return found === undefined ? [] : [{ found, item: productItem(found, one) }];
    });
    return {
      kind: "ok",
      text: ["The user sees these cards:", ...shown.map(({ found, item }) => line(found, item))].join("\n"),
      card: {
        kind: "recommend_supplements",
        data: { ...(patient_id !== undefined && { patient_id }), supplements: shown.map(({ item }) => item) },
      },
    };
  },
});

function line(found: Product, { product_id, variant_id, name, strength, in_stock }: ProductItem): string {
  const warnings = [
    ...(in_stock ? [] : ["OUT OF STOCK"]),
    ...(found.exceedsUpperLimit.length > 0
      ? [`one serving exceeds the adult upper limit of ${found.exceedsUpperLimit.join(", ")}`]
      : []),
  ];
  const warned = warnings.length > 0 ? ` Tell the user: ${warnings.join("; ")}.` : "";
  return `- ${name}, ${strength} (productId ${product_id}, variantId ${variant_id}).${warned}`;
}
