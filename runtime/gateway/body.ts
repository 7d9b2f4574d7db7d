import { Failure } from "../../machines/failure.ts";
import { Refused } from "../sessions/conversations.ts";
import type { HttpRequest, HttpResponse } from "./uws.ts";

/** The client went away before its body was whole: there is nobody to answer. */
export class BodyAborted extends Failure {
  readonly code = "aborted";
  readonly retryable = false;
}

/** The body of a request. It stays in the network until it is asked for. */
export interface IncomingBody {
  /**
   * The whole body; once only. Rejects with `Refused` (`too_large`) as soon as more than `limit` bytes came or are
   * announced, and with `BodyAborted` when the client has gone.
   */
  read(limit: number): Promise<Uint8Array>;
  /** What still comes is thrown away. Call before the answer is written. */
  discard(): void;
  /** The client has gone. */
  aborted(): void;
}

/** Takes hold of a body. Call before the first `await`: later the native layer has thrown it away. */
export function incomingBody(res: HttpResponse, req: HttpRequest): IncomingBody {
  const announced = Number(req.getHeader("content-length") || 0);
  const chunks: Uint8Array[] = [];
  let received = 0;
  let limit = Number.POSITIVE_INFINITY;
  let state: "held" | "reading" | "over" = "held";
  let isWhole = false;
  let reader: { resolve(bytes: Uint8Array): void; reject(error: unknown): void } | undefined;

  const flow = (): void => {
    if (state === "held") res.resume();
    state = "reading";
  };
  const end = (): void => {
    state = "over";
    reader?.resolve(Buffer.concat(chunks));
    chunks.length = 0;
  };
  const fail = (error: unknown): void => {
    state = "over";
    reader?.reject(error);
    chunks.length = 0;
  };
  const tooLarge = (): void => fail(new Refused("too_large", `at most ${limit} bytes are taken`));

  res.onData((chunk, isLast) => {
    if (state === "over") return;
    received += chunk.byteLength;
    isWhole = isLast;
    if (received > limit) return tooLarge();
    // The native layer takes the memory back after this call.
    chunks.push(new Uint8Array(chunk.slice(0)));
    if (isWhole && state === "reading") end();
  });
  // What came along with the head is all that is held meanwhile.
  res.pause();

  return {
    read: (most) =>
      new Promise((resolve, reject) => {
        reader = { resolve, reject };
        if (state === "over") return fail(new BodyAborted("the client has gone"));
        limit = most;
        flow();
        if (Math.max(announced, received) > limit) tooLarge();
        else if (isWhole) end();
      }),
    discard() {
      if (state !== "over") flow();
      fail(new BodyAborted("nobody wants it"));
    },
    aborted: () => fail(new BodyAborted("the client has gone")),
  };
}
