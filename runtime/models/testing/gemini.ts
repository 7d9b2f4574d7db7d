import { user } from "../../../machines/conversation/testing/build.ts";
import { type CallId, callId } from "../../../machines/ids.ts";
import type { Model, ModelEvent, ModelRequest, ToolDeclaration } from "../../../machines/model.ts";
import { type GeminiOptions, geminiModel } from "../gemini.ts";

/** `our-1`, `our-2`, … */
export function counter(): () => CallId {
  let made = 0;
  return () => callId(`our-${++made}`);
}

const ROUTE = {
  name: "primary",
  issuer: "gemini-api",
  headers: {},
  model: "gemini-test",
  window: 100_000,
  stallMs: 60_000,
} as const;

export const gemini = (baseUrl: string, more: Partial<GeminiOptions> = {}): Model =>
  geminiModel({ ...ROUTE, apiKey: "k-1", baseUrl, newCallId: counter(), ...more });

/** A route whose gateway holds the key. */
export const geminiWithoutKey = (baseUrl: string, headers: Readonly<Record<string, string>>): Model =>
  geminiModel({ ...ROUTE, baseUrl, newCallId: counter(), headers });

export const asking = (tools: readonly ToolDeclaration[] = []): ModelRequest => ({
  system: "be brief",
  tools,
  entries: [user("hi")],
  maxOutputTokens: 500,
  thinking: false,
});

/** Everything that a call streams. */
export async function allOf(
  model: Model,
  request: ModelRequest = asking(),
  signal: AbortSignal = new AbortController().signal,
): Promise<ModelEvent[]> {
  const events: ModelEvent[] = [];
  for await (const event of model.stream(request, signal)) events.push(event);
  return events;
}

/** How a call fails, as a plain value. */
export async function failureOf(running: Promise<unknown>): Promise<unknown> {
  return await running.then(
    () => "no failure",
    (error: unknown) => error,
  );
}
