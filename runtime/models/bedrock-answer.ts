import type {
  ContentBlockDelta,
  ContentBlockStart,
  ConverseStreamOutput,
  ReasoningContentBlockDelta,
  TokenUsage,
} from "@aws-sdk/client-bedrock-runtime";
import type { AssistantPart, ToolCall } from "../../machines/conversation/entries.ts";
import { parsedJson } from "../../machines/conversation/json-values.ts";
import { ownName } from "../../machines/conversation/names.ts";
import { hasText } from "../../machines/conversation/repair.ts";
import { never } from "../../machines/failure.ts";
import type { CallId } from "../../machines/ids.ts";
import type { ModelEvent, ToolDeclaration, Usage } from "../../machines/model.ts";
import { ModelBlocked, ModelMisanswered, ModelUnavailable, OutputBudgetExhausted } from "./failures.ts";
import type { ModelNotice } from "./notices.ts";

type Shown = Extract<ModelEvent, { type: "text" | "thinking" }>;
type Answer = Pick<Extract<ModelEvent, { type: "end" }>, "parts" | "truncated" | "usage">;

export type BedrockAnswerOptions = {
  readonly tools: readonly ToolDeclaration[];
  /** Makes our own id of a call: 1–64 of `[A-Za-z0-9_-]`, never used before in the session. */
  readonly newCallId: () => CallId;
  readonly notice: (notice: ModelNotice) => void;
};

/** A content block as far as it has come. Reasoning is either told or sealed bytes. */
type Block =
  | { readonly kind: "text"; text: string }
  | { readonly kind: "reasoning"; text: string; signature: string; readonly redacted: Uint8Array[] }
  | { readonly kind: "call"; readonly id: string; readonly name: string; input: string };

/** Reads one streamed answer. `read` gives what to show of an event, `end` the whole answer or throws a `ModelFailure`. */
export type BedrockAnswerReader = {
  read(event: ConverseStreamOutput): readonly Shown[];
  end(): Answer;
};

export function bedrockAnswerReader(options: BedrockAnswerOptions): BedrockAnswerReader {
  const blocks = new Map<number, Block>();
  let stop: string | undefined;
  let usage: TokenUsage | undefined;

  function start(at: number, { toolUse }: ContentBlockStart): void {
    if (toolUse !== undefined) {
      blocks.set(at, { kind: "call", id: toolUse.toolUseId ?? "", name: toolUse.name ?? "", input: "" });
    }
  }

  function grow(at: number, delta: ContentBlockDelta): readonly Shown[] {
    const block = blocks.get(at);
    if (delta.text !== undefined) {
      if (block?.kind === "text") block.text += delta.text;
      else if (block === undefined) blocks.set(at, { kind: "text", text: delta.text });
      else throw new ModelUnavailable("stream_error");
      return delta.text === "" ? [] : [{ type: "text", delta: delta.text }];
    }
    if (delta.toolUse !== undefined) {
      if (block?.kind !== "call") throw new ModelUnavailable("stream_error");
      block.input += delta.toolUse.input ?? "";
      return [];
    }
    if (delta.reasoningContent !== undefined) return reason(at, block, delta.reasoningContent);
    options.notice({ kind: "unknown_part", fields: Object.keys(delta).sort() });
    return [];
  }

  function reason(at: number, before: Block | undefined, delta: ReasoningContentBlockDelta): readonly Shown[] {
    const block = before ?? { kind: "reasoning", text: "", signature: "", redacted: [] };
    if (block.kind !== "reasoning") throw new ModelUnavailable("stream_error");
    blocks.set(at, block);
    if (delta.redactedContent !== undefined) block.redacted.push(delta.redactedContent);
    if (delta.signature !== undefined) block.signature += delta.signature;
    if (delta.text === undefined || delta.text === "") return [];
    block.text += delta.text;
    return [{ type: "thinking", delta: delta.text }];
  }

  return {
    read({ contentBlockStart, contentBlockDelta, messageStop, metadata }) {
      stop = messageStop?.stopReason ?? stop;
      usage = metadata?.usage ?? usage;
      if (contentBlockStart?.start !== undefined)
        start(contentBlockStart.contentBlockIndex ?? 0, contentBlockStart.start);
      if (contentBlockDelta?.delta === undefined) return [];
      return grow(contentBlockDelta.contentBlockIndex ?? 0, contentBlockDelta.delta);
    },
    end() {
      if (stop === undefined) throw new ModelUnavailable("truncated_stream");
      const ordered = [...blocks].sort(([a], [b]) => a - b).map(([, block]) => block);
      const cut = stop === "max_tokens" || stop === "model_context_window_exceeded";
      const parts = ordered.flatMap((block, at) => partsOf(block, cut && at === ordered.length - 1, options));
      judge(parts, ordered, stop, cut);
      return { parts, truncated: cut || !USUAL.has(stop), usage: usageOf(usage) };
    },
  };
}

