import { firstOf, inBlocks, type Rule } from "./rule.ts";

/** What the service holds for blank: control characters, too. */
export const isBlank = (text: string): boolean => /^[\s\p{Cc}]*$/u.test(text);

export const messagesGiven: Rule = ({ messages = [] }) =>
  messages.length === 0 ? "messages: a conversation must have at least one message" : undefined;

export const rolesKnown: Rule = ({ messages = [] }) =>
  firstOf(messages, ({ role }, at) =>
    role === "user" || role === "assistant" ? undefined : `messages.${at}.role: must be user or assistant`,
  );

export const startsWithUser: Rule = ({ messages = [] }) =>
  messages[0]?.role === "user" ? undefined : "messages.0: a conversation must start with a user message";

export const endsWithUser: Rule = ({ messages = [] }) =>
  messages.at(-1)?.role === "user" ? undefined : "messages: the model does not go on with an assistant message";

export const rolesAlternate: Rule = ({ messages = [] }) =>
  firstOf(messages, ({ role }, at) =>
    at > 0 && messages[at - 1]?.role === role
      ? `messages.${at}: roles must alternate between user and assistant`
      : undefined,
  );

export const contentGiven: Rule = ({ messages = [] }) =>
  firstOf(messages, ({ content }, at) =>
    content.length === 0 ? `messages.${at}: the content field is empty` : undefined,
  );

const MEMBERS = ["text", "toolUse", "toolResult", "reasoningContent", "cachePoint", "image", "document"] as const;

export const blocksAreUnions: Rule = (request) =>
  inBlocks(request, (block) => {
    const given = Object.keys(block).filter((key) => block[key] !== undefined);
    if (given.length !== 1) return "a content block must have exactly one member";
    return (MEMBERS as readonly string[]).includes(given[0] ?? "") ? undefined : "unknown member of a content block";
  });

export const blocksFitRole: Rule = (request) =>
  inBlocks(request, ({ toolUse, toolResult, reasoningContent }, role) => {
    if (role === "user" && toolUse !== undefined) return "toolUse is allowed in an assistant message only";
    if (role === "user" && reasoningContent !== undefined)
      return "reasoningContent is allowed in an assistant message only";
    if (role === "assistant" && toolResult !== undefined) return "toolResult is allowed in a user message only";
    return undefined;
  });

export const textNotBlank: Rule = (request) =>
  inBlocks(request, ({ text }) =>
    text !== undefined && isBlank(text) ? "the text field is blank, add text and try again" : undefined,
  );

export const systemNotBlank: Rule = ({ system = [] }) =>
  firstOf(system, ({ text, cachePoint }, at) => {
    if (cachePoint !== undefined && text === undefined) return undefined;
    return text === undefined || isBlank(text)
      ? `system.${at}: the text field is blank, add text and try again`
      : undefined;
  });

/** A lone surrogate leaves `JSON.stringify` as an escape of its own. */
const LONE_SURROGATE = /(?<!\\)(?:\\\\)*\\ud[89a-f]/;

export const textWellFormed: Rule = (request) =>
  LONE_SURROGATE.test(JSON.stringify(request)) ? "the body holds a lone surrogate" : undefined;
