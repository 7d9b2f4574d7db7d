import { describe, expect, test, vi } from "vitest";
import {
  BadModelRequest,
  ModelBlocked,
  type ModelFailure,
  ModelMisanswered,
  ModelMisconfigured,
  ModelUnavailable,
} from "./failures.ts";
import { withRetry } from "./retry.ts";
import { fails, hangs, type Move, says, scriptedModel } from "./scripted.ts";
import { fakeTimers } from "./testing/fake-timers.ts";
import { allOf, asking, failureOf } from "./testing/gemini.ts";
import type { Timers } from "./timers.ts";

const atOnce: Timers = {
  after(_, then) {
    queueMicrotask(then);
    return () => {};
  },
};

function scene(...moves: readonly [Move, ...Move[]]) {
  const model = scriptedModel(...moves);
  const noted: (readonly [string, number])[] = [];
  const onFailure = ({ code }: ModelFailure & { code: string }, _: string, attempt: number) =>
    noted.push([code, attempt]);
  const options = { waitMs: 500, longestWaitMs: 3_000, random: () => 0.5, timers: atOnce };
  return {
    model,
    noted,
    retrying: withRetry(model, {
      ...options,
      onFailure: (failure, name, attempt) => onFailure(failure, name, attempt),
    }),
  };
}
const hi = [
  { type: "text", delta: "Hi" },
  {
    type: "end",
    parts: [{ kind: "text", text: "Hi" }],
    truncated: false,
    usage: { input: 0, output: 0, thinking: 0, cached: 0 },
    profile: "scripted",
    issuer: "scripted",
  },
];

describe("one retry in place", () => {
  test("[A-06] malformed once: nobody sees it", async () => {
    const { retrying, model, noted } = scene(fails(new ModelMisanswered("malformed_tool_call")), says("Hi"));
    expect(await allOf(retrying)).toEqual(hi);
    expect([model.requests.length, noted]).toEqual([2, [["malformed_tool_call", 1]]]);
  });

  test("[A-06] malformed three times in a row: fails after the second, the third is not asked for", async () => {
    const malformed = fails(new ModelMisanswered("malformed_tool_call"));
    const { retrying, model, noted } = scene(malformed, malformed, says("Hi"));
    expect(await failureOf(allOf(retrying))).toMatchObject({ code: "malformed_tool_call" });
    expect([model.requests.length, noted]).toEqual([
      2,
      [
        ["malformed_tool_call", 1],
        ["malformed_tool_call", 2],
      ],
    ]);
  });

  test("[A-07] an empty response is asked again once, a blocked prompt never", async () => {
    const empty = scene(fails(new ModelMisanswered("empty_response")), says("Hi"));
    expect(await allOf(empty.retrying)).toEqual(hi);
    for (const failure of [new ModelBlocked(), new BadModelRequest(), new ModelMisconfigured("not_found")]) {
      const { retrying, model } = scene(fails(failure), says("Hi"));
      expect(await failureOf(allOf(retrying))).toBe(failure);
      expect(model.requests.length).toBe(1);
    }
  });

  test("[A-06] what the first try had shown is taken back before the second shows anything", async () => {
    const { retrying } = scene(fails(new ModelUnavailable("stream_error"), "You could tr"), says("Hi"));
    const events = await allOf(retrying);
    expect(events.slice(-3)).toEqual([{ type: "reset", reason: "retry" }, ...hi]);
    expect(events.filter(({ type }) => type === "reset").length).toBe(1);
  });

  test("[A-13] the wait is drawn at random, honours the server's wish, and is not endless", async () => {
    for (const [failure, waits] of [
      [new ModelUnavailable("overloaded"), [375]],
      [new ModelUnavailable("throttled", { retryAfterMs: 2_000 }), [2_000]],
      [new ModelUnavailable("throttled", { retryAfterMs: 60_000 }), []],
    ] as const) {
      const timers = fakeTimers();
      const model = scriptedModel(fails(failure), says("Hi"));
      const done = failureOf(allOf(withRetry(model, { waitMs: 500, longestWaitMs: 3_000, random: () => 0.5, timers })));
      await vi.waitFor(() => expect([model.requests.length, timers.pending()]).toEqual([1, waits]));
      timers.fire();
      expect(await done).toBe(waits.length === 0 ? failure : "no failure");
    }
  });

  test("[A-06] an abort while it waits, or while it is asked, is neither retried nor noted", async () => {
    const timers = fakeTimers();
    const waiting = new AbortController();
    const model = scriptedModel(fails(), says("Hi"));
    const done = failureOf(
      allOf(withRetry(model, { waitMs: 500, longestWaitMs: 3_000, timers }), asking(), waiting.signal),
    );
    await vi.waitFor(() => expect(timers.pending().length).toBe(1));
    waiting.abort("stop");
    expect([await done, model.requests.length, timers.pending()]).toEqual(["stop", 1, []]);

    const asked = new AbortController();
    const { retrying, model: silent, noted } = scene(hangs("Hel"), says("Hi"));
    const stopped = failureOf(allOf(retrying, asking(), asked.signal));
    await vi.waitFor(() => expect(silent.requests.length).toBe(1));
    asked.abort("stop");
    expect([await stopped, silent.requests.length, noted]).toEqual(["stop", 1, []]);
  });

  test("a bug is no failure of the model", async () => {
    const bug = new TypeError("bug");
    const { retrying, model } = scene(async function* () {
      yield { type: "text", delta: "" };
      throw bug;
    });
    expect(await failureOf(allOf(retrying))).toBe(bug);
    expect(model.requests.length).toBe(1);
  });
});
