import type { ContentBlock, Message } from "@aws-sdk/client-bedrock-runtime";
import type { BedrockProjection } from "../project-bedrock.ts";

const LEGAL = /^[A-Za-z0-9_-]{1,64}$/;
const uses = (message: Message | undefined) => (message?.content ?? []).flatMap(({ toolUse }) => toolUse ?? []);
const results = (message: Message | undefined) =>
  (message?.content ?? []).flatMap(({ toolResult }) => toolResult ?? []);
const isBlank = (text: string | undefined): boolean => text === undefined || text.trim() === "";
const kindOf = (block: ContentBlock | undefined): string => Object.keys(block ?? {})[0] ?? "none";

/** What Converse refuses, as CASES.md lists it for the strict stub. Empty: the request is valid. */
export function converseProblems(request: BedrockProjection): string[] {
  const { system, messages, toolConfig, additionalModelRequestFields: fields } = request;
  const found: string[] = [];
  if (messages[0]?.role !== "user") found.push("does not begin with the user");
  if (messages.at(-1)?.role !== "user") found.push("does not end with the user");
  if (system.some(({ text, cachePoint }) => cachePoint === undefined && isBlank(text))) found.push("blank system");
  found.push(...messages.flatMap((message, at) => messageProblems(message, messages[at - 1], messages[at + 1], at)));
  const ids = messages.flatMap((message) => uses(message).map(({ toolUseId }) => toolUseId));
  if (new Set(ids).size < ids.length) found.push("an id twice");
  const names = [
    ...messages.flatMap((message) => uses(message).map(({ name }) => name)),
    ...(toolConfig?.tools ?? []).flatMap(({ toolSpec }) => toolSpec?.name ?? []),
  ];
  if (![...ids, ...names].every((text) => LEGAL.test(text ?? ""))) found.push("an illegal id or name");
  if (ids.length > 0 && (toolConfig?.tools ?? []).length === 0) found.push("calls without tools");
  const points = [...system, ...(toolConfig?.tools ?? []), ...messages.flatMap(({ content }) => content ?? [])];
  if (points.filter(({ cachePoint }) => cachePoint !== undefined).length > 4) found.push("over four cache points");
  if (!JSON.stringify(messages).isWellFormed() || /(?<!\\)(?:\\\\)*\\ud[89a-f]/.test(JSON.stringify(messages)))
    found.push("lone surrogate");
  found.push(...thinkingProblems(messages, fields?.thinking !== undefined));
  return found;
}

function messageProblems(message: Message, before: Message | undefined, after: Message | undefined, at: number) {
  const { role, content = [] } = message;
  const found: string[] = [];
  if (role === before?.role) found.push(`${at}: same role as before`);
  if (content.length === 0) found.push(`${at}: empty`);
  if (content.some((block) => "text" in block && isBlank(block.text))) found.push(`${at}: blank text`);
  const asked = uses(message).map(({ toolUseId }) => toolUseId);
  const given = role === "assistant" ? (after?.content ?? []).slice(0, asked.length) : [];
  if (given.some(({ toolResult }, index) => toolResult?.toolUseId !== asked[index])) found.push(`${at}: not answered`);
  if (role === "assistant" && results(after).length !== asked.length) found.push(`${at}: other results`);
  if (results(message).some(({ content: said = [] }) => said.length !== 1 || isBlank(said[0]?.text)))
    found.push(`${at}: blank result`);
  const lastReasoning = content.findLastIndex(({ reasoningContent }) => reasoningContent !== undefined);
  const firstUse = content.findIndex(({ toolUse }) => toolUse !== undefined);
  if (lastReasoning === content.length - 1) found.push(`${at}: ends with reasoning`);
  if (firstUse >= 0 && lastReasoning > firstUse) found.push(`${at}: reasoning after a call`);
  if (lastReasoning >= 0 && (role === "user" || content[0]?.reasoningContent === undefined))
    found.push(`${at}: reasoning is not first`);
  if (
    content.some(
      ({ cachePoint }, index) => cachePoint !== undefined && kindOf(content[index - 1]) === "reasoningContent",
    )
  )
    found.push(`${at}: cache point after reasoning`);
  return found;
}

function thinkingProblems(messages: readonly Message[], on: boolean): string[] {
  const start = messages.findLastIndex((message) => message.role === "user" && results(message).length === 0);
  const open = messages.slice(start + 1).filter(({ role }) => role === "assistant");
  const reasons = open.map(({ content }) => content?.some(({ reasoningContent }) => reasoningContent !== undefined));
  if (open.length === 0) return [];
  if (on) return reasons[0] === true ? [] : ["thinking goes on without reasoning"];
  return reasons.includes(true) ? ["reasoning in the open step without thinking"] : [];
}
