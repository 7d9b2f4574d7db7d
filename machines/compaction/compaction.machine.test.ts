import { describe, expect, test } from "vitest";
import { createActor, type InputFrom, toPromise, waitFor } from "xstate";
import { getShortestPaths } from "xstate/graph";
import { Failure } from "../failure.ts";
import { statesOf } from "../testing.ts";
import { type CompactionPorts, compactionMachine, wireCompaction } from "./compaction.machine.ts";
import {
  backOffAfter,
  type Compacted,
  isWorthDrafting,
  mayAskAgain,
  REST_TURNS,
  type Room,
  type Verdict,
} from "./compaction.rules.ts";

const full: Room = { used: 85_000, reserve: 1_000, window: 100_000, foldable: 40_000 };
const over: Room = { ...full, used: 130_000 };
const roomy: Room = { ...full, used: 30_000, foldable: 0 };
const accepted: Verdict = { kind: "accepted", passes: 1 };

class Down extends Failure {
  readonly code = "overloaded";
  readonly retryable = true;
}

type Heard = string[];
function scene(room: Room, ports: Partial<CompactionPorts> = {}, mayAsk = true) {
  const heard: Heard = [];
  const told: CompactionPorts = {
    select: async () => ({ kind: "fold" }),
    summarise: async () => accepted,
    apply: async () => roomy,
    cut: async () => roomy,
    ...ports,
  };
  const machine = wireCompaction(
    Object.fromEntries(
      Object.entries(told).map(([name, port]) => [
        name,
        (input: never, signal: AbortSignal) => {
          heard.push(name);
          return (port as (input: never, signal: AbortSignal) => Promise<unknown>)(input, signal);
        },
      ]),
    ) as unknown as CompactionPorts,
  );
  const input: InputFrom<typeof compactionMachine> = { room, mayAsk, deadline: 5_000 };
  return { machine, heard, input, actor: createActor(machine, { input }) };
}

const outcomeOf = async (room: Room, ports: Partial<CompactionPorts> = {}, mayAsk = true) => {
  const { actor, heard } = scene(room, ports, mayAsk);
  const end = await toPromise(actor.start());
  return { end, heard };
};

describe("compaction", () => {
  test("[CO1] a summary is made, judged and applied", async () => {
    expect(await outcomeOf(full)).toEqual({
      end: { outcome: "applied", by: "summary", asked: true, room: roomy },
      heard: ["select", "summarise", "apply"],
    });
  });

  test("[CO2] a draft that lies ready costs no call; nothing to fold is skipped", async () => {
    const draft = await outcomeOf(full, { select: async () => ({ kind: "draft" }) });
    const nothing = await outcomeOf(full, { select: async () => ({ kind: "nothing" }) });
    expect([draft, nothing]).toEqual([
      { end: { outcome: "applied", by: "draft", asked: false, room: roomy }, heard: ["select", "apply"] },
      { end: { outcome: "skipped", asked: false, room: full }, heard: ["select"] },
    ]);
  });

  test("C-05 C-06 [CO3] without a summary nothing is applied, and the reason is kept", async () => {
    const refused = await outcomeOf(full, { summarise: async () => ({ kind: "refused", reason: "empty_summary" }) });
    const late = await outcomeOf(full, { summarise: async () => ({ kind: "late" }) });
    const down = await outcomeOf(full, {
      summarise: async () => {
        throw new Down("x");
      },
    });
    const failed = (reason: string) => ({
      end: { outcome: "failed", reason, asked: true, room: full },
      heard: ["select", "summarise"],
    });
    expect([refused, late, down]).toEqual([failed("empty_summary"), failed("deadline"), failed("overloaded")]);
  });

  test("C-05 [CO4] over the window turns are cut, once, whether or not a summary came", async () => {
    const failed = await outcomeOf(over, { summarise: async () => ({ kind: "late" }) });
    const tight = await outcomeOf(over, { apply: async () => over });
    const stuck = await outcomeOf(over, { select: async () => ({ kind: "nothing" }), cut: async () => null });
    expect([failed, tight, stuck]).toEqual([
      {
        end: { outcome: "applied", by: "cut", reason: "deadline", asked: true, room: roomy },
        heard: ["select", "summarise", "cut"],
      },
      {
        end: { outcome: "applied", by: "summary", asked: true, room: roomy },
        heard: ["select", "summarise", "apply", "cut"],
      },
      { end: { outcome: "skipped", asked: false, room: over }, heard: ["select", "cut"] },
    ]);
  });

  test("D-08 [CO5] frozen in any working state it starts that state's port once more and ends by itself", async () => {
    const hangs = (_: unknown, signal: AbortSignal) =>
      new Promise<never>((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    for (const [state, port] of [
      ["selecting", "select"],
      ["summarising", "summarise"],
      ["applying", "apply"],
      ["cutting", "cut"],
    ] as const) {
      const before = scene(over, { apply: async () => over, [port]: hangs });
      before.actor.start();
      await waitFor(before.actor, (snapshot) => snapshot.value === state);
      const frozen = JSON.parse(JSON.stringify(before.actor.getPersistedSnapshot()));
      before.actor.stop();
      const after = scene(over);
      const end = await toPromise(createActor(after.machine, { snapshot: frozen, input: after.input }).start());
      expect([end.outcome, after.heard[0], after.heard.filter((name) => name === port)]).toEqual([
        "applied",
        port,
        [port],
      ]);
    }
  });

  test("[CO6] the chart reaches every state and nothing else", () => {
    const done = (at: string, output: unknown) => ({ type: `xstate.done.actor.0.compaction.${at}`, output }) as never;
    const broke = (at: string) => ({ type: `xstate.error.actor.0.compaction.${at}`, error: new Down("x") }) as never;
    const paths = getShortestPaths(compactionMachine, {
      input: { room: over, mayAsk: true, deadline: 5_000 },
      events: ({ value }) => {
        const at = String(value);
        if (at === "selecting") {
          return [...(["draft", "fold", "nothing"] as const).map((kind) => done(at, { kind })), broke(at)];
        }
        if (at === "summarising") return [done(at, accepted), done(at, { kind: "late" }), broke(at)];
        if (at === "applying") return [done(at, roomy), done(at, over), broke(at)];
        if (at === "cutting") return [done(at, roomy), done(at, null), broke(at)];
        return [];
      },
    });
    const reached = [...new Set(paths.map((path) => String(path.state.value)))].sort();
    expect(reached).toEqual(statesOf(compactionMachine).filter((at) => at !== "validating" && at !== "judging"));
  });
});

describe("back-off", () => {
  const vain: Compacted = { outcome: "failed", reason: "deadline", asked: true, room: full };

  test("C-03 [CO7] after a vain attempt it waits for some turns and for older history to grow; room ends it", () => {
    const after = backOffAfter(vain, null);
    expect(after).toEqual({ foldable: 40_000, rest: REST_TURNS });
    const rested = { foldable: 40_000, rest: 0 };
    expect([
      mayAskAgain(full, null),
      mayAskAgain({ ...full, foldable: 60_000 }, after),
      mayAskAgain({ ...full, foldable: 49_999 }, rested),
      mayAskAgain({ ...full, foldable: 50_000 }, rested),
      backOffAfter({ ...vain, room: roomy }, after),
    ]).toEqual([true, false, false, true, null]);
  });

  test("[CO8] the next summary is made ahead of time from 60 % on, if there is something to fold", () => {
    const at = (used: number, foldable: number) => isWorthDrafting({ ...full, used, foldable });
    expect([at(59_000, 20_000), at(59_001, 20_000), at(70_000, 1_999)]).toEqual([false, true, false]);
  });
});
