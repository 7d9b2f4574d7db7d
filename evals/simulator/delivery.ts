import type { ServerResponse } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import type { Knobs } from "./knobs.ts";

/** Waits; rejects when `signal` aborts. Tests hand in one that only notes the wait. */
export type Pause = (ms: number, signal: AbortSignal) => Promise<void>;

export const realPause: Pause = (ms, signal) => wait(ms, undefined, { signal });

/** The client went away or the simulator closes. */
export const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });

/** The bytes of one server-sent event under the framing knobs. */
export function frame(data: unknown, knobs: Knobs, last: boolean): Buffer {
  const { lineEnd: end } = knobs;
  const comment = knobs.keepAlive ? `: keep-alive${end}${end}` : "";
  const tail = last && !knobs.lastBlankLine ? "" : `${end}${end}`;
  return Buffer.from(`${comment}data: ${JSON.stringify(data)}${tail}`);
}

/** Writes `bytes` in one piece, or in pieces of `cutBytes` that leave as separate writes. */
export async function write(response: ServerResponse, bytes: Buffer, cutBytes: number | null): Promise<void> {
  for (let at = 0; at < bytes.length; at += cutBytes ?? bytes.length) {
    if (response.destroyed) return;
    await new Promise<void>((done) =>
      response.write(bytes.subarray(at, at + (cutBytes ?? bytes.length)), () => done()),
    );
  }
}
