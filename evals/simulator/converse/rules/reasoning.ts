import type { ConverseBlock } from "../wire.ts";
import { openStep, thinks, usesIn } from "../wire.ts";
import { firstOf, inBlocks, type Rule } from "./rule.ts";

const isReasoning = ({ reasoningContent }: ConverseBlock): boolean => reasoningContent !== undefined;

export const reasoningSigned: Rule = (request) =>
  inBlocks(request, ({ reasoningContent }) => {
    if (reasoningContent === undefined || reasoningContent.redactedContent !== undefined) return undefined;
    const signature = reasoningContent.reasoningText?.signature;
    return signature === undefined || signature === "" ? "reasoningText.signature: field required" : undefined;
  });

const checked =
  (which: "foreign" | "changed", words: string): Rule =>
  (request, signer) =>
    inBlocks(request, ({ reasoningContent }) => {
      if (reasoningContent === undefined) return undefined;
      const { reasoningText: told, redactedContent: sealed } = reasoningContent;
      const found =
        sealed === undefined ? signer.checkSigned(told?.text ?? "", told?.signature ?? "") : signer.checkSealed(sealed);
      return found === which ? words : undefined;
    });

export const signatureGenuine = checked("foreign", "invalid signature in reasoning block");
export const reasoningUnchanged = checked("changed", "reasoning blocks cannot be modified");

export const reasoningFirst: Rule = (request) =>
  inBlocks(request, (block, _role, _at, all) => {
    if (!isReasoning(block)) return undefined;
    return all[0] !== undefined && isReasoning(all[0]) ? undefined : "reasoning must begin its message";
  });

export const reasoningBeforeCalls: Rule = (request) =>
  inBlocks(request, (block, _role, index, all) =>
    isReasoning(block) && all.slice(0, index).some(({ toolUse }) => toolUse !== undefined)
      ? "reasoning must precede the toolUse it came with"
      : undefined,
  );

export const reasoningNotLast: Rule = ({ messages = [] }) =>
  firstOf(messages, ({ role, content }, at) => {
    const last = content.at(-1);
    return role === "assistant" && last !== undefined && isReasoning(last)
      ? `messages.${at}: the final block of an assistant message cannot be reasoning`
      : undefined;
  });

/** Calls that this service named tell which answer they came from; reasoning of another one has been moved to them. */
export const reasoningAtHome: Rule = ({ messages = [] }, signer) =>
  firstOf(messages, (message, at) => {
    const answers = usesIn(message).flatMap(({ toolUseId }) => signer.originOf(toolUseId)?.answer ?? []);
    if (answers.length === 0) return undefined;
    return firstOf(message.content, ({ reasoningContent }, index) => {
      if (reasoningContent === undefined) return undefined;
      const { reasoningText: told, redactedContent: sealed } = reasoningContent;
      const origin =
        sealed === undefined ? signer.checkSigned(told?.text ?? "", told?.signature ?? "") : signer.checkSealed(sealed);
      return typeof origin === "object" && !answers.includes(origin.answer)
        ? `messages.${at}.content.${index}: reasoning stands with toolUse blocks of another answer`
        : undefined;
    });
  });

export const openStepReasoned: Rule = (request) => {
  const [first] = openStep(request);
  if (!thinks(request) || first === undefined || first.message.content.some(isReasoning)) return undefined;
  return `messages.${first.at}.content.0.type: expected reasoning; when thinking is enabled, a final assistant message must start with it`;
};

export const openStepWithoutThinking: Rule = (request) => {
  if (thinks(request)) return undefined;
  return firstOf(openStep(request), ({ message, at }) =>
    message.content.some(isReasoning)
      ? `messages.${at}: when thinking is disabled, a final assistant message cannot contain reasoning`
      : undefined,
  );
};

export const thinkingFits: Rule = ({ additionalModelRequestFields: fields, inferenceConfig }) => {
  const thinking = fields?.thinking;
  if (thinking?.type !== "enabled") return undefined;
  const { budget_tokens: budget } = thinking;
  if (budget === undefined || budget < 1_024) return "thinking.budget_tokens: must be at least 1024";
  return budget >= (inferenceConfig?.maxTokens ?? Number.POSITIVE_INFINITY)
    ? "thinking.budget_tokens: must be less than max_tokens"
    : undefined;
};
