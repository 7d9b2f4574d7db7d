import type { Conversation, Message, UserPart } from "../brain/conversation.ts";
import { declarations, type GeminiContent, type GeminiPart, type GeminiRequest } from "./wire.ts";

/** Reads a valid Gemini request as a conversation. Signatures, thoughts and ids stay behind: the brain needs none. */
export function conversationOf(request: GeminiRequest): Conversation {
  return {
    system: (request.systemInstruction?.parts ?? []).map((part) => part.text ?? "").join("\n"),
    tools: callableTools(request),
    messages: (request.contents ?? []).map(messageOf),
  };
}

function callableTools(request: GeminiRequest): readonly string[] {
  const names = declarations(request).map(({ name }) => name);
  const { mode, allowedFunctionNames: allowed } = request.toolConfig?.functionCallingConfig ?? {};
  if (mode === "NONE") return [];
  return allowed === undefined ? names : names.filter((name) => allowed.includes(name));
}

function messageOf({ role, parts = [] }: GeminiContent): Message {
  if (role === "user") return { from: "user", parts: parts.flatMap(userPartOf) };
  return {
    from: "model",
    text: parts.map((part) => (part.thought === true ? "" : (part.text ?? ""))).join(""),
    calls: parts.flatMap(({ functionCall: call }) =>
      call === undefined ? [] : [{ tool: call.name, args: call.args ?? {} }],
    ),
  };
}

function userPartOf(part: GeminiPart): readonly UserPart[] {
  if (part.functionResponse !== undefined) {
    const { name, response = {} } = part.functionResponse;
    const error = response["error"];
    return [
      {
        kind: "result",
        tool: name,
        output: response["output"] ?? response["result"] ?? response,
        error: error === undefined || error === null ? null : typeof error === "string" ? error : JSON.stringify(error),
      },
    ];
  }
  if (part.inlineData !== undefined) {
    const { mimeType = "", data = "" } = part.inlineData;
    return [{ kind: "file", mime: mimeType, bytes: Buffer.byteLength(data, "base64"), sent: true }];
  }
  return part.text === undefined || part.text.trim() === "" ? [] : [{ kind: "text", text: part.text }];
}
