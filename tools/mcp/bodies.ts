import { BROKEN_STREAM, McpFailure } from "./failures.ts";

const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;
const encoder = new TextEncoder();

const tooLarge = (limit: number) =>
  new McpFailure("mcp_too_large", `the answer is larger than ${Math.floor(limit / 1024)} KB; reading it was given up`);

/** Reads a whole body, `limit` bytes at most; past that the connection is closed and `mcp_too_large` thrown. */
export async function readBounded(body: ReadableStream<Uint8Array>, limit: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  // Leaving the loop by a throw cancels the stream, which closes the connection.
  for await (const chunk of body) {
    size += chunk.byteLength;
    if (size > limit) throw tooLarge(limit);
    chunks.push(chunk);
  }
  return new TextDecoder().decode(Buffer.concat(chunks));
}

/**
 * An event stream that answers request `id`, bounded to `limit` bytes. However it ends, an error answer for `id` is its last event: the
 * SDK would otherwise wait for an answer that cannot come any more. Where the real answer came before, the SDK drops this one.
 */
export function answerStream(
  body: ReadableStream<Uint8Array>,
  id: string | number,
  limit: number,
  ended: () => void,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let size = 0;
  const end = (controller: ReadableStreamDefaultController<Uint8Array>, failure: McpFailure) => {
    const error = { code: BROKEN_STREAM, message: failure.message, data: { failure: failure.code } };
    controller.enqueue(encoder.encode(`\n\ndata: ${JSON.stringify({ jsonrpc: "2.0", id, error })}\n\n`));
    controller.close();
    ended();
  };
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) return end(controller, new McpFailure("mcp_unavailable", "the answer ended before it was complete"));
        size += value.byteLength;
        if (size <= limit) return controller.enqueue(value);
        await reader.cancel();
        return end(controller, tooLarge(limit));
      } catch (cause) {
        return end(controller, new McpFailure("mcp_unavailable", "the connection broke during the answer", { cause }));
      }
    },
    async cancel(reason) {
      ended();
      await reader.cancel(reason);
    },
  });
}

/** The server's own event stream: it may last for days, but a single event of more than `limit` bytes ends it. */
export function eventStream(body: ReadableStream<Uint8Array>, limit: number): ReadableStream<Uint8Array> {
  let size = 0;
  return body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        size = endsEvent(chunk) ? chunk.byteLength : size + chunk.byteLength;
        if (size > limit) controller.error(tooLarge(limit));
        else controller.enqueue(chunk);
      },
    }),
  );
}

/** Whether an empty line, which ends an event, lies in this chunk. */
function endsEvent(chunk: Uint8Array): boolean {
  for (let at = chunk.indexOf(LINE_FEED); at >= 0; at = chunk.indexOf(LINE_FEED, at + 1)) {
    const before = chunk[at - 1] === CARRIAGE_RETURN ? chunk[at - 2] : chunk[at - 1];
    if (before === LINE_FEED) return true;
  }
  return false;
}