/** Calls are dropped where nothing could be called: what was declared then only stands for an empty list. */
function partsOf(block: Block, cut: boolean, options: BedrockAnswerOptions): readonly AssistantPart[] {
  switch (block.kind) {
    case "text":
      return block.text === "" ? [] : [{ kind: "text", text: block.text }];
    case "reasoning": {
      const { text, signature, redacted } = block;
      if (redacted.length > 0)
        return [{ kind: "reasoning", text: "", redacted: Buffer.concat(redacted).toString("base64") }];
      if (text === "" && signature === "") return [];
      return [{ kind: "reasoning", text, ...(signature !== "" && { signature }) }];
    }
    case "call":
      return options.tools.length === 0 ? [] : [{ kind: "tool_call", call: callOf(block, cut, options) }];
    default:
      return never(block);
  }
}

function callOf(
  block: Extract<Block, { kind: "call" }>,
  cut: boolean,
  { tools, newCallId }: BedrockAnswerOptions,
): ToolCall {
  const names = tools.map((tool) => tool.name);
  const call = {
    callId: newCallId(),
    name: ownName(block.name, names),
    ...(block.id !== "" && { providerId: block.id }),
  };
  // What came of the arguments is worth nothing, and a call must not run on half of them.
  if (cut) return { ...call, args: {}, broken: "truncated" };
  if (block.input.trim() === "") return { ...call, args: {} };
  const args = parsedJson(block.input);
  return args === undefined ? { ...call, args: block.input, broken: "invalid_json" } : { ...call, args };
}

const USUAL: ReadonlySet<string> = new Set(["end_turn", "tool_use", "stop_sequence"]);
const REFUSALS: ReadonlySet<string> = new Set(["guardrail_intervened", "content_filtered", "refusal"]);
const UNUSABLE: ReadonlySet<string> = new Set(["malformed_tool_use", "malformed_model_output"]);

/** What the answer is worth. Calls and text decide; the reason only says how the stream ended. */
function judge(parts: readonly AssistantPart[], blocks: readonly Block[], stop: string, cut: boolean): void {
  const calls = parts.some((part) => part.kind === "tool_call");
  const text = parts.some((part) => part.kind === "text" && hasText(part.text));
  if (REFUSALS.has(stop)) throw new ModelBlocked();
  if (UNUSABLE.has(stop)) throw new ModelMisanswered("malformed_tool_call");
  if (cut) {
    if (!calls && !text) throw new OutputBudgetExhausted();
    return;
  }
  if (USUAL.has(stop)) {
    if (calls || text) return;
    const called = blocks.some(({ kind }) => kind === "call");
    throw new ModelMisanswered(called ? "malformed_tool_call" : "empty_response");
  }
  // Calls under a reason nobody knows are not run; text is shown as far as it goes.
  const reason = /^[A-Za-z0-9_]{1,60}$/.test(stop) ? stop : "UNREADABLE";
  if (calls || !text) throw new ModelMisanswered(`unknown_finish_reason:${reason}`);
}

/** The service counts what it read from and wrote to its cache apart; thinking is part of its output. */
function usageOf(usage: TokenUsage | undefined): Usage {
  const { inputTokens = 0, outputTokens = 0, cacheReadInputTokens = 0, cacheWriteInputTokens = 0 } = usage ?? {};
  return {
    input: inputTokens + cacheReadInputTokens + cacheWriteInputTokens,
    output: outputTokens,
    thinking: 0,
    cached: cacheReadInputTokens,
  };
}
