import { z } from "zod";
import { nameOf, type Product, Products } from "../data.ts";
import { pastCalls, type Scene } from "../scene.ts";
import { have } from "../steps.ts";

/** A product that an earlier answer put forward. `product` is missing when the request no longer shows its search. */
export type Recommended = { readonly variantId: string; readonly dosing: string; readonly product: Product | null };

const Args = z.looseObject({
  supplements: z.array(z.looseObject({ variant_id: z.string(), dosing: z.string().nullish() })),
});

/** What was recommended last; without a recommendation, nothing. */
export function lastRecommended(scene: Scene): readonly Recommended[] {
  for (const { tool, args, outcome } of pastCalls(scene)) {
    const parsed = tool === "recommend_supplements" && outcome.kind !== "error" ? Args.safeParse(args) : null;
    if (parsed?.success !== true) continue;
    const known = knownProducts(scene);
    return parsed.data.supplements.map(({ variant_id: variantId, dosing }) => ({
      variantId,
      dosing: dosing ?? "as on the label",
      product: known.find((each) => each.availableOrMasterVariant?.id === variantId) ?? null,
    }));
  }
  return [];
}

/** All products that the request still shows. */
export function knownProducts(scene: Scene): readonly Product[] {
  return pastCalls(scene).flatMap(({ outcome }) => have(outcome, Products)?.products ?? []);
}

/** The supplements in what was recommended last. */
export function recommendedNames(scene: Scene): readonly string[] {
  const names = lastRecommended(scene).flatMap(({ product }) => (product?.supplements ?? []).map(nameOf));
  return [...new Set(names.filter((name) => name !== ""))];
}
