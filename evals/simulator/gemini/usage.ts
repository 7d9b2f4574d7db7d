import { mediaTokens } from "../../../machines/conversation/media-estimate.ts";
import { isMediaType } from "../../../machines/protocol/uploads.ts";
import type { GeminiPart, GeminiRequest, GeminiUsage } from "./wire.ts";

/** The simulator's measure: four characters are one token. */
export const tokensIn = (text: string): number => Math.ceil(text.length / 4);

/** Tokens of everything that the model reads: instruction, tools and contents as JSON; files by what they are. */
export function promptTokens(request: GeminiRequest): number {
  const { systemInstruction, tools = [], contents = [] } = request;
  const all = contents.flatMap(({ parts = [] }) => parts);
  const words = contents.map(({ parts = [], ...rest }) => ({ ...rest, parts: parts.filter((one) => !one.inlineData) }));
  return (
    tokensIn(JSON.stringify([systemInstruction ?? null, tools, words])) +
    all.reduce((sum, { inlineData }) => sum + fileTokens(inlineData), 0)
  );
}

function fileTokens({ mimeType = "", data = "" }: GeminiPart["inlineData"] = {}): number {
  return isMediaType(mimeType) ? mediaTokens(mimeType, Buffer.from(data, "base64")) : 0;
}

export function usage(prompt: number, candidates: number, thoughts: number): GeminiUsage {
  return {
    promptTokenCount: prompt,
    candidatesTokenCount: candidates,
    thoughtsTokenCount: thoughts,
    totalTokenCount: prompt + candidates + thoughts,
  };
}
