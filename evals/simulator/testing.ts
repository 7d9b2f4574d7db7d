import { type Content, type FunctionDeclaration, GoogleGenAI, type Part, Type } from "@google/genai";

/** A gateway's way of putting the API under a path of its own. */
export const PREFIX = "/v1/acct/gw/google-ai-studio";

export const TOOLS: FunctionDeclaration[] = [
  {
    name: "interaction_check",
    parameters: { type: Type.OBJECT, properties: { items: { type: Type.ARRAY, items: { type: Type.STRING } } } },
  },
  { name: "lab_tests", parameters: { type: Type.OBJECT, properties: { query: { type: Type.STRING } } } },
];

/** The real SDK client, pointed at a simulator under a gateway's path. Its own retries are off. */
export function sdk(url: string, headers: Record<string, string> = {}): GoogleGenAI {
  return new GoogleGenAI({
    apiKey: "test",
    httpOptions: { baseUrl: `${url}${PREFIX}`, headers, retryOptions: { attempts: 1 } },
  });
}

export type Streamed = {
  readonly parts: readonly Part[];
  readonly text: string;
  readonly finish: readonly string[];
  readonly events: number;
};

/** Streams one answer through the SDK and gathers it. Rejects as the SDK does. */
export async function stream(
  client: GoogleGenAI,
  contents: Content[],
  more: { readonly model?: string; readonly thoughts?: boolean; readonly signal?: AbortSignal } = {},
): Promise<Streamed> {
  const answer = await client.models.generateContentStream({
    model: more.model ?? "sim-1",
    contents,
    config: {
      tools: [{ functionDeclarations: TOOLS }],
      ...(more.thoughts === true ? { thinkingConfig: { includeThoughts: true } } : {}),
      ...(more.signal === undefined ? {} : { abortSignal: more.signal }),
    },
  });
  const parts: Part[] = [];
  const finish: string[] = [];
  let events = 0;
  for await (const event of answer) {
    events += 1;
    parts.push(...(event.candidates?.[0]?.content?.parts ?? []));
    const reason = event.candidates?.[0]?.finishReason;
    if (reason !== undefined) finish.push(reason);
  }
  const text = parts.map((part) => (part.thought === true ? "" : (part.text ?? ""))).join("");
  return { parts, text, finish, events };
}

export const user = (...texts: string[]): Content => ({ role: "user", parts: texts.map((text) => ({ text })) });
