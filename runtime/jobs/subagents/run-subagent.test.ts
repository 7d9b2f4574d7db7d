import { describe, expect, test } from "vitest";
import { callId, sessionId, turnId, userId } from "../../../machines/ids.ts";
import type { Tool } from "../../../tools/tool.ts";
import { realClock } from "../../effects.ts";
import { calls, hangs, type Move, says, scriptedModel } from "../../models/scripted.ts";
import { runSubagent, type SubagentModelCall } from "./run-subagent.ts";

const call = {
  sessionId: sessionId("00000000-0000-4000-8000-00000000000a"),
  turnId: turnId("00000000-0000-4000-8000-000000000001"),
  callId: callId("call-1"),
  principal: { userId: userId("dr-rivera"), name: "Dr Rivera", flags: [], preferences: {} },
  credential: { cookie: "platform_session=rivera" },
};

function scene(...moves: [Move, ...Move[]]) {
  const seen: string[] = [];
  const noted: SubagentModelCall[] = [];
  let finished: unknown;
  const tool = (name: string, run: Tool["run"]): Tool => ({
    name,
    title: name,
    description: name,
    inputSchema: { type: "object" },
    traits: { readOnly: true, repeatable: true },
    run,
  });
  const definition = {
    system: "You look things up.",
    task: "Find it.",
    tools: [
      tool("look", async (_, { credential }) => {
        seen.push(credential.cookie);
        return { kind: "ok", text: "found it" };
      }),
    ],
    finishing: [
      tool("finish", async (args) => {
        const { ids } = args as { ids?: unknown };
        if (!Array.isArray(ids)) return { kind: "error", reason: "invalid_arguments", text: "ids must be a list" };
        finished = ids;
        return { kind: "ok", text: "done" };
      }),
      tool("ask", async () => ({ kind: "error", reason: "tool", text: "not now" })),
    ] as const,
    isFinished: () => finished !== undefined,
    budget: { steps: 4, tokens: 1_000, ms: 60_000, cost: 1 },
  };
  const model = scriptedModel(...moves);
  const stop = new AbortController();
  const run = () =>
    runSubagent(
      definition,
      call,
      { model, clock: realClock, maxOutputTokens: 100, onModelCall: (one) => noted.push(one), onStep: () => {} },
      stop.signal,
    );
  return { run, model, seen, noted, stop, finished: () => finished };
}

describe("running a sub-agent", () => {
  test("[SG7] tools act with the login of its turn; an invalid result is told to it, a valid one ends it", async () => {
    const one = scene(calls("look"), calls("finish", { ids: "e1" }), calls("finish", { ids: ["e1"] }));
    expect(await one.run()).toEqual({ outcome: "finished" });
    expect([one.seen, one.finished(), one.noted.map(({ step, outcome }) => [step, outcome])]).toEqual([
      ["platform_session=rivera"],
      ["e1"],
      [
        [1, "ok"],
        [2, "ok"],
        [3, "ok"],
      ],
    ]);
    const last = one.model.requests
      .at(-1)
      ?.entries.flatMap((entry) => (entry.kind === "tool_result" ? [entry.text] : []));
    expect(last).toEqual(["found it", "ids must be a list"]);
  });

  test("[SG8] its last request offers the finishing tool alone", async () => {
    const look = calls("look");
    const one = scene(look, look, look, look, calls("finish", { ids: [] }));
    expect(await one.run()).toEqual({ outcome: "finished" });
    expect(one.model.requests.map(({ tools }) => tools.map(({ name }) => name).join())).toEqual([
      ...Array.from({ length: 4 }, () => "look,finish,ask"),
      "finish,ask",
    ]);
  });

  test("D-15 [SG9] an abort stops the model call at once and makes no other", async () => {
    const one = scene(hangs("thinking"), says("unused"));
    const ended = one.run();
    // Its word, then it hangs.
    for (let turns = 0; turns < 2; turns += 1) await new Promise((resolve) => setImmediate(resolve));
    one.stop.abort(new Error("cancelled"));
    await expect(ended).rejects.toThrow("cancelled");
    expect([one.model.requests.length, one.noted.map(({ outcome }) => outcome)]).toEqual([1, ["cancelled"]]);
  });
});
