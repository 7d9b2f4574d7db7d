import { z } from "zod";

const annotations = z.looseObject({
  title: z.string().optional(),
  readOnlyHint: z.boolean().optional(),
  idempotentHint: z.boolean().optional(),
  destructiveHint: z.boolean().optional(),
});

/** One tool of `tools/list`. Wider than the SDK's schema: one odd tool must not hide all others. */
export const mcpToolSchema = z.looseObject({
  name: z.string().min(1).max(200),
  title: z.string().optional(),
  description: z.string().default(""),
  inputSchema: z.record(z.string(), z.unknown()),
  outputSchema: z.record(z.string(), z.unknown()).optional(),
  annotations: annotations.optional(),
  _meta: z.record(z.string(), z.unknown()).optional(),
});

/** One page of `tools/list`; each tool is read by itself. */
export const toolPageSchema = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().optional() });

/** The answer of `tools/call`. Kinds of content that we do not know are kept and marked. */
export const callResultSchema = z.looseObject({
  content: z.array(z.looseObject({ type: z.string() })).default([]),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().optional(),
});

export type McpToolDefinition = z.infer<typeof mcpToolSchema>;
export type CallResult = z.infer<typeof callResultSchema>;

/** Marks, in `_meta`, that a tool honours this key and that a call carries one. */
export const IDEMPOTENCY_META = "dormouse/idempotency-key";
