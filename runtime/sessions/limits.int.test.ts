import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Entry } from "../../machines/conversation/entries.ts";
import type { SessionId } from "../../machines/ids.ts";
import { LOOP_NOTE } from "../../machines/turn/progress.ts";
import { realClock } from "../effects.ts";
import { ModelBlocked, ModelUnavailable } from "../models/failures.ts";
import { calls, callsAll, decides, fails, type Move, says, scriptedModel } from "../models/scripted.ts";
import { sessionOn } from "./testing/looks.ts";
import { database, type SceneOptions, type ToolScript } from "./testing/scene.ts";

let db: Awaited<ReturnType<typeof database>>;
beforeAll(async () => {
  db = await database();
});
afterAll(() => db.end());

const LIMITS = { steps: 6, ms: 60_000, tokens: 1_000, repeats: 5, unknownSteps: 3 };

async function scene(move: Move, tools: readonly ToolScript[], more: Partial<SceneOptions> = {}) {
  const model = scriptedModel(move);
  const settings = { limits: LIMITS, ...more.settings };
  const one = await sessionOn(db.store, { ...more, model, tools, settings });
  const say = async (text: string) => {
    one.client.clear();
    await one.client.say(text);
    await one.client.asleep();
    return one.client.of("turn_completed").map(({ outcome, reason, steps }) => ({ outcome, reason, steps }));
  };
  return { ...one, model, say };
}

const storedTurns = async (id: SessionId) => {
  const turns = await db.store.turns.page(id, 100);
  return turns.map(({ outcome, reason, blocks }) => [outcome, reason, ...blocks.map(({ content }) => content["text"])]);
};
const entriesOf = async (id: SessionId) => (await db.store.histories.load(id, 0)).map(({ entry }) => entry);
const resultsIn = (entries: readonly Entry[]) =>
  entries.flatMap((entry) => (entry.kind === "tool_result" ? [entry.text] : []));

/** Calls `choose(n)` in the n-th model call, for as long as it is given tools; then says what it has. */
function callsForEver(choose: (n: number) => Move): Move {
  let n = 0;
  return decides((request) => {
    n += 1;
    return request.tools.length > 0 ? choose(n) : says("This is what I have.");
  });
}

/** A tool that answers the n-th call with `text(n)`. */
function look(text: (n: number) => string, name = "get_item") {
  let runs = 0;
  const tool: ToolScript = { name, run: async () => ({ kind: "ok", text: text(++runs) }) };
  return { tool, runs: () => runs };
}

/** Equal arguments; only their order differs, at two depths. */
const sameItem = (n: number) =>
  calls("get_item", n % 2 === 0 ? { id: 1, of: { a: 1, b: [2] } } : { of: { b: [2], a: 1 }, id: 1 });

describe("J-06 the same call again and again", () => {
  const steps = { limits: { ...LIMITS, steps: 12 } };

  test("J-06 equal calls with equal results: told once, then the turn ends with an answer for the reason tool_loop", async () => {
    const item = look(() => "item 1");
    const { say, id, model } = await scene(callsForEver(sameItem), [item.tool], { settings: steps });
    expect(await say("find it")).toEqual([{ outcome: "completed", reason: "tool_loop", steps: 6 }]);
    expect([item.runs(), model.requests.map(({ tools }) => tools.length)]).toEqual([5, [1, 1, 1, 1, 1, 0]]);
    expect(await storedTurns(id)).toEqual([["completed", "tool_loop", "This is what I have."]]);
    const told = `item 1${LOOP_NOTE}`;
    expect(resultsIn(await entriesOf(id))).toEqual(["item 1", "item 1", "item 1", told, "item 1"]);
  });

  test("J-06 equal results that are shortened, each naming its own call, are equal all the same", async () => {
    const item = look(() => "x".repeat(40_000));
    const big: ToolScript = {
      ...item.tool,
      run: async () => ({ kind: "ok", text: "x".repeat(1_000), full: "x".repeat(40_000) }),
    };
    const reader = look(() => "the rest", "read_result").tool;
    const { say, id } = await scene(callsForEver(sameItem), [big, reader], { settings: steps });
    expect(await say("find it")).toEqual([{ outcome: "completed", reason: "tool_loop", steps: 6 }]);
    expect(new Set(resultsIn(await entriesOf(id))).size).toBe(5);
  });

  test("J-06 a poll whose result changes is not told anything and runs to the step limit", async () => {
    const item = look((n) => `${n} % done`);
    const { say, id } = await scene(callsForEver(sameItem), [item.tool], { settings: steps });
    expect(await say("wait for it")).toEqual([{ outcome: "completed", reason: "step_limit", steps: 13 }]);
    expect(resultsIn(await entriesOf(id))).toEqual(Array.from({ length: 12 }, (_, at) => `${at + 1} % done`));
  });

  test("J-06 another result in between, and a new message, begin the count anew", async () => {
    const item = look((n) => (n === 4 ? "busy" : "item 1"));
    const three = callsForEver((n) => (n % 8 === 0 ? says("found") : sameItem(n)));
    const { say, id } = await scene(three, [item.tool], { settings: steps });
    // Three equal results, another one, three equal ones, an answer; then three more and the note not before the fourth.
    expect(await say("one")).toEqual([{ outcome: "completed", reason: undefined, steps: 8 }]);
    expect(await say("two")).toEqual([{ outcome: "completed", reason: "tool_loop", steps: 6 }]);
    const plain = Array(3).fill("item 1");
    expect(resultsIn(await entriesOf(id))).toEqual([
      ...[...plain, "busy", ...plain],
      ...[...plain, `item 1${LOOP_NOTE}`, "item 1"],
    ]);
  });
});

