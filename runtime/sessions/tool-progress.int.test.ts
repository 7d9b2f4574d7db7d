import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { Clock } from "../../machines/effects.ts";
import type { ToolContext, ToolProgress } from "../../tools/tool.ts";
import { realClock } from "../effects.ts";
import { calls, says, scriptedModel } from "../models/scripted.ts";
import { gate } from "./testing/held.ts";
import { sessionOn, turnsOf } from "./testing/looks.ts";
import { database } from "./testing/scene.ts";

let db: Awaited<ReturnType<typeof database>>;
beforeAll(async () => {
  db = await database();
});
afterAll(() => db.end());

const PAUSE_MS = 500;

/** A session whose tool reports what the test says. The pauses between two signals end when the test says so. */
async function scene() {
  const pauses: (() => void)[] = [];
  const clock: Clock = {
    ...realClock,
    sleep(ms, signal) {
      if (ms !== PAUSE_MS) return realClock.sleep(ms, signal);
      return new Promise((resolve, reject) => {
        pauses.push(resolve);
        signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
      });
    },
  };
  const [called, answered] = [gate(), gate()];
  let context: ToolContext | undefined;
  const tool = {
    name: "works",
    run: async (_: unknown, __: string, ___: AbortSignal, own: ToolContext) => {
      context = own;
      called.open();
      await answered.opened;
      return { kind: "ok" as const, text: "done" };
    },
  };
  const one = await sessionOn(db.store, { model: scriptedModel(calls("works"), says("ready")), tools: [tool], clock });
  await one.client.say("work");
  await called.opened;
  const report = (progress: ToolProgress) => context?.onProgress?.(progress);
  const endPause = () => pauses.splice(0).map((end) => end());
  const shown = () => one.client.of("tool_call_progress").map(({ progress }) => progress);
  return { ...one, report, endPause, shown, answer: answered.open };
}

test("F-08 1000 reports a second reach the clients as two signals, of which the last is the newest", async () => {
  const { client, report, endPause, shown, answer, id } = await scene();
  for (let n = 1; n <= 500; n += 1) report({ progress: n, total: 2_000 });
  expect(shown()).toEqual([1]);
  endPause();
  await vi.waitFor(() => expect(shown()).toEqual([1, 500]));
  for (let n = 501; n <= 1_000; n += 1) report({ progress: n, total: 2_000, message: "reading" });
  endPause();
  await vi.waitFor(() => expect(shown()).toEqual([1, 500, 1_000]));
  const [last] = client.signals.filter(({ kind }) => kind === "tool_call_progress").slice(-1);
  expect([last?.data, last && "seq" in last]).toEqual([
    { call_id: "call-1-1", name: "works", progress: 1_000, total: 2_000, message: "reading" },
    true,
  ]);
  answer();
  await client.asleep();
  expect(await turnsOf(db.store, id)).toEqual([[1, "work", "completed", "ready"]]);
});

test("F-08 progress is no part of the history, and none is shown once the call is over", async () => {
  const { client, report, endPause, shown, answer, id } = await scene();
  report({ progress: 1, message: "secret stage" });
  report({ progress: 2, message: "secret stage" });
  answer();
  await client.until("tool_call_finished");
  endPause();
  report({ progress: 3 });
  await client.asleep();
  expect(shown()).toEqual([1]);
  const entries = await db.store.histories.load(id, 0);
  expect(entries.map(({ entry }) => entry.kind)).toEqual(["user", "assistant", "tool_result", "assistant"]);
  expect(JSON.stringify(entries)).not.toContain("secret stage");
});
