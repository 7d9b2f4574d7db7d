import { z } from "zod";

/** Data of the typed cards (PROTOCOL.md). A card's stored content is this data without `block_id`. */
export const supplementCard = z.object({
  supplements: z.array(
    z.object({
      product_id: z.string(),
      variant_id: z.string(),
      name: z.string(),
      brand: z.string(),
      strength: z.string(),
      dosing: z.string(),
      price: z.object({ amount: z.number(), currency: z.string() }).nullable(),
      in_stock: z.boolean(),
      rationale: z.string(),
    }),
  ),
});

export const lifestyleCard = z.object({
  recommendations: z.array(z.object({ title: z.string(), detail: z.string() })),
});

export const labsCard = z.object({
  labs: z.array(
    z.object({
      id: z.string(),
      name: z.string(),
      loinc: z.string().nullable(),
      specimen: z.string().nullable(),
      reference: z.string().nullable(),
      rationale: z.string().nullable(),
    }),
  ),
});

export const interactionCard = z.object({
  findings: z.array(
    z.object({
      a: z.string(),
      b: z.string(),
      severity: z.string(),
      mechanism: z.string(),
      advice: z.string(),
      sources: z.array(z.object({ title: z.string(), url: z.string() })),
    }),
  ),
});

export const citationsCard = z.object({
  bundle_id: z.string().optional(),
  sources: z.array(
    z.object({
      id: z.string(),
      title: z.string(),
      year: z.number().nullable(),
      journal: z.string().nullable(),
      url: z.string().nullable(),
      finding: z.string(),
    }),
  ),
});

export const articlesCard = z.object({
  articles: z.array(z.object({ id: z.string(), title: z.string(), category: z.string(), excerpt: z.string() })),
});

/** A card kind is the kind of its signal and the type of its block. */
export const cards = {
  recommend_supplements: supplementCard,
  recommend_lifestyle: lifestyleCard,
  recommend_labs: labsCard,
  interaction_check_results: interactionCard,
  citations: citationsCard,
  knowledge_base_results: articlesCard,
} as const;

export type CardKind = keyof typeof cards;
export type CardData<K extends CardKind> = z.infer<(typeof cards)[K]>;
/** A card that a tool shows: its kind and data, before it has a block. */
export type CardSignal = { [K in CardKind]: { readonly kind: K; readonly data: CardData<K> } }[CardKind];

export const isCardKind = (kind: string): kind is CardKind => Object.hasOwn(cards, kind);
