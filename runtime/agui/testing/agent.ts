import { HttpAgent } from "@ag-ui/client";
import { EventSchema } from "@ag-ui/core/schemas";
import type { AguiEvent, ForeignMessage } from "../events.ts";

/** The form of `HttpAgent`'s messages that tests look at. */
export type Held = { readonly id: string; readonly role: string; readonly content?: unknown };

/** What an event would lose in a client that knows only the protocol. */
export function check(event: AguiEvent): void {
  const read: unknown = EventSchema.parse(JSON.parse(JSON.stringify(event)));
  if (JSON.stringify(sorted(read)) !== JSON.stringify(sorted(event)))
    throw new Error(`${event.type} holds more than the protocol knows: ${JSON.stringify(event)}`);
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, one]) => one !== undefined)
      .sort(([a], [b]) => a.localeCompare(b))
      .map(([name, one]) => [name, sorted(one)]),
  );
}

/** The protocol's own client, whose runs are answered by `answer` instead of a server. */
export function agentOver(answer: (messages: readonly ForeignMessage[]) => readonly AguiEvent[]): HttpAgent {
  return new HttpAgent({
    url: "http://nowhere.example/v1/agui",
    threadId: "thread",
    fetch: async (_url, init) => {
      const { messages } = JSON.parse(String(init.body)) as { messages: ForeignMessage[] };
      const body = answer(messages).map((event) => `data: ${JSON.stringify(event)}\n\n`);
      return new Response(body.join(""), { headers: { "content-type": "text/event-stream" } });
    },
  });
}
