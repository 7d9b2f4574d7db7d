import { LONE_DOCUMENT } from "../../../machines/conversation/bedrock-media.ts";
import { INERT_TOOL } from "../../../machines/conversation/schema-bedrock.ts";
import type { Conversation, Message, UserPart } from "../brain/conversation.ts";
import {
  type ConverseBlock,
  type ConverseMessage,
  type ConverseRequest,
  MIME_TYPES,
  resultsIn,
  toolSpecs,
  usesIn,
} from "./wire.ts";

/** Reads a valid Converse request as a conversation. Reasoning, ids and cache points stay behind: the brain needs none. */
export function converseConversation(request: ConverseRequest): Conversation {
  const { messages = [], system = [] } = request;
  return {
    system: system.flatMap(({ text }) => text ?? []).join("\n"),
    // A tool that says that it is none can't be called.
    tools: toolSpecs(request).flatMap(({ name }) => (name === INERT_TOOL ? [] : [name])),
    messages: messages.map((message, at) => messageOf(message, messages[at - 1])),
  };
}

function messageOf(message: ConverseMessage, before: ConverseMessage | undefined): Message {
  const texts = message.content.flatMap(({ text }) => text ?? []);
  if (message.role === "user") {
    return { from: "user", parts: [...resultsOf(message, before), ...message.content.flatMap(saidOf)] };
  }
  return {
    from: "model",
    text: texts.join(""),
    calls: usesIn(message).map(({ name, input }) => ({ tool: name, args: input as Readonly<Record<string, unknown>> })),
  };
}

/** What the user says in a block. The filler beside a lone document is nobody's words. */
function saidOf({ text, image, document }: ConverseBlock): readonly UserPart[] {
  const file = image ?? document;
  if (file !== undefined) {
    const bytes = Buffer.byteLength(file.source.bytes ?? "", "base64");
    return [{ kind: "file", mime: MIME_TYPES[file.format] ?? file.format, bytes, sent: true }];
  }
  return text === undefined || text === LONE_DOCUMENT ? [] : [{ kind: "text", text }];
}

function resultsOf(message: ConverseMessage, before: ConverseMessage | undefined): readonly UserPart[] {
  const results = resultsIn(message);
  return usesIn(before).flatMap(({ toolUseId, name }): readonly UserPart[] => {
    const result = results.find((each) => each.toolUseId === toolUseId);
    if (result === undefined) return [];
    const [json] = result.content.flatMap((each) => each.json ?? []);
    const text = result.content.flatMap((each) => each.text ?? []).join("");
    const error = result.status === "error" ? text : null;
    return [{ kind: "result", tool: name, output: json ?? text, error }];
  });
}
