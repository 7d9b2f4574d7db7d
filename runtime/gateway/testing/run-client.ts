import type { AguiEvent } from "../../agui/events.ts";
import { check } from "../../agui/testing/agent.ts";
import type { Stage } from "./stage.ts";

export type RunOptions = {
  readonly user?: string;
  readonly origin?: string | undefined;
  readonly contentType?: string;
  readonly signal?: AbortSignal;
};

/** A run input with what a test does not care about filled in. */
export const inputOf = (changes: Readonly<Record<string, unknown>> = {}) => ({
  threadId: "thread-1",
  runId: "run-1",
  messages: [{ id: "u1", role: "user", content: "hello" }],
  tools: [],
  context: [],
  ...changes,
});

export function post(stage: Stage, body: unknown, options: RunOptions = {}): Promise<Response> {
  const { user = "rivera", contentType = "application/json", signal } = options;
  const origin = "origin" in options ? options.origin : stage.origin;
  return fetch(`${stage.gateway.url}/v1/agui`, {
    method: "POST",
    headers: { cookie: `user=${user}`, "content-type": contentType, ...(origin !== undefined && { origin }) },
    body: typeof body === "string" ? body : JSON.stringify(body),
    ...(signal && { signal }),
  });
}

/** Status and error code of a refusal. */
export async function refusalOf(response: Response): Promise<readonly [status: number, code: string]> {
  const { error } = (await response.json()) as { error: { code: string } };
  return [response.status, error.code];
}

export interface RunReader {
  /** The next event; undefined when the response has ended. Each is checked against the protocol. */
  next(): Promise<AguiEvent | undefined>;
  /** The next comment line. */
  comment(): Promise<string>;
  /** All events that are left. */
  rest(): Promise<readonly AguiEvent[]>;
}

/** Reads a response's frames one by one. */
export function reading(response: Response): RunReader {
  if (response.status !== 200 || response.headers.get("content-type") !== "text/event-stream" || !response.body)
    throw new Error(`not a stream: ${response.status}`);
  const chunks = response.body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  const frame = async (): Promise<string | undefined> => {
    for (;;) {
      const end = text.indexOf("\n\n");
      if (end >= 0) {
        const whole = text.slice(0, end);
        text = text.slice(end + 2);
        return whole;
      }
      const { done, value } = await chunks.read();
      if (done) return undefined;
      text += decoder.decode(value, { stream: true });
    }
  };
  const reader: RunReader = {
    async next() {
      for (;;) {
        const one = await frame();
        if (one === undefined) return undefined;
        if (!one.startsWith("data: ")) continue;
        const event = JSON.parse(one.slice(6)) as AguiEvent;
        check(event);
        return event;
      }
    },
    async comment() {
      for (;;) {
        const one = await frame();
        if (one === undefined) throw new Error("ended");
        if (one.startsWith(":")) return one;
      }
    },
    async rest() {
      const events: AguiEvent[] = [];
      for (let event = await reader.next(); event !== undefined; event = await reader.next()) events.push(event);
      return events;
    },
  };
  return reader;
}
