import { resultsIn, usesIn } from "../wire.ts";
import { isBlank } from "./messages.ts";
import { firstOf, inBlocks, type Rule } from "./rule.ts";

const LEGAL = /^[A-Za-z0-9_-]{1,64}$/;

export const idsLegal: Rule = (request) =>
  inBlocks(request, ({ toolUse, toolResult }) => {
    const id = toolUse?.toolUseId ?? toolResult?.toolUseId;
    return id === undefined || LEGAL.test(id) ? undefined : "toolUseId must match [a-zA-Z0-9_-]{1,64}";
  });

export const idsUnique: Rule = ({ messages = [] }) => {
  const ids = messages.flatMap((message) => usesIn(message).map(({ toolUseId }) => toolUseId));
  return new Set(ids).size < ids.length ? "messages: toolUse ids must be unique" : undefined;
};

export const usedNamesLegal: Rule = (request) =>
  inBlocks(request, ({ toolUse }) =>
    toolUse === undefined || LEGAL.test(toolUse.name) ? undefined : "toolUse.name must match [a-zA-Z0-9_-]{1,64}",
  );

export const inputIsObject: Rule = (request) =>
  inBlocks(request, ({ toolUse }) =>
    toolUse === undefined ||
    (typeof toolUse.input === "object" && toolUse.input !== null && !Array.isArray(toolUse.input))
      ? undefined
      : "toolUse.input must be an object",
  );

/** The results of a message's calls open the next message, all of them and before anything else. */
export const callsAnswered: Rule = ({ messages = [] }) =>
  firstOf(messages, (message, at) => {
    const wanted = usesIn(message).map(({ toolUseId }) => toolUseId);
    const head = (messages[at + 1]?.content ?? []).slice(0, wanted.length);
    const given = new Set(head.map(({ toolResult }) => toolResult?.toolUseId));
    return wanted.every((id) => given.has(id))
      ? undefined
      : `messages.${at + 1}: expected toolResult blocks at its beginning for all ${wanted.length} toolUse blocks of messages.${at}`;
  });

export const resultsAsked: Rule = ({ messages = [] }) =>
  firstOf(messages, (message, at) => {
    const asked = usesIn(messages[at - 1]).map(({ toolUseId }) => toolUseId);
    const given = resultsIn(message).map(({ toolUseId }) => toolUseId);
    if (given.some((id) => !asked.includes(id)))
      return `messages.${at}: a toolResult has no toolUse in the message before`;
    return new Set(given).size < given.length ? `messages.${at}: two toolResult blocks for one toolUse` : undefined;
  });

export const resultsSayWhy: Rule = (request) =>
  inBlocks(request, ({ toolResult }) => {
    if (toolResult === undefined) return undefined;
    const { content, status } = toolResult;
    if (content.some(({ text }) => text !== undefined && isBlank(text))) return "the text of a toolResult is blank";
    return status === "error" && content.length === 0 ? "content is required when the status is error" : undefined;
  });

export const toolsDeclared: Rule = ({ messages = [], toolConfig }) => {
  const traffic = messages.some((message) => usesIn(message).length + resultsIn(message).length > 0);
  return traffic && toolConfig === undefined
    ? "toolConfig must be defined when using toolUse and toolResult content blocks"
    : undefined;
};
