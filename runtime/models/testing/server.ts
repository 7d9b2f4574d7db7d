import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** What the server got. */
export type Received = { readonly url: string; readonly headers: IncomingHttpHeaders; readonly body: unknown };

/** How it answers one request; resolves when it wants to send nothing more. */
export type Reply = (response: ServerResponse) => void | Promise<void>;

export type ModelServer = {
  /** Without a slash at its end. */
  readonly url: string;
  readonly received: readonly Received[];
  close(): Promise<void>;
};

/** A server on 127.0.0.1 that gives `replies` in their order and repeats the last one. */
export async function modelServer(...replies: readonly [Reply, ...Reply[]]): Promise<ModelServer> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const reply = replies[Math.min(received.length, replies.length - 1)] ?? replies[0];
      const body = Buffer.concat(chunks).toString("utf8");
      received.push({
        url: request.url ?? "",
        headers: request.headers,
        body: body === "" ? undefined : JSON.parse(body),
      });
      void reply(response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    received,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

const SSE = { "content-type": "text/event-stream" };

/** Sends `bytes` as an event stream, in pieces of `size`, each in a write of its own. */
export const bytes =
  (raw: Uint8Array, size = raw.length): Reply =>
  async (response) => {
    response.writeHead(200, SSE);
    for (let at = 0; at < raw.length; at += size) {
      await new Promise<void>((resolve) => response.write(raw.subarray(at, at + size), () => resolve()));
    }
    response.end();
  };

export const sse = (...events: readonly unknown[]): Uint8Array =>
  Buffer.from(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""));

export const events = (...list: readonly unknown[]): Reply => bytes(sse(...list));

/** An answer without a stream. */
export const answers =
  (
    status: number,
    body: string,
    headers: Readonly<Record<string, string>> = { "content-type": "application/json" },
  ): Reply =>
  (response) => {
    response.writeHead(status, headers);
    response.end(body);
  };

/** Sends these events, then resets the connection. */
export const breaks =
  (...list: readonly unknown[]): Reply =>
  (response) => {
    response.writeHead(200, SSE);
    response.write(sse(...list), () => response.destroy());
  };

/** Sends these events, then nothing. `closed` is called when the client goes away. */
export const goesSilent =
  (closed: () => void, ...list: readonly unknown[]): Reply =>
  (response) => {
    response.on("close", closed);
    response.writeHead(200, SSE);
    response.write(list.length === 0 ? ": hello\n\n" : sse(...list));
  };

/** One chunk of Gemini: parts, and how the answer ended if it did. */
export const chunk = (parts: readonly unknown[], finishReason?: string, more: object = {}) => ({
  candidates: [{ content: { role: "model", parts }, ...(finishReason !== undefined && { finishReason }) }],
  ...more,
});
