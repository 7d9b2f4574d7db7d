import { z } from "zod";

/** What a question or a proposal is made of, on the wire, in history and at rest alike. */
export const interactionKind = z.enum(["single_choice", "multi_choice", "patient_picker", "plan_proposal"]);

export const interactionOption = z.object({ id: z.string(), label: z.string(), detail: z.string().optional() });

export const proposalItem = z.object({
  product_id: z.string(),
  variant_id: z.string(),
  name: z.string(),
  brand: z.string(),
  strength: z.string(),
  dosing: z.string(),
  rationale: z.string(),
  price: z.object({ amount: z.number(), currency: z.string() }).nullable(),
  in_stock: z.boolean(),
});

/** A treatment plan that is proposed and not stored yet. With `plan_id` its items are added to that draft. */
export const proposalSchema = z.object({
  patient_id: z.string(),
  patient_name: z.string(),
  plan_id: z.string().optional(),
  title: z.string(),
  items: z.array(proposalItem).min(1),
  lifestyle: z.array(z.object({ title: z.string(), detail: z.string() })).optional(),
  labs: z.array(z.object({ id: z.string(), name: z.string() })).optional(),
  notes: z.string().optional(),
});

/**
 * What a person may change before accepting. `items` is the whole list: one that is left out is dropped, one that was
 * not proposed is refused. Other fields of an item are ignored.
 */
export const proposalEdits = z.object({
  title: z.string().trim().min(1).max(200).optional(),
  items: z
    .array(z.object({ variant_id: z.string(), dosing: z.string().trim().min(1).max(500) }))
    .min(1)
    .optional(),
  notes: z.string().max(4000).optional(),
});

export const pendingInteraction = z.object({
  id: z.uuid(),
  revision: z.int().min(1),
  kind: interactionKind,
  prompt: z.string(),
  /** JSON Schema of `selected` of an answer, of `edits` for a proposal. */
  schema: z.record(z.string(), z.unknown()),
  options: z.array(interactionOption).optional(),
  proposal: proposalSchema.optional(),
  /** ISO 8601. */
  expires_at: z.string().optional(),
});

export type InteractionKind = z.infer<typeof interactionKind>;
export type InteractionOption = z.infer<typeof interactionOption>;
export type Proposal = z.infer<typeof proposalSchema>;
export type ProposalItem = z.infer<typeof proposalItem>;
export type ProposalEdits = z.infer<typeof proposalEdits>;
export type PendingInteraction = z.infer<typeof pendingInteraction>;
