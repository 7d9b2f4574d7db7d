import type { z } from "zod";
import { clipped } from "../bounds.ts";
import type { ToolContext, ToolResult } from "../tool.ts";

export type Failed = Extract<ToolResult, { kind: "error" }>;
export type Lookup<T> = Promise<{ readonly found: T } | { readonly failed: Failed }>;

/** Reads from another tool what a card needs; its failure, or an answer of another shape, is the error result to give. */
export async function lookUp<S extends z.ZodType>(
  context: ToolContext,
  tool: string,
  args: unknown,
  schema: S,
): Promise<{ readonly found: z.output<S> } | { readonly failed: Failed }> {
  const result = await context.call(tool, args);
  if (result.kind === "error") {
    // The model did not call that tool and cannot correct the call.
    const reason = result.reason === "auth" ? "auth" : "unavailable";
    return { failed: { kind: "error", reason, text: `Nothing was shown: ${tool} cannot be used now.` } };
  }
  const read = schema.safeParse(result.data);
  if (read.success) return { found: read.data };
  return {
    failed: { kind: "error", reason: "protocol", text: `Nothing was shown: ${tool} gave data of another shape.` },
  };
}

/** Ids of the model's in an error text: quoted and bounded. */
export const namedIds = (ids: readonly string[]): string =>
  ids
    .slice(0, 10)
    .map((id) => JSON.stringify(clipped(id, 64).toWellFormed()))
    .join(", ");

/** The result for arguments that fit the schema and still make no sense. */
export const badArguments = (text: string): Failed => ({ kind: "error", reason: "invalid_arguments", text });

/** The result for ids that do not exist: names them, bounded, and says where ids come from. */
export function unknownIds(kind: string, ids: readonly string[], source: string): Failed {
  const named = namedIds(ids);
  const text = `Nothing was shown: unknown ${kind} ${named}. Use only ids that ${source} returned.`;
  return { kind: "error", reason: "tool", text };
}
