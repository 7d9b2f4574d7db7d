import { z } from "zod";
import { interactionKind, interactionOption, proposalSchema } from "./interactions.ts";

/** Data of the typed cards (PROTOCOL.md). A card's stored content is this data without `block_id`. */
export const supplementCard = z.object({
  /** Whom they are for; an item goes into a draft of this patient. */
  patient_id: z.string().optional(),
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

/** A draft plan as the platform stored it. */
export const planCard = z.object({
  change: z.enum(["created", "updated"]),
  plan_id: z.string(),
  title: z.string().nullable(),
  patient_id: z.string(),
  patient_name: z.string().nullable(),
  items: z.array(
    z.object({
      item_id: z.string(),
      product_id: z.string(),
      variant_id: z.string(),
      name: z.string(),
      brand: z.string().nullable(),
      dosing: z.string(),
    }),
  ),
});

/** A question or proposal as it was put to the user; whether it is still open, the session's state says. */
export const interactionRequestCard = z.object({
  interaction_id: z.uuid(),
  revision: z.int().min(1),
  kind: interactionKind,
  prompt: z.string(),
  options: z.array(interactionOption).optional(),
  proposal: proposalSchema.optional(),
  expires_at: z.string().optional(),
});

/** A card kind is the kind of its signal and the type of its block. */
export const cards = {
  recommend_supplements: supplementCard,
  recommend_lifestyle: lifestyleCard,
  recommend_labs: labsCard,
  interaction_check_results: interactionCard,
  citations: citationsCard,
  knowledge_base_results: articlesCard,
  treatment_plan: planCard,
  interaction_request: interactionRequestCard,
} as const;

export type CardKind = keyof typeof cards;
export type CardData<K extends CardKind> = z.infer<(typeof cards)[K]>;
/** A card that a tool shows: its kind and data, before it has a block. */
export type CardSignal = { [K in CardKind]: { readonly kind: K; readonly data: CardData<K> } }[CardKind];

export const isCardKind = (kind: string): kind is CardKind => Object.hasOwn(cards, kind);
