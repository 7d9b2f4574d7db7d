import { describe, expect, test } from "vitest";
import { createActor, type InputFrom, toPromise, waitFor } from "xstate";
import { getShortestPaths } from "xstate/graph";
import type { Room } from "../compaction/compaction.rules.ts";
import { Failure } from "../failure.ts";
import { callId, turnId } from "../ids.ts";
import { statesOf, undecided } from "../testing.ts";
import { type TurnPorts, turnMachine, wireTurn } from "./turn.machine.ts";
import type { Acted, Progress, Reasoned, TurnLimits } from "./turn.rules.ts";

const id = turnId("00000000-0000-4000-8000-000000000001");
const limits: TurnLimits = { steps: 3, ms: 1_000, tokens: 1_000, repeats: 3, unknownSteps: 3 };
const lookup = { callId: callId("call-1"), name: "patient_search" };

const fresh: Progress = {
  steps: 0,
  ms: 0,
  tokens: 0,
  openCalls: [],
  answered: false,
  repeats: 0,
  unknownSteps: 0,
  concluded: false,
  truncated: false,
  cancelled: false,
  exhausted: false,
  paused: false,
};
const roomy: Room = { used: 10_000, reserve: 1_000, window: 100_000, foldable: 0 };
const crowded: Room = { ...roomy, used: 85_000, foldable: 40_000 };
const answer: Reasoned = { calls: [], ms: 1, tokens: 5, truncated: false };
const calls: Reasoned = { calls: [lookup], ms: 1, tokens: 5, truncated: false };
const ran: Acted = { ms: 1, paused: false, authExpired: false, repeats: 1, unknownSteps: 0 };

class Overloaded extends Failure {
  readonly code = "model_unavailable";
  readonly retryable = true;
}
class Lost extends Failure {
  readonly code = "ownership_lost";
  readonly retryable = false;
}

/** A turn whose model plays `replies` in order; what each port was asked is in `heard`. */
function scene(replies: readonly (Reasoned | Error)[], ports: Partial<TurnPorts> = {}) {
  const heard: unknown[] = [];
  const script = [...replies];
  const machine = wireTurn({
    openTurn: async () => fresh,
    askModel: async ({ step, final }) => {
      heard.push({ ask: step, final });
      const reply = script.shift() ?? new Overloaded("the script is over");
      if (reply instanceof Error) throw reply;
      return reply;
    },
    runTools: async ({ calls: open }) => {
      heard.push({ run: open.map((call) => call.callId) });
      return ran;
    },
    settleTurn: async ({ ending }) => {
      heard.push({ settle: ending });
    },
    ...ports,
  });
  return { machine, heard, actor: createActor(machine, { input: { turnId: id, limits } }) };
}

const hangs = (_: unknown, signal: AbortSignal) =>
  new Promise<never>((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));

