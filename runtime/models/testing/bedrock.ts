import type { ServerResponse } from "node:http";
import { EventStreamCodec } from "@smithy/core/event-streams";
import type { Model } from "../../../machines/model.ts";
import { type BedrockOptions, bedrockModel } from "../bedrock.ts";
import { counter } from "./gemini.ts";
import type { Reply } from "./server.ts";

const codec = new EventStreamCodec(
  (bytes) => Buffer.from(bytes as Uint8Array).toString("utf8"),
  (text) => Buffer.from(text, "utf8"),
);

export const bedrock = (endpoint: string, more: Partial<BedrockOptions> = {}): Model =>
  bedrockModel({
    name: "secondary",
    region: "us-east-1",
    endpoint,
    model: "us.anthropic.claude-test-v1:0",
    window: 200_000,
    stallMs: 60_000,
    credentials: { accessKeyId: "AKTEST", secretAccessKey: "SECRET-KEY" },
    newCallId: counter(),
    ...more,
  });

export type Event = readonly [name: string, body: unknown];

/** The events of a whole answer that says `text`. */
export const saying = (text: string): readonly Event[] => [
  ["messageStart", { role: "assistant" }],
  delta({ text }),
  stop("end_turn"),
];
export const delta = (body: unknown, contentBlockIndex = 0): Event => [
  "contentBlockDelta",
  { delta: body, contentBlockIndex },
];
export const toolStart = (toolUseId: string, name: string, contentBlockIndex = 0): Event => [
  "contentBlockStart",
  { start: { toolUse: { toolUseId, name } }, contentBlockIndex },
];
export const stop = (stopReason: string): Event => ["messageStop", { stopReason }];

const header = (value: string) => ({ type: "string", value }) as const;
/** A name that ends with "Exception" makes an exception of it. */
export function frames(events: readonly Event[]): Uint8Array {
  return Buffer.concat(
    events.map(([name, body]) => {
      const kind = name.endsWith("Exception") ? "exception" : "event";
      const headers = {
        [`:${kind}-type`]: header(name),
        ":content-type": header("application/json"),
        ":message-type": header(kind),
      };
      return codec.encode({ headers, body: Buffer.from(JSON.stringify(body)) });
    }),
  );
}

const TYPE = { "content-type": "application/vnd.amazon.eventstream" };

async function writeAll(response: ServerResponse, raw: Uint8Array, size: number): Promise<void> {
  response.writeHead(200, TYPE);
  response.flushHeaders();
  for (let at = 0; at < raw.length; at += size) {
    await new Promise<void>((resolve) => response.write(raw.subarray(at, at + size), () => resolve()));
  }
}

/** Streams these events, in pieces of `size` bytes, each in a write of its own. */
export const streams =
  (events: readonly Event[], { size = Number.POSITIVE_INFINITY, cutLast = 0 } = {}): Reply =>
  async (response) => {
    const raw = frames(events);
    await writeAll(response, raw.subarray(0, raw.length - cutLast), size);
    response.end();
  };

/** Streams these events, then resets the connection. */
export const streamsThenResets =
  (events: readonly Event[]): Reply =>
  async (response) => {
    await writeAll(response, frames(events), Number.POSITIVE_INFINITY);
    response.destroy();
  };

/** Streams these events, then nothing. `closed` is called when the client goes away. */
export const streamsThenHangs =
  (closed: () => void, events: readonly Event[]): Reply =>
  async (response) => {
    response.on("close", closed);
    await writeAll(response, frames(events), Number.POSITIVE_INFINITY);
  };

/** An error before the stream. */
export const refuses =
  (status: number, exception: string, message: string, headers: Readonly<Record<string, string>> = {}): Reply =>
  (response) => {
    response.writeHead(status, { "content-type": "application/json", "x-amzn-errortype": exception, ...headers });
    response.end(JSON.stringify({ message }));
  };
