import { z } from "zod";
import { proposalSchema } from "../machines/protocol/interactions.ts";
import { MOST_SOURCES, type SubagentKind, type SubagentResult } from "./subagents.ts";

/** Longest text of one field that is kept. */
export const FIELD_CHARACTERS = 2_000;
export const REFLECTION_CHARACTERS = 800;
/** A result beyond this is not the work of a sub-agent of ours. */
const MOST_CHARACTERS = 100_000;

const field = z.string().max(FIELD_CHARACTERS);
const count = z.int().min(0);

const research = z.object({
  kind: z.literal("research"),
  bundleId: z.uuid(),
  sources: z
    .array(
      z.object({
        id: z.string().min(1).max(100),
        title: field,
        year: z.number().nullable(),
        journal: field.nullable(),
        url: field.nullable(),
        finding: field,
      }),
    )
    .max(MOST_SOURCES),
  reflection: z.string().min(1).max(REFLECTION_CHARACTERS),
  searched: z.object({ queries: count, found: count, characters: count }),
});

const plan = z.discriminatedUnion("outcome", [
  z.object({
    kind: z.literal("plan_builder"),
    outcome: z.literal("envelope"),
    envelope: proposalSchema,
    warnings: z.array(field).max(50),
  }),
  z.object({
    kind: z.literal("plan_builder"),
    outcome: z.literal("needs_clarification"),
    questions: z
      .array(z.object({ question: z.string().min(1).max(500), options: z.array(z.string().min(1).max(200)).max(12) }))
      .min(1)
      .max(3),
  }),
]);

const results = { research, plan_builder: plan } as const;

/** A result as it was stored by a worker; undefined when it is malformed, too large, or of another kind. */
export function readSubagentResult(kind: SubagentKind, value: unknown): SubagentResult | undefined {
  const read = results[kind].safeParse(value);
  if (!read.success || JSON.stringify(read.data).length > MOST_CHARACTERS) return undefined;
  return read.data;
}
