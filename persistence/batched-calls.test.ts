import { expect, test } from "vitest";
import type { Clock } from "../machines/effects.ts";
import { sessionId, turnId } from "../machines/ids.ts";
import { batchedCalls } from "./batched-calls.ts";
import type { ModelCallRow } from "./store.ts";

const row = (step: number): ModelCallRow => ({
  sessionId: sessionId("00000000-0000-4000-8000-000000000001"),
  turnId: turnId("00000000-0000-4000-8000-000000000002"),
  step,
  attempt: 1,
  profile: "p",
  issuer: "i",
  outcome: "ok",
  usage: { input: 0, output: 0, thinking: 0, cached: 0 },
  ms: 1,
  projector: 1,
});

function scene(whenStored = Promise.resolve()) {
  const stored: number[][] = [];
  let ring = () => {};
  const clock: Clock = {
    now: () => 0,
    monotonic: () => 0,
    every: () => () => undefined,
    soon: () => {},
    sleep: (_ms, signal) =>
      new Promise((resolve, reject) => {
        ring = resolve;
        signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
      }),
  };
  const record = async (rows: readonly ModelCallRow[]) => {
    await whenStored;
    stored.push(rows.map(({ step }) => step));
  };
  const calls = batchedCalls({ record }, clock);
  return { stored, calls, later: () => ring() };
}

test("[BC1] rows of a while go in one statement, and the next ones in another", async () => {
  const { stored, calls, later } = scene();
  await calls.record([row(1)]);
  await calls.record([row(2), row(3)]);
  expect(stored).toEqual([]);
  later();
  await expect.poll(() => stored).toEqual([[1, 2, 3]]);
  await calls.record([row(4)]);
  await calls.flush();
  expect(stored).toEqual([[1, 2, 3], [4]]);
});

test("[BC2] a flush with nothing to store stores nothing; many rows do not wait", async () => {
  const { stored, calls } = scene();
  await calls.flush();
  await calls.record(Array.from({ length: 500 }, (_, step) => row(step)));
  await expect.poll(() => stored.map((rows) => rows.length)).toEqual([500]);
});

test("[BC3] a flush waits for rows that are on their way already", async () => {
  let answer = () => {};
  const { stored, calls, later } = scene(
    new Promise((resolve) => {
      answer = resolve;
    }),
  );
  await calls.record([row(1)]);
  later();
  // Sent, and not answered.
  await new Promise(setImmediate);
  const flushed = calls.flush().then(() => stored.flat().length);
  await new Promise(setImmediate);
  answer();
  expect(await flushed).toBe(1);
});
