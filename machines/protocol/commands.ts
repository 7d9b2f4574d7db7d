import { z } from "zod";
import { proposalEdits } from "./interactions.ts";
import { MOST_ATTACHMENTS } from "./uploads.ts";

/** Lower case only: that is the one spelling by which ids are compared and stored (machines/ids.ts). */
const id = z.uuid().regex(/^[^A-Z]*$/, { error: "expected a uuid in lower case" });

export const contextSchema = z.object({
  patient_id: z.string().min(1).max(200).optional(),
  plan_id: z.string().min(1).max(200).optional(),
  page: z.object({ url: z.string().max(2000).optional(), title: z.string().max(500).optional() }).optional(),
});

/** At least one character that is not white space; lone surrogates are not text. */
const hasText = (text: string): boolean => text.toWellFormed().replaceAll("\u{fffd}", "").trim().length > 0;

export const messageCommand = z
  .object({
    type: z.literal("message"),
    id,
    text: z.string(),
    context: contextSchema.optional(),
    attachments: z.array(id).max(MOST_ATTACHMENTS).optional(),
    entry_point: z.string().min(1).max(100).optional(),
  })
  .refine((c) => hasText(c.text) || c.entry_point !== undefined || (c.attachments?.length ?? 0) > 0, {
    error: "a message needs text, an entry point or an attachment",
    path: ["text"],
  });

/** A resolution as it is told and stored. What may be sent is bounded more tightly, by `resolveCommand`. */
export const resolutionSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("answered"), selected: z.array(z.string()), text: z.string().optional() }),
  z.object({ kind: z.literal("accepted"), edits: z.unknown().optional() }),
  z.object({ kind: z.literal("dismissed"), reason: z.string().optional() }),
]);

/** Characters of a person's own words in a resolution. */
export const MOST_WORDS = 4_000;
const words = z.string().max(MOST_WORDS);

const sentResolution = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("answered"),
    selected: z.array(z.string().max(200)).max(100),
    text: words.optional(),
  }),
  // Edits of another form are passed on, for the session says what is wrong with them; they are never stored.
  z.object({ kind: z.literal("accepted"), edits: proposalEdits.or(z.unknown()).optional() }),
  z.object({ kind: z.literal("dismissed"), reason: words.optional() }),
]);

export const resolveCommand = z.object({
  type: z.literal("resolve"),
  id,
  interaction_id: id,
  revision: z.int().min(1),
  resolution: sentResolution,
});

export const actionCommand = z.object({
  type: z.literal("action"),
  id,
  block_id: id,
  action: z.literal("add_to_plan"),
  item: z.object({
    product_id: z.string().min(1).max(200),
    variant_id: z.string().min(1).max(200),
    dosing: z.string().min(1).max(500),
  }),
  plan_id: z.string().min(1).max(200).optional(),
});

export const cancelCommand = z.object({ type: z.literal("cancel"), id, turn_id: id.optional() });
export const pingCommand = z.object({ type: z.literal("ping"), id });

/** Everything a client may send. Unknown fields are ignored. */
export const commandSchema = z.discriminatedUnion("type", [
  messageCommand,
  resolveCommand,
  actionCommand,
  cancelCommand,
  pingCommand,
]);

export type Command = z.infer<typeof commandSchema>;
export type MessageCommand = z.infer<typeof messageCommand>;
export type ResolveCommand = z.infer<typeof resolveCommand>;
export type ActionCommand = z.infer<typeof actionCommand>;
export type CancelCommand = z.infer<typeof cancelCommand>;
export type Resolution = z.infer<typeof resolutionSchema>;
