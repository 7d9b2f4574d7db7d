import { expect, test } from "vitest";
import { ModelUnavailable } from "./failures.ts";
import { after, calls, callsAll, decides, fails, hangs, says, scriptedModel } from "./scripted.ts";
import { allOf, asking, failureOf } from "./testing/gemini.ts";

const usage = { input: 0, output: 0, thinking: 0, cached: 0 };
const ending = { type: "end", truncated: false, usage, profile: "scripted", issuer: "scripted" };

test("moves are played in order, the last one for ever; calls never share an id", async () => {
  const model = scriptedModel(
    callsAll([{ tool: "a", args: { x: 1 } }, { tool: "b" }], "One moment"),
    calls("a"),
    says("Hi you", { thinking: "hm" }),
  );
  expect(await allOf(model)).toEqual([
    { type: "text", delta: "One " },
    { type: "text", delta: "moment" },
    {
      ...ending,
      parts: [
        { kind: "text", text: "One moment" },
        { kind: "tool_call", call: { callId: "call-1-1", name: "a", args: { x: 1 } } },
        { kind: "tool_call", call: { callId: "call-1-2", name: "b", args: {} } },
      ],
    },
  ]);
  expect(await allOf(model)).toEqual([
    { ...ending, parts: [{ kind: "tool_call", call: { callId: "call-2-1", name: "a", args: {} } }] },
  ]);
  const hi = [
    { type: "thinking", delta: "hm" },
    { type: "text", delta: "Hi " },
    { type: "text", delta: "you" },
    {
      ...ending,
      parts: [
        { kind: "reasoning", text: "hm" },
        { kind: "text", text: "Hi you" },
      ],
    },
  ];
  expect([await allOf(model), await allOf(model)]).toEqual([hi, hi]);
  expect(model.requests).toEqual([asking(), asking(), asking(), asking()]);
});

test("it fails, hangs until it is aborted, waits for a gate, and answers what it was asked", async () => {
  const failure = new ModelUnavailable("stalled");
  expect(await failureOf(allOf(scriptedModel(fails(failure, "a"))))).toBe(failure);
  const stop = new AbortController();
  const hanging = failureOf(allOf(scriptedModel(hangs("a")), asking(), stop.signal));
  stop.abort("stop");
  expect(await hanging).toBe("stop");
  const echo = decides(({ system }) => says(system));
  expect((await allOf(scriptedModel(after(Promise.resolve(), echo)))).at(-1)).toEqual({
    ...ending,
    parts: [{ kind: "text", text: "be brief" }],
  });
});
