import type { GeminiRequest, GeminiUsage } from "./wire.ts";

/** The simulator's measure: four characters are one token. */
export const tokensIn = (text: string): number => Math.ceil(text.length / 4);

/** Tokens of everything that the model reads: instruction, tools and contents as JSON. */
export function promptTokens(request: GeminiRequest): number {
  return tokensIn(JSON.stringify([request.systemInstruction ?? null, request.tools ?? [], request.contents ?? []]));
}

export function usage(prompt: number, candidates: number, thoughts: number): GeminiUsage {
  return {
    promptTokenCount: prompt,
    candidatesTokenCount: candidates,
    thoughtsTokenCount: thoughts,
    totalTokenCount: prompt + candidates + thoughts,
  };
}
