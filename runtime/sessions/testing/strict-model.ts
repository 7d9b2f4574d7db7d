import type { AssistantPart } from "../../../machines/conversation/entries.ts";
import { projectBedrock } from "../../../machines/conversation/project-bedrock.ts";
import { projectGemini } from "../../../machines/conversation/project-gemini.ts";
import { converseProblems } from "../../../machines/conversation/testing/bedrock-rules.ts";
import { contentProblems } from "../../../machines/conversation/testing/gemini-rules.ts";
import { callId } from "../../../machines/ids.ts";
import type { Model, ModelRequest } from "../../../machines/model.ts";
import { BadModelRequest } from "../../models/failures.ts";

/** What a strict model answers: words, or calls by tool with their arguments. */
export type Answer = string | readonly { readonly tool: string; readonly args?: unknown }[];

export type StrictModel = Model & {
  readonly requests: readonly ModelRequest[];
  /** Sizes of the requests as this provider counts them. */
  readonly sizes: readonly number[];
};

/** Counts in its own way, four characters a token of what is really sent. `pad`: what a test says that fixed parts take. */
export function sizeOf(request: ModelRequest, pad = 0): number {
  const { systemInstruction, contents, tools } = projectGemini(request, "gemini-api");
  return pad + Math.ceil(JSON.stringify([systemInstruction ?? null, tools ?? [], contents]).length / 4);
}

/**
 * A model that refuses what the providers refuse: a history that is not valid for either of them, and a request that
 * does not fit the window together with its answer.
 */
export function strictModel(
  window: number,
  answer: (request: ModelRequest, count: number) => Answer,
  { pad = 0 }: { readonly pad?: number } = {},
): StrictModel {
  const requests: ModelRequest[] = [];
  const sizes: number[] = [];
  return {
    name: "strict",
    issuer: "gemini-api",
    window,
    projector: 1,
    requests,
    sizes,
    async *stream(request, signal) {
      signal.throwIfAborted();
      requests.push(request);
      const size = sizeOf(request, pad);
      sizes.push(size);
      const problems = [
        ...contentProblems(projectGemini(request, "gemini-api").contents),
        ...converseProblems(projectBedrock(request, "bedrock-claude")),
        ...(size + request.maxOutputTokens > window ? [`${size} tokens do not fit a window of ${window}`] : []),
      ];
      if (problems.length > 0) throw new BadModelRequest({ cause: new Error(problems.join("; ")) });
      const said = answer(request, requests.length);
      const parts: readonly AssistantPart[] =
        typeof said === "string"
          ? [{ kind: "text", text: said }]
          : said.map(({ tool, args = {} }, at) => ({
              kind: "tool_call",
              call: { callId: callId(`call-${requests.length}-${at}-${window}`), name: tool, args },
              ...(at === 0 && { signature: `sig-${requests.length}` }),
            }));
      if (typeof said === "string") yield { type: "text", delta: said };
      const output = Math.ceil(JSON.stringify(parts).length / 4);
      const usage = { input: size, output, thinking: 0, cached: 0 };
      yield { type: "end", parts, truncated: false, usage, profile: "strict", issuer: "gemini-api" };
    },
  };
}
