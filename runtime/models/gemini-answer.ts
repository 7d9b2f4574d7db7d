import type { FunctionCall, GenerateContentResponse, GenerateContentResponseUsageMetadata, Part } from "@google/genai";
import type { AssistantPart, ToolCall } from "../../machines/conversation/entries.ts";
import { ownName } from "../../machines/conversation/names.ts";
import { hasText } from "../../machines/conversation/repair.ts";
import { argsFromGemini } from "../../machines/conversation/schema-gemini.ts";
import type { CallId } from "../../machines/ids.ts";
import type { ModelEvent, ToolDeclaration, Usage } from "../../machines/model.ts";
import { ModelBlocked, ModelMisanswered, ModelUnavailable, OutputBudgetExhausted } from "./failures.ts";
import type { ModelNotice } from "./notices.ts";

type Shown = Extract<ModelEvent, { type: "text" | "thinking" }>;
type Answer = Pick<Extract<ModelEvent, { type: "end" }>, "parts" | "truncated" | "usage">;

export type AnswerOptions = {
  readonly tools: readonly ToolDeclaration[];
  /** Makes our own id of a call: 1–64 of `[A-Za-z0-9_-]`, never used before in the session. */
  readonly newCallId: () => CallId;
  readonly notice: (notice: ModelNotice) => void;
};

/** Reads one streamed answer. `read` gives what to show of a chunk, `end` the whole answer or throws a `ModelFailure`. */
export type AnswerReader = {
  read(chunk: GenerateContentResponse): readonly Shown[];
  end(): Answer;
};

export function answerReader(options: AnswerOptions): AnswerReader {
  const parts: AssistantPart[] = [];
  let blocked = false;
  let finish: string | undefined;
  let usage: GenerateContentResponseUsageMetadata = {};

  function readPart(part: Part): readonly Shown[] {
    if (part.functionCall !== undefined) {
      const call = callFrom(part.functionCall, options);
      parts.push({ kind: "tool_call", call, ...signatureOf(part) });
      return [];
    }
    if (part.text === undefined && part.thoughtSignature === undefined) {
      options.notice({ kind: "unknown_part", fields: Object.keys(part).sort() });
      return [];
    }
    const { text = "", thought } = part;
    addText(parts, { kind: thought === true ? "reasoning" : "text", text, ...signatureOf(part) });
    return text === "" ? [] : [{ type: thought === true ? "thinking" : "text", delta: text }];
  }

  return {
    read({ candidates, promptFeedback, usageMetadata }) {
      const [candidate] = candidates ?? [];
      blocked ||= promptFeedback?.blockReason !== undefined;
      finish = candidate?.finishReason ?? finish;
      usage = usageMetadata ?? usage;
      return (candidate?.content?.parts ?? []).flatMap(readPart);
    },
    end() {
      if (blocked) throw new ModelBlocked();
      return { ...judged(parts, finish), usage: usageOf(usage) };
    },
  };
}

const signatureOf = ({ thoughtSignature: signature }: Part): { signature?: string } =>
  signature === undefined || signature === "" ? {} : { signature };

/** Neighbouring chunks become one part unless one of them is signed: a signature stays on the part that carried it. */
function addText(parts: AssistantPart[], added: Exclude<AssistantPart, { kind: "tool_call" }>): void {
  if (added.text === "" && added.signature === undefined) return;
  const last = parts.at(-1);
  const joins = last?.kind === added.kind && last.signature === undefined && added.signature === undefined;
  if (joins) parts[parts.length - 1] = { ...last, text: last.text + added.text };
  else parts.push(added);
}

function callFrom({ name: sent = "", args, id }: FunctionCall, { tools, newCallId }: AnswerOptions): ToolCall {
  const name = ownName(
    sent,
    tools.map((tool) => tool.name),
  );
  const tool = tools.find((each) => each.name === name);
  const given: unknown = args ?? {};
  const taken = tool === undefined ? given : argsFromGemini(tool.inputSchema, given);
  return {
    callId: newCallId(),
    name,
    args: taken,
    ...(id !== undefined && id !== "" && { providerId: id }),
    ...(taken !== given && { providerArgs: given }),
  };
}

const REFUSALS: ReadonlySet<string> = new Set([
  "SAFETY",
  "RECITATION",
  "LANGUAGE",
  "BLOCKLIST",
  "PROHIBITED_CONTENT",
  "SPII",
  "IMAGE_SAFETY",
  "IMAGE_PROHIBITED_CONTENT",
  "IMAGE_RECITATION",
]);
const UNUSABLE_CALLS: ReadonlySet<string> = new Set([
  "MALFORMED_FUNCTION_CALL",
  "UNEXPECTED_TOOL_CALL",
  "TOO_MANY_TOOL_CALLS",
]);

/** What the answer is worth. Calls and text decide; the reason only says how the stream ended. */
function judged(parts: readonly AssistantPart[], finish: string | undefined): Pick<Answer, "parts" | "truncated"> {
  const calls = parts.some((part) => part.kind === "tool_call");
  const text = parts.some((part) => part.kind === "text" && hasText(part.text));
  if (finish === undefined) {
    throw parts.length > 0 ? new ModelUnavailable("truncated_stream") : new ModelMisanswered("empty_response");
  }
  if (REFUSALS.has(finish)) throw new ModelBlocked();
  if (UNUSABLE_CALLS.has(finish)) throw new ModelMisanswered("malformed_tool_call");
  switch (finish) {
    case "STOP":
      if (!calls && !text) throw new ModelMisanswered("empty_response");
      return { parts, truncated: false };
    case "MAX_TOKENS":
      if (!calls && !text) throw new OutputBudgetExhausted();
      return { parts: parts.map((part, at) => (at === parts.length - 1 ? cutOff(part) : part)), truncated: true };
    default: {
      // Calls under a reason nobody knows are not run; text is shown as far as it goes.
      const reason = /^[A-Z0-9_]{1,60}$/.test(finish) ? finish : "UNREADABLE";
      if (calls || !text) throw new ModelMisanswered(`unknown_finish_reason:${reason}`);
      return { parts, truncated: true };
    }
  }
}

/** The limit fell while this part was written: a call must not run on half of its arguments. */
const cutOff = (part: AssistantPart): AssistantPart =>
  part.kind === "tool_call" ? { ...part, call: { ...part.call, broken: "truncated" } } : part;

/** `promptTokenCount` is the whole prompt, its cached part included. */
const usageOf = (usage: GenerateContentResponseUsageMetadata): Usage => ({
  input: usage.promptTokenCount ?? 0,
  output: usage.candidatesTokenCount ?? 0,
  thinking: usage.thoughtsTokenCount ?? 0,
  cached: usage.cachedContentTokenCount ?? 0,
});
