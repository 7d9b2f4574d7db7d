import { z } from "zod";

/** The part of the Gemini request that the simulator reads; fields it does not know inside parts are kept, not judged. */
const part = z.looseObject({
  text: z.string().optional(),
  thought: z.boolean().optional(),
  thoughtSignature: z.string().optional(),
  functionCall: z
    .looseObject({ id: z.string().optional(), name: z.string(), args: z.record(z.string(), z.unknown()).optional() })
    .optional(),
  functionResponse: z
    .looseObject({
      id: z.string().optional(),
      name: z.string(),
      response: z.record(z.string(), z.unknown()).optional(),
    })
    .optional(),
  inlineData: z.looseObject({ mimeType: z.string().optional(), data: z.string().optional() }).optional(),
  fileData: z.looseObject({}).optional(),
});

const content = z.looseObject({ role: z.string().optional(), parts: z.array(part).optional() });

const declaration = z.looseObject({
  name: z.string(),
  description: z.string().optional(),
  parameters: z.unknown().optional(),
  parametersJsonSchema: z.unknown().optional(),
});

const request = z.looseObject({
  contents: z.array(content).optional(),
  systemInstruction: content.optional(),
  tools: z.array(z.looseObject({ functionDeclarations: z.array(declaration).optional() })).optional(),
  toolConfig: z
    .looseObject({
      functionCallingConfig: z
        .looseObject({ mode: z.string().optional(), allowedFunctionNames: z.array(z.string()).optional() })
        .optional(),
    })
    .optional(),
  generationConfig: z
    .looseObject({ thinkingConfig: z.looseObject({ includeThoughts: z.boolean().optional() }).optional() })
    .optional(),
});

export type GeminiPart = z.infer<typeof part>;
export type GeminiContent = z.infer<typeof content>;
export type GeminiDeclaration = z.infer<typeof declaration>;
export type GeminiRequest = z.infer<typeof request>;

export type GeminiUsage = {
  readonly promptTokenCount: number;
  readonly candidatesTokenCount: number;
  readonly thoughtsTokenCount: number;
  readonly totalTokenCount: number;
};

/** One event of the answer: a partial `GenerateContentResponse`. */
export type GeminiChunk = {
  readonly candidates?: readonly {
    readonly content?: { readonly role: "model"; readonly parts?: readonly GeminiPart[] };
    readonly finishReason?: string;
    readonly index: 0;
  }[];
  readonly promptFeedback?: { readonly blockReason: string };
  readonly usageMetadata?: GeminiUsage;
  readonly modelVersion: string;
  readonly responseId: string;
};

/** A request, or the structural reason why it is none (paths and kinds, never values). */
export function parseRequest(body: unknown): { readonly request: GeminiRequest } | { readonly problem: string } {
  const parsed = request.safeParse(body);
  if (parsed.success) return { request: parsed.data };
  const issue = parsed.error.issues[0];
  return { problem: `Invalid value at '${issue?.path.join(".") ?? ""}' (${issue?.code ?? "unreadable"})` };
}

/** All function declarations of a request, in order. */
export function declarations(request: GeminiRequest): readonly GeminiDeclaration[] {
  return (request.tools ?? []).flatMap((tool) => tool.functionDeclarations ?? []);
}
