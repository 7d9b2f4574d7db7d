import type { Reply } from "../brain/reply.ts";
import { canonical } from "../canonical.ts";
import type { Fault, Knobs } from "../knobs.ts";
import type { ConverseSigner } from "./signatures.ts";
import { type ConverseUsage, type PromptCache, tokensIn } from "./usage.ts";
import { type ConverseBlock, type ConverseRequest, thinks } from "./wire.ts";

/** One event of the stream, its body as it stands on the wire, and how many output tokens it adds. */
export type ConverseEvent = {
  readonly name:
    | "messageStart"
    | "contentBlockStart"
    | "contentBlockDelta"
    | "contentBlockStop"
    | "messageStop"
    | "metadata";
  readonly body: unknown;
  readonly tokens: number;
};

/** A content block of the answer, whole and in the pieces that it is streamed in. */
type Piece = {
  readonly start?: unknown;
  readonly deltas: readonly { readonly delta: unknown; readonly tokens: number }[];
};
type Made = { readonly block: ConverseBlock; readonly piece: Piece };

export type ConverseAnswer = {
  readonly events: readonly ConverseEvent[];
  readonly content: readonly ConverseBlock[];
  readonly stopReason: string;
  readonly usage: ConverseUsage;
};

/**
 * The answer as the real service streams it: reasoning first when thinking was asked for, with its signature in a delta of
 * its own; text without a start event; each call's arguments as pieces of JSON; the reason, then the usage.
 */
export function converseAnswer(
  reply: Reply,
  request: ConverseRequest,
  {
    signer,
    cache,
    answered,
  }: { readonly signer: ConverseSigner; readonly cache: PromptCache; readonly answered: number },
  knobs: Knobs,
  fault: Fault | undefined,
): ConverseAnswer {
  const salt = canonical(request);
  const sealed = knobs.redactedEvery > 0 && answered % knobs.redactedEvery === 0;
  const stopReason = stopOf(reply, fault);
  const cutsCall = fault?.kind === "finish" && fault.reason === "max_tokens";
  const all = [
    ...(thinks(request) && reply.thought !== "" ? [reasoning(reply.thought, salt, signer, sealed)] : []),
    ...(reply.text === "" ? [] : [text(reply.text, knobs)]),
    ...reply.calls.map(({ tool, args }, at) =>
      call(
        { toolUseId: signer.toolUseId(salt, at), name: tool, input: { ...args } },
        cutsCall && at === reply.calls.length - 1,
      ),
    ),
  ];
  const none = fault?.kind === "blocked" || fault?.kind === "empty" || (fault?.kind === "finish" && !fault.keepParts);
  const made = none ? [] : all;
  const usage = usageOf(request, made, cache);
  const body = made.flatMap(({ piece }, at) => eventsOf(piece, at));
  const end: readonly ConverseEvent[] =
    fault?.kind === "no_finish" ? [] : [{ name: "messageStop", body: { stopReason }, tokens: 0 }];
  return {
    events: [
      { name: "messageStart", body: { role: "assistant" }, tokens: 0 },
      ...body,
      ...end,
      { name: "metadata", body: { usage, metrics: { latencyMs: 1 } }, tokens: 0 },
    ],
    content: made.map(({ block }) => block),
    stopReason,
    usage,
  };
}

function stopOf(reply: Reply, fault: Fault | undefined): string {
  if (fault?.kind === "blocked") return "guardrail_intervened";
  if (fault?.kind === "finish") return fault.reason;
  return reply.calls.length > 0 && fault?.kind !== "empty" ? "tool_use" : "end_turn";
}

function reasoning(thought: string, salt: string, signer: ConverseSigner, sealed: boolean): Made {
  if (sealed) {
    const redactedContent = signer.seal(thought, salt, 0);
    return {
      block: { reasoningContent: { redactedContent } },
      piece: { deltas: [{ delta: { reasoningContent: { redactedContent } }, tokens: tokensIn(thought) }] },
    };
  }
  const signature = signer.sign(thought, salt, 0);
  const half = Math.ceil(thought.length / 2);
  const told = [thought.slice(0, half), thought.slice(half)].filter((each) => each !== "");
  return {
    block: { reasoningContent: { reasoningText: { text: thought, signature } } },
    piece: {
      deltas: [
        ...told.map((each) => ({ delta: { reasoningContent: { text: each } }, tokens: tokensIn(each) })),
        { delta: { reasoningContent: { signature } }, tokens: 0 },
      ],
    },
  };
}

function text(words: string, { wordsPerEvent }: Knobs): Made {
  const each = words.match(/\s*\S+\s*$|\s*\S+/g) ?? [words];
  const deltas: { delta: unknown; tokens: number }[] = [];
  for (let at = 0; at < each.length; at += wordsPerEvent) {
    const said = each.slice(at, at + wordsPerEvent).join("");
    deltas.push({ delta: { text: said }, tokens: tokensIn(said) });
  }
  return { block: { text: words }, piece: { deltas } };
}

function call(toolUse: { toolUseId: string; name: string; input: object }, cut: boolean): Made {
  const { toolUseId, name, input } = toolUse;
  const whole = JSON.stringify(input);
  const json = cut ? whole.slice(0, Math.ceil(whole.length / 2)) : whole === "{}" ? "" : whole;
  const pieces = [...(json.match(/[\s\S]{1,12}/gu) ?? [""])];
  return {
    block: { toolUse },
    piece: {
      start: { toolUse: { toolUseId, name } },
      deltas: pieces.map((each) => ({ delta: { toolUse: { input: each } }, tokens: tokensIn(each) })),
    },
  };
}

function eventsOf({ start, deltas }: Piece, contentBlockIndex: number): readonly ConverseEvent[] {
  return [
    ...(start === undefined
      ? []
      : [{ name: "contentBlockStart", body: { start, contentBlockIndex }, tokens: 1 } as const]),
    ...deltas.map(
      ({ delta, tokens }) => ({ name: "contentBlockDelta", body: { delta, contentBlockIndex }, tokens }) as const,
    ),
    { name: "contentBlockStop", body: { contentBlockIndex }, tokens: 0 },
  ];
}

function usageOf(request: ConverseRequest, made: readonly Made[], cache: PromptCache): ConverseUsage {
  const { read, written, plain } = cache.charge(request);
  const outputTokens = made.flatMap(({ piece }) => piece.deltas).reduce((sum, { tokens }) => sum + tokens, 0);
  return {
    inputTokens: plain,
    outputTokens,
    totalTokens: plain + read + written + outputTokens,
    cacheReadInputTokens: read,
    cacheWriteInputTokens: written,
  };
}