describe("turn", () => {
  test("[TU1] asks, runs the calls, asks again and settles as completed", async () => {
    const { actor, heard } = scene([calls, answer, answer]);
    const end = await toPromise(actor.start());
    expect(end).toEqual({ kind: "settled", turnId: id, ending: { outcome: "completed" } });
    expect(heard).toEqual([
      { ask: 1, final: false },
      { run: ["call-1"] },
      { ask: 2, final: false },
      { settle: { outcome: "completed" } },
    ]);
  });

  test("[TU2] the step limit asks once more without tools and says why it ended", async () => {
    const { actor, heard } = scene([calls, calls, calls, answer, answer]);
    await toPromise(actor.start());
    expect(heard.slice(-2)).toEqual([
      { ask: 4, final: true },
      { settle: { outcome: "completed", reason: "step_limit" } },
    ]);
  });

  test("J-07 [TU19] a final answer that fails, however often, still ends the turn in order, for its limit", async () => {
    const { actor, heard } = scene([calls, calls, calls, new Overloaded("down"), answer]);
    const lost = scene([calls, calls, calls, new Lost("gone")]);
    const ends = [await toPromise(actor.start()), await toPromise(lost.actor.start())];
    const ending = { outcome: "completed", reason: "step_limit", unanswered: true };
    expect(ends).toEqual([
      { kind: "settled", turnId: id, ending },
      { kind: "lost", turnId: id },
    ]);
    expect(heard.slice(-2)).toEqual([{ ask: 4, final: true }, { settle: ending }]);
  });

  test("[TU3] time, tokens and loops each end a turn with their own reason", async () => {
    const slow = scene([{ ...calls, ms: 5_000 }, answer]);
    const wordy = scene([{ ...calls, tokens: 5_000 }, answer]);
    const looping = scene([calls, answer], { runTools: async () => ({ ...ran, repeats: 3 }) });
    const endings = await Promise.all([slow, wordy, looping].map(({ actor }) => toPromise(actor.start())));
    expect(endings.map((end) => end.kind === "settled" && end.ending)).toEqual([
      { outcome: "completed", reason: "time_limit" },
      { outcome: "completed", reason: "token_limit" },
      { outcome: "completed", reason: "tool_loop" },
    ]);
  });

  test("[TU4] a model failure settles the turn as failed with its code", async () => {
    const { actor } = scene([calls, new Overloaded("down")]);
    expect(await toPromise(actor.start())).toEqual({
      kind: "settled",
      turnId: id,
      ending: { outcome: "failed", code: "model_unavailable", retryable: true },
    });
  });

  test("[TU5] cancel while the model answers settles as cancelled; the model is not asked again", async () => {
    const { actor, heard } = scene([], { askModel: hangs });
    actor.start();
    await waitFor(actor, (state) => state.value === "reasoning");
    actor.send({ type: "turn.cancel" });
    expect(await toPromise(actor)).toEqual({ kind: "settled", turnId: id, ending: { outcome: "cancelled" } });
    expect(heard).toEqual([{ settle: { outcome: "cancelled" } }]);
  });

  test("[TU6] cancel while tools run settles as cancelled; cancel while opening is kept", async () => {
    const tools = scene([calls], { runTools: hangs });
    tools.actor.start();
    await waitFor(tools.actor, (state) => state.value === "acting");
    tools.actor.send({ type: "turn.cancel" });
    const opening = scene([answer]);
    opening.actor.start();
    opening.actor.send({ type: "turn.cancel" });
    expect(await toPromise(opening.actor)).toEqual(await toPromise(tools.actor));
    expect(opening.heard).toEqual([{ settle: { outcome: "cancelled" } }]);
  });

  test("[TU7] once it settles a cancel changes nothing", async () => {
    let finish = () => {};
    const settled = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const { actor } = scene([answer], { settleTurn: () => settled });
    actor.start();
    await waitFor(actor, (state) => state.value === "settling");
    actor.send({ type: "turn.cancel" });
    finish();
    expect(await toPromise(actor)).toEqual({ kind: "settled", turnId: id, ending: { outcome: "completed" } });
  });

  test("[TU8] ownership lost in any port drops the turn: nothing is settled", async () => {
    const lost = async () => {
      throw new Lost("gone");
    };
    const scenes = [
      scene([], { openTurn: lost }),
      scene([], { askModel: lost }),
      scene([calls], { runTools: lost }),
      scene([answer], { settleTurn: lost }),
    ];
    const ends = await Promise.all(scenes.map(({ actor }) => toPromise(actor.start())));
    expect(ends).toEqual(scenes.map(() => ({ kind: "lost", turnId: id })));
    expect(scenes.flatMap(({ heard }) => heard.filter((h) => JSON.stringify(h).includes("settle")))).toEqual([]);
  });

  test("[TU9] park leaves a running turn to the next owner; a settlement that can't be stored parks too", async () => {
    const running = scene([], { askModel: hangs });
    running.actor.start();
    await waitFor(running.actor, (state) => state.value === "reasoning");
    running.actor.send({ type: "turn.park" });
    const unstored = scene([answer], {
      settleTurn: async () => {
        throw new Overloaded("database");
      },
    });
    expect(await toPromise(running.actor)).toEqual({ kind: "parked", turnId: id });
    expect(await toPromise(unstored.actor.start())).toEqual({ kind: "parked", turnId: id });
  });

  test("[TU10] a turn taken over goes on where its entries end", async () => {
    const open = scene([answer], { openTurn: async () => ({ ...fresh, steps: 1, openCalls: [lookup] }) });
    const done = scene([], { openTurn: async () => ({ ...fresh, steps: 1, answered: true }) });
    const cancelled = scene([], { openTurn: async () => ({ ...fresh, openCalls: [lookup], cancelled: true }) });
    const exhausted = scene([], { openTurn: async () => ({ ...fresh, exhausted: true }) });
    await Promise.all([open, done, cancelled, exhausted].map(({ actor }) => toPromise(actor.start())));
    expect([open.heard, done.heard, cancelled.heard, exhausted.heard]).toEqual([
      [{ run: ["call-1"] }, { ask: 2, final: false }, { settle: { outcome: "completed" } }],
      [{ settle: { outcome: "completed" } }],
      [{ settle: { outcome: "cancelled" } }],
      [{ settle: { outcome: "failed", code: "recovery_exhausted", retryable: true } }],
    ]);
  });

  test("D-08 [TU11] a turn persisted while it reasons or acts starts that port once more and settles by itself", async () => {
    for (const state of ["reasoning", "acting"] as const) {
      const hanging = state === "reasoning" ? { askModel: hangs } : { runTools: hangs };
      const before = scene([calls], hanging);
      before.actor.start();
      await waitFor(before.actor, (snapshot) => snapshot.value === state);
      const frozen = JSON.parse(JSON.stringify(before.actor.getPersistedSnapshot()));
      before.actor.stop();

      const after = scene([answer, answer]);
      const thawed = createActor(after.machine, { snapshot: frozen, input: { turnId: id, limits } });
      expect(await toPromise(thawed.start())).toEqual({
        kind: "settled",
        turnId: id,
        ending: { outcome: "completed" },
      });
      const asks = { ask: state === "reasoning" ? 1 : 2, final: false };
      const runs = state === "acting" ? [{ run: ["call-1"] }] : [];
      expect(after.heard).toEqual([...runs, asks, { settle: { outcome: "completed" } }]);
    }
  });

  test("D-08 [TU15] a turn persisted while it compacts compacts once more, from the start, and settles by itself", async () => {
    const openTurn = async () => ({ ...fresh, room: crowded });
    const before = scene([], { openTurn, compact: hangs });
    before.actor.start();
    await waitFor(before.actor, (snapshot) => snapshot.value === "compacting");
    const frozen = JSON.parse(JSON.stringify(before.actor.getPersistedSnapshot()));
    before.actor.stop();
    const asked: unknown[] = [];
    const after = scene([answer], {
      compact: async (input) => {
        asked.push(input);
        return { outcome: "applied", by: "summary", asked: true, room: roomy };
      },
    });
    const thawed = createActor(after.machine, { snapshot: frozen, input: { turnId: id, limits } });
    expect(await toPromise(thawed.start())).toEqual({
      kind: "settled",
      turnId: id,
      ending: { outcome: "completed" },
    });
    expect(asked).toEqual([{ turnId: id, room: crowded, mayAsk: true, isNews: true }]);
  });

  test("C-14 [TU16] the room is looked at before every model call; the summariser is asked once a turn at most", async () => {
    const asked: boolean[] = [];
    const tight: Room = { ...crowded, used: 99_500 };
    const { actor, heard } = scene([calls, calls, answer], {
      openTurn: async () => ({ ...fresh, room: roomy }),
      runTools: async () => ({ ...ran, room: tight }),
      compact: async ({ mayAsk }) => {
        asked.push(mayAsk);
        return { outcome: "failed", reason: "deadline", asked: mayAsk, room: tight };
      },
    });
    const end = await toPromise(actor.start());
    expect([asked, heard.filter((one) => JSON.stringify(one).includes("ask"))]).toEqual([
      [true, false],
      [1, 2, 3].map((step) => ({ ask: step, final: false })),
    ]);
    expect(end.kind === "settled" && end.backOff).toEqual({ foldable: crowded.foldable, rest: 4 });
  });

  test("C-05 [TU17] a compaction that breaks leaves the turn as it was; a lost session is lost; a cancel is heard", async () => {
    const openTurn = async () => ({ ...fresh, room: crowded });
    const broken = scene([answer], { openTurn, compact: () => Promise.reject(new TypeError("bug")) });
    const lost = scene([answer], { openTurn, compact: () => Promise.reject(new Lost("gone")) });
    const stopped = scene([answer], { openTurn, compact: hangs });
    stopped.actor.start();
    await waitFor(stopped.actor, (state) => state.value === "compacting");
    stopped.actor.send({ type: "turn.cancel" });
    const ends = await Promise.all([
      toPromise(broken.actor.start()),
      toPromise(lost.actor.start()),
      toPromise(stopped.actor),
    ]);
    expect(ends).toEqual([
      { kind: "settled", turnId: id, ending: { outcome: "completed" } },
      { kind: "lost", turnId: id },
      { kind: "settled", turnId: id, ending: { outcome: "cancelled" } },
    ]);
  });

  test("C-03 [TU18] the back-off outlives the turn and wears off with every turn that did not ask", async () => {
    const openTurn = async () => ({ ...fresh, room: crowded });
    const compact = async () => {
      throw new TypeError("must not be asked for");
    };
    const { machine } = scene([answer], { openTurn, compact });
    const backOff = { foldable: 40_000, rest: 2 };
    const end = await toPromise(createActor(machine, { input: { turnId: id, limits, backOff } }).start());
    expect(end.kind === "settled" && end.backOff).toEqual({ foldable: 40_000, rest: 1 });
  });

  test("[TU12] the truncated answer says so, an expired login ends the turn, a pause awaits", async () => {
    const cut = scene([{ ...answer, truncated: true }]);
    const expired = scene([calls], { runTools: async () => ({ ...ran, authExpired: true }) });
    const paused = scene([calls], { runTools: async () => ({ ...ran, paused: true }) });
    const ends = await Promise.all([cut, expired, paused].map(({ actor }) => toPromise(actor.start())));
    expect(ends.map((end) => end.kind === "settled" && end.ending)).toEqual([
      { outcome: "completed", reason: "truncated" },
      { outcome: "failed", code: "auth_required", retryable: true },
      { outcome: "awaiting" },
    ]);
  });

  test("[TU13] every pair of state and event is decided", () => {
    expect(undecided(turnMachine, ["turn.cancel", "turn.park"])).toEqual([]);
  });

  test("[TU14] the chart reaches every state and nothing else", () => {
    const done = (state: string, output: unknown) => ({ type: `xstate.done.actor.0.turn.${state}`, output }) as never;
    const broke = (state: string, error: unknown) => ({ type: `xstate.error.actor.0.turn.${state}`, error }) as never;
    const stop = [{ type: "turn.cancel" } as const, { type: "turn.park" } as const];
    const faults = (state: string) => [broke(state, new Overloaded("x")), broke(state, new Lost("x"))];
    const input: InputFrom<typeof turnMachine> = { turnId: id, limits: { ...limits, steps: 2 } };
    const paths = getShortestPaths(turnMachine, {
      input,
      // Only what the running actor can report; anything else would invent paths.
      events: ({ value }) => {
        const at = String(value);
        if (at === "opening") {
          return [done(at, fresh), done(at, { ...fresh, room: crowded }), ...stop, ...faults(at)];
        }
        if (at === "compacting") {
          return [done(at, { outcome: "applied", asked: true, room: roomy }), ...stop, ...faults(at)];
        }
        if (at === "reasoning") return [done(at, answer), done(at, calls), ...stop, ...faults(at)];
        if (at === "acting") return [done(at, ran), done(at, { ...ran, paused: true }), ...stop, ...faults(at)];
        if (at === "settling") return [done(at, undefined), ...stop, ...faults(at)];
        return [];
      },
      serializeState: ({ value, context }) => JSON.stringify([value, { ...context, ms: 0, tokens: 0 }]),
    });
    const reached = [...new Set(paths.map((path) => String(path.state.value)))].sort();
    expect(reached).toEqual(statesOf(turnMachine).filter((state) => state !== "deciding"));
    const deadEnds = paths.filter(
      ({ state }) =>
        state.status === "active" &&
        !["opening", "compacting", "reasoning", "acting", "settling"].includes(String(state.value)),
    );
    expect(deadEnds).toEqual([]);
  });
});