const tools = Array.from({ length: 6 }, (_, at) => look((n) => `result ${n}`, `tool_${at + 1}`).tool);
const newTool = (n: number) => callsAll([{ tool: `tool_${((n - 1) % 7) + 1}` }]);

describe("J-07 the limits of one turn", () => {
  test("J-07 six steps with ever new tools: the seventh is an answer without tools, and the next message starts afresh", async () => {
    const { say, id, model } = await scene(callsForEver(newTool), tools);
    const ended = { outcome: "completed", reason: "step_limit", steps: 7 };
    expect([await say("one"), await say("two")]).toEqual([[ended], [ended]]);
    expect(model.requests.map((request) => request.tools.length)).toEqual([6, 6, 6, 6, 6, 6, 0, 6, 6, 6, 6, 6, 6, 0]);
    const turn = ["completed", "step_limit", "This is what I have."];
    expect(await storedTurns(id)).toEqual([turn, turn]);
    const kinds = (await entriesOf(id)).map((entry) => entry.kind);
    const once = ["user", ...Array(6).fill(["assistant", "tool_result"]).flat(), "assistant"];
    expect(kinds).toEqual([...once, ...once]);
    expect(model.requests[6]?.entries.at(-1)?.kind).toBe("tool_result");
  });

  test("J-07 the time limit has its own reason: the tool that took too long is answered first", async () => {
    let now = 0;
    const slow: ToolScript = {
      name: "slow",
      run: async () => {
        now += LIMITS.ms;
        return { kind: "ok", text: "at last" };
      },
    };
    const { say, id } = await scene(
      callsForEver(() => calls("slow")),
      [slow],
      { clock: { ...realClock, monotonic: () => now }, settings: { leaseMs: 1e9 } },
    );
    expect(await say("go")).toEqual([{ outcome: "completed", reason: "time_limit", steps: 2 }]);
    expect(await storedTurns(id)).toEqual([["completed", "time_limit", "This is what I have."]]);
    expect(resultsIn(await entriesOf(id))).toEqual(["at last"]);
  });

  test("J-07 the token limit has its own reason, thinking included", async () => {
    const wordy: Move = async function* (request, signal, turn) {
      for await (const event of calls("get_item", { turn })(request, signal, turn)) {
        const usage = { input: 9_000, output: 300, thinking: 200, cached: 0 };
        yield event.type === "end" ? { ...event, usage } : event;
      }
    };
    const { say, id } = await scene(
      callsForEver(() => wordy),
      [look(() => "found").tool],
    );
    expect(await say("go")).toEqual([{ outcome: "completed", reason: "token_limit", steps: 3 }]);
    expect(await storedTurns(id)).toEqual([["completed", "token_limit", "This is what I have."]]);
  });
});

describe("J-07 a final answer that can't be had", () => {
  const text = "I stopped here: this took as many steps as one answer may. Send another message and I will go on.";
  const finals: readonly [string, Move, readonly string[]][] = [
    ["is blocked", fails(new ModelBlocked()), [text]],
    ["breaks off", fails(new ModelUnavailable("stream_error"), "So far "), ["So far ", text]],
    ["is a call of a tool that was not given", calls("tool_1"), [text]],
    ["is blank", says(" \n"), [text]],
  ];
  for (const [what, final, said] of finals) {
    test(`J-07 one that ${what}: the turn is completed for its limit, with a fixed text, and the session goes on`, async () => {
      let n = 0;
      const move = decides((request) => {
        n += 1;
        if (request.tools.length === 0) return final;
        return n > 7 ? says("welcome back") : newTool(n);
      });
      const { say, id, client, model, faults } = await scene(move, tools);
      expect((await say("one")).map(({ outcome, reason }) => [outcome, reason])).toEqual([["completed", "step_limit"]]);
      expect(client.text.trim()).toBe(said.join(""));
      const [stored] = await storedTurns(id);
      expect(stored?.filter((one) => one !== " \n")).toEqual(["completed", "step_limit", ...said]);
      expect(await say("two")).toEqual([{ outcome: "completed", reason: undefined, steps: 1 }]);
      const last = model.requests.at(-1)?.entries.findLast((entry) => entry.kind === "assistant");
      expect(last?.parts).toEqual(said.map((one) => ({ kind: "text", text: one })));
      expect(faults).toEqual([]);
    });
  }
});
