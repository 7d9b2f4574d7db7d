import { z } from "zod";

/** The part of a Converse request that the simulator reads, as it stands on the wire: bytes are base64. */
const cachePoint = z.looseObject({ type: z.string() });
const toolUse = z.looseObject({ toolUseId: z.string(), name: z.string(), input: z.unknown() });
const toolResult = z.looseObject({
  toolUseId: z.string(),
  content: z.array(
    z.looseObject({ text: z.string().optional(), json: z.unknown().optional(), cachePoint: cachePoint.optional() }),
  ),
  status: z.enum(["success", "error"]).optional(),
});
const reasoningContent = z.looseObject({
  reasoningText: z.looseObject({ text: z.string(), signature: z.string().optional() }).optional(),
  redactedContent: z.string().optional(),
});

const source = z.looseObject({ bytes: z.string().optional() });
const image = z.looseObject({ format: z.string(), source });
const document = z.looseObject({ format: z.string(), name: z.string(), source });

const block = z.looseObject({
  text: z.string().optional(),
  toolUse: toolUse.optional(),
  toolResult: toolResult.optional(),
  reasoningContent: reasoningContent.optional(),
  cachePoint: cachePoint.optional(),
  image: image.optional(),
  document: document.optional(),
});
const message = z.looseObject({ role: z.string(), content: z.array(block) });

const tool = z.looseObject({
  toolSpec: z
    .looseObject({
      name: z.string(),
      description: z.string().optional(),
      inputSchema: z.looseObject({ json: z.unknown() }),
    })
    .optional(),
  cachePoint: cachePoint.optional(),
});

const request = z.looseObject({
  messages: z.array(message).optional(),
  system: z.array(z.looseObject({ text: z.string().optional(), cachePoint: cachePoint.optional() })).optional(),
  toolConfig: z.looseObject({ tools: z.array(tool) }).optional(),
  inferenceConfig: z.looseObject({ maxTokens: z.number().int().min(1).optional() }).optional(),
  additionalModelRequestFields: z
    .looseObject({
      thinking: z.looseObject({ type: z.string(), budget_tokens: z.number().optional() }).optional(),
    })
    .optional(),
});

export type ConverseBlock = z.infer<typeof block>;
export type ConverseMessage = z.infer<typeof message>;
export type ConverseRequest = z.infer<typeof request>;
export type ConverseTool = z.infer<typeof tool>;

/** The types of files by the names that Converse has for them. */
export const MIME_TYPES: Readonly<Record<string, string>> = {
  png: "image/png",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
  pdf: "application/pdf",
  txt: "text/plain",
};

/** A request, or the structural reason why it is none (paths and kinds, never values). */
export function parseConverse(body: unknown): { readonly request: ConverseRequest } | { readonly problem: string } {
  const parsed = request.safeParse(body);
  if (parsed.success) return { request: parsed.data };
  const issue = parsed.error.issues[0];
  return { problem: `Malformed input request at '${issue?.path.join(".") ?? ""}' (${issue?.code ?? "unreadable"})` };
}

export const thinks = ({ additionalModelRequestFields }: ConverseRequest): boolean =>
  ["enabled", "adaptive"].includes(additionalModelRequestFields?.thinking?.type ?? "disabled");

export const toolSpecs = ({ toolConfig }: ConverseRequest) =>
  (toolConfig?.tools ?? []).flatMap(({ toolSpec }) => (toolSpec === undefined ? [] : [toolSpec]));

export const usesIn = (message: ConverseMessage | undefined) =>
  (message?.content ?? []).flatMap(({ toolUse: use }) => (use === undefined ? [] : [use]));

export const resultsIn = (message: ConverseMessage | undefined) =>
  (message?.content ?? []).flatMap(({ toolResult: result }) => (result === undefined ? [] : [result]));

/**
 * Assistant messages of the step that the request goes on with: those after the last user message without results. Empty
 * when a new question was asked.
 */
export function openStep({
  messages = [],
}: ConverseRequest): readonly { readonly message: ConverseMessage; readonly at: number }[] {
  const start = messages.findLastIndex((each) => each.role === "user" && resultsIn(each).length === 0);
  return messages.flatMap((each, at) => (at > start && each.role === "assistant" ? [{ message: each, at }] : []));
}
