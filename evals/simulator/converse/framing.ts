import { EventStreamCodec } from "@smithy/core/event-streams";

const codec = new EventStreamCodec(
  (bytes) => Buffer.from(bytes as Uint8Array).toString("utf8"),
  (text) => Buffer.from(text, "utf8"),
);

const header = (value: string) => ({ type: "string", value }) as const;

function frame(kind: "event" | "exception", name: string, body: unknown): Buffer {
  const headers = {
    [`:${kind}-type`]: header(name),
    ":content-type": header("application/json"),
    ":message-type": header(kind),
  };
  return Buffer.from(codec.encode({ headers, body: Buffer.from(JSON.stringify(body)) }));
}

/** The bytes of one event of `application/vnd.amazon.eventstream`. */
export const eventFrame = (name: string, body: unknown): Buffer => frame("event", name, body);

/** An exception in the middle of the stream; its name begins with a small letter there. */
export const exceptionFrame = (name: string, message: string): Buffer => frame("exception", name, { message });
