import { describe, expect, test } from "vitest";
import { createActor, toPromise } from "xstate";
import { getShortestPaths } from "xstate/graph";
import { Failure } from "../failure.ts";
import { statesOf, undecided } from "../testing.ts";
import { type SubagentPorts, subagentMachine, wireSubagent } from "./subagent.machine.ts";
import type { Acted, Reasoned, SubagentBudget } from "./subagent.rules.ts";

const budget: SubagentBudget = { steps: 3, tokens: 1_000, ms: 10_000, cost: 1 };
const search = { callId: "c1", name: "search_evidence" };
const finish = { callId: "c2", name: "finish" };
const thinks = (...calls: Reasoned["calls"]): Reasoned => ({ calls, tokens: 10, ms: 5, cost: 0.01 });
const acted = (finished = false): Acted => ({ ms: 5, finished });

class Overloaded extends Failure {
  readonly code = "overloaded";
  readonly retryable = true;
}

/** A sub-agent whose model gives `answers` in order; `asked` lists what it was asked. */
function scene(
  answers: readonly (Reasoned | Error)[],
  more: Partial<SubagentBudget> = {},
  ports: Partial<SubagentPorts> = {},
) {
  const asked: { step: number; last: boolean; reminded: boolean }[] = [];
  const left = [...answers];
  const machine = wireSubagent({
    askModel: async (given) => {
      asked.push(given);
      const next = left.shift();
      if (next === undefined) throw new TypeError("asked once too often");
      if (next instanceof Error) throw next;
      return next;
    },
    runTools: async ({ calls }) => acted(calls.some(({ name }) => name === "finish")),
    ...ports,
  });
  const actor = createActor(machine, { input: { budget: { ...budget, ...more } } });
  return { actor, asked, end: () => toPromise(actor.start()) };
}

const plain = (step: number) => ({ step, last: false, reminded: false });

describe("sub-agent", () => {
  test("[SG1] it asks and acts in turn until its finishing tool was called", async () => {
    const { asked, end } = scene([thinks(search), thinks(search, search), thinks(finish)]);
    expect([await end(), asked]).toEqual([{ outcome: "finished" }, [plain(1), plain(2), plain(3)]]);
  });

  test("[SG2] each budget ends it with one last request, then as a failure with its own code", async () => {
    const limits = {
      step_budget: { steps: 1 },
      token_budget: { tokens: 10 },
      time_budget: { ms: 10 },
      cost_budget: { cost: 0.01 },
    };
    for (const [code, more] of Object.entries(limits)) {
      const { asked, end } = scene([thinks(search), thinks(search), thinks(finish)], more);
      expect([await end(), asked]).toEqual([
        { outcome: "failed", code },
        [plain(1), { step: 2, last: true, reminded: false }],
      ]);
    }
    const last = scene([thinks(search), thinks(finish)], { steps: 1 });
    expect(await last.end()).toEqual({ outcome: "finished" });
  });

  test("[SG3] an answer without a call is reminded once, then it ends without a result", async () => {
    const { asked, end } = scene([thinks(), thinks(), thinks(finish)]);
    expect([await end(), asked]).toEqual([
      { outcome: "failed", code: "no_result" },
      [plain(1), { step: 2, last: false, reminded: true }],
    ]);
    const minded = scene([thinks(), thinks(finish)]);
    expect(await minded.end()).toEqual({ outcome: "finished" });
  });

  test("[SG4] a model or tool that breaks ends it with a code and nothing else", async () => {
    const broken = scene([new Overloaded("words of a user")]);
    expect(await broken.end()).toEqual({ outcome: "failed", code: "overloaded" });
    const tools = scene(
      [thinks(search)],
      {},
      {
        runTools: async () => {
          throw new Overloaded("words");
        },
      },
    );
    expect(await tools.end()).toEqual({ outcome: "failed", code: "overloaded" });
  });

  test("D-15 [SG5] a cancel ends it wherever it is, and its port hears of it; a result that comes late is void", async () => {
    for (const [state, answers] of [
      ["reasoning", []],
      ["acting", [thinks(finish)]],
    ] as const) {
      const heard: boolean[] = [];
      const hang = (_: unknown, signal: AbortSignal) =>
        new Promise<never>((_resolve, reject) => {
          signal.addEventListener("abort", () => {
            heard.push(true);
            reject(signal.reason);
          });
        });
      const { actor, end } = scene(answers, {}, state === "reasoning" ? { askModel: hang } : { runTools: hang });
      const ended = end();
      await new Promise((resolve) => setImmediate(resolve));
      expect(actor.getSnapshot().value).toBe(state);
      actor.send({ type: "subagent.cancel" });
      expect([await ended, heard]).toEqual([{ outcome: "cancelled" }, [true]]);
    }
  });

  test("[SG6] every pair of state and event is decided, and the chart reaches every state", () => {
    expect(undecided(subagentMachine, ["subagent.cancel"])).toEqual([]);
    const done = (state: string, output: unknown) =>
      ({ type: `xstate.done.actor.0.subagent.${state}`, output }) as never;
    const broke = (state: string) =>
      ({ type: `xstate.error.actor.0.subagent.${state}`, error: new Overloaded("x") }) as never;
    const cancel = { type: "subagent.cancel" } as const;
    const paths = getShortestPaths(subagentMachine, {
      input: { budget },
      events: ({ value }) => {
        if (value === "reasoning")
          return [done("reasoning", thinks(search)), done("reasoning", thinks()), broke("reasoning"), cancel];
        if (value === "acting") return [done("acting", acted()), done("acting", acted(true)), broke("acting"), cancel];
        return [];
      },
      serializeState: ({ value, context }) => JSON.stringify([value, context.steps, context.silent, context.error]),
    });
    const reached = [...new Set(paths.map((path) => String(path.state.value)))].sort();
    expect(reached).toEqual(statesOf(subagentMachine).filter((state) => state !== "deciding"));
  });
});
