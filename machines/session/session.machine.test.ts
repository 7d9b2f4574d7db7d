import { describe, expect, test } from "vitest";
import { type Actor, createActor, fromPromise, SimulatedClock, waitFor } from "xstate";
import { getShortestPaths } from "xstate/graph";
import { Failure } from "../failure.ts";
import { sessionId, type TurnId, turnId } from "../ids.ts";
import { bind } from "../ports.ts";
import { statesOf, undecided } from "../testing.ts";
import type { TurnOutput, turnMachine } from "../turn/turn.machine.ts";
import { freeze, thaw } from "./session.frozen.ts";
import { type SessionPorts, sessionMachine } from "./session.machine.ts";
import type { SessionInput } from "./session.rules.ts";

const id = sessionId("00000000-0000-4000-8000-00000000000a");
const a = turnId("00000000-0000-4000-8000-000000000001");
const b = turnId("00000000-0000-4000-8000-000000000002");
const limits = { steps: 3, ms: 1_000, tokens: 1_000, repeats: 3, unknownSteps: 3 };
const input: SessionInput = {
  sessionId: id,
  queue: [],
  awaiting: false,
  draining: false,
  hibernateAfterMs: 0,
  limits,
};
const EVENTS = ["message.admitted", "turn.withdrawn", "turn.cancel", "drain.begin", "drain.park"];

class Lost extends Failure {
  readonly code = "ownership_lost";
  readonly retryable = false;
}
class Down extends Failure {
  readonly code = "unavailable";
  readonly retryable = true;
}

/** A session whose turns are opened, answered and settled by hand: `ran` lists them in order. */
function scene(sleep: SessionPorts["fallAsleep"], given: SessionInput = input, expire: SessionPorts["expire"] = never) {
  const ran: TurnId[] = [];
  const gates: ((output: TurnOutput) => void)[] = [];
  const hold = fromPromise(({ input: turn }: { input: { turnId: TurnId } }) => {
    ran.push(turn.turnId);
    return new Promise<TurnOutput>((resolve) => gates.push(resolve));
  });
  const machine = sessionMachine.provide({
    actors: { ...bind<SessionPorts>({ fallAsleep: sleep, expire }), turn: hold as unknown as typeof turnMachine },
  });
  const clock = new SimulatedClock();
  const actor = createActor(machine, { input: given, clock });
  const end = (outcome: "completed" | "awaiting") => {
    const running = ran.at(-1) ?? a;
    gates.shift()?.({ kind: "settled", turnId: running, ending: { outcome } });
  };
  return { actor, clock, ran, end, leave: (kind: "parked" | "lost") => gates.shift()?.({ kind, turnId: a }) };
}

const never = () => new Promise<never>(() => {});
const asleep: SessionPorts["fallAsleep"] = async () => "asleep";
const at = (actor: Actor<typeof sessionMachine>, value: string) => waitFor(actor, (state) => state.value === value);

describe("session", () => {
  test("[SS1] a message runs a turn; when none waits the session rests and falls asleep", async () => {
    const { actor, clock, ran, end } = scene(asleep);
    actor.start().send({ type: "message.admitted", turnId: a });
    end("completed");
    await at(actor, "resting");
    clock.increment(0);
    await at(actor, "hibernated");
    expect(ran).toEqual([a]);
  });

  test("D-01 [SS2] messages that come during a turn wait and run in order, one at a time", async () => {
    const { actor, ran, end } = scene(asleep);
    actor.start().send({ type: "message.admitted", turnId: a });
    actor.send({ type: "message.admitted", turnId: b });
    actor.send({ type: "message.admitted", turnId: b });
    expect([ran, actor.getSnapshot().context.queue]).toEqual([[a], [b]]);
    end("completed");
    await waitFor(actor, (state) => state.context.running === b);
    end("completed");
    await at(actor, "resting");
    expect(ran).toEqual([a, b]);
  });

  test("[SS3] a message that arrives while the session falls asleep is run by it when the statement says busy", async () => {
    let say: (word: "asleep" | "busy") => void = () => {};
    const { actor, clock, ran } = scene(
      () =>
        new Promise((resolve) => {
          say = resolve;
        }),
    );
    actor.start();
    clock.increment(0);
    await at(actor, "hibernating");
    actor.send({ type: "message.admitted", turnId: a });
    say("busy");
    await at(actor, "turning");
    expect(ran).toEqual([a]);
  });

  test("[SS4] busy without a known row rests before it asks again, longer each time", async () => {
    let tries = 0;
    const { actor, clock } = scene(async () => {
      tries += 1;
      return "busy";
    });
    actor.start();
    for (const wait of [0, 1_000, 2_000]) {
      clock.increment(wait);
      await at(actor, "resting");
    }
    clock.increment(3_999);
    expect(tries).toBe(3);
    clock.increment(1);
    await at(actor, "resting");
    expect(tries).toBe(4);
  });

  test("[SS5] a withdrawn turn never runs; a cancel reaches only the turn it names", async () => {
    const { actor, ran, end } = scene(asleep);
    actor.start().send({ type: "message.admitted", turnId: a });
    actor.send({ type: "message.admitted", turnId: b });
    actor.send({ type: "turn.cancel", turnId: b });
    actor.send({ type: "turn.withdrawn", turnId: b });
    end("completed");
    await at(actor, "resting");
    expect(ran).toEqual([a]);
  });

  test("[SS6] draining starts no other turn and leaves what waits to the next owner", async () => {
    const { actor, ran, end } = scene(async () => "busy");
    actor.start().send({ type: "message.admitted", turnId: a });
    actor.send({ type: "message.admitted", turnId: b });
    actor.send({ type: "drain.begin" });
    end("completed");
    await at(actor, "parked");
    const late = scene(async () => "busy", { ...input, queue: [a], draining: true });
    await at(late.actor.start(), "parked");
    expect([ran, late.ran]).toEqual([[a], []]);
  });

  test("[SS7] at rest a drain puts the session to sleep at once; what can't be stored is said", async () => {
    const calm = scene(asleep);
    calm.actor.start().send({ type: "drain.begin" });
    await at(calm.actor, "hibernated");
    const broken = scene(async () => {
      throw new Down("database");
    });
    broken.actor.start().send({ type: "drain.begin" });
    await at(broken.actor, "unsaved");
  });

  test("[SS8] a turn that was parked, lost or crashed ends the session as such", async () => {
    const ends = [];
    for (const kind of ["parked", "lost"] as const) {
      const { actor, leave } = scene(asleep);
      actor.start().send({ type: "message.admitted", turnId: a });
      leave(kind);
      await waitFor(actor, (state) => state.status === "done");
      ends.push(actor.getSnapshot().value);
    }
    const sleepless = scene(async () => {
      throw new Lost("gone");
    });
    sleepless.actor.start();
    sleepless.clock.increment(0);
    await at(sleepless.actor, "lost");
    expect(ends).toEqual(["parked", "lost"]);
  });

  test("[SS9] a failed try to sleep keeps the session, which sleeps later", async () => {
    const words: ("down" | "asleep")[] = ["down", "asleep"];
    const { actor, clock } = scene(async () => {
      if (words.shift() === "down") throw new Down("database");
      return "asleep";
    });
    actor.start();
    clock.increment(0);
    await at(actor, "resting");
    clock.increment(1_000);
    await at(actor, "hibernated");
  });

  test("[SS10] a frozen session comes back small, sleeps again when nothing waits, runs what waits", async () => {
    let frozen: unknown;
    const first = scene(async () => {
      frozen = JSON.parse(JSON.stringify(freeze(first.actor.getPersistedSnapshot())));
      return "asleep";
    });
    first.actor.start();
    first.clock.increment(0);
    await at(first.actor, "hibernated");
    expect(JSON.stringify(frozen).length).toBeLessThan(2_000);

    const thawed = (queue: readonly TurnId[]) => {
      const restored = thaw(frozen as never, { ...input, queue });
      if (restored.kind !== "restored") throw new Error(restored.why);
      const again = scene(asleep, restored.input);
      again.actor.start();
      return again;
    };
    const woken = thawed([a]);
    expect([woken.actor.getSnapshot().value, woken.ran]).toEqual(["turning", [a]]);
    const idle = thawed([]);
    idle.clock.increment(0);
    await at(idle.actor, "hibernated");
  });

  test("[SS17] what keeps turns from compacting in vain outlasts the sleep", () => {
    const backOff = { foldable: 100, rest: 2 };
    const { actor } = scene(asleep, { ...input, backOff });
    const frozen = JSON.parse(JSON.stringify(freeze(actor.start().getPersistedSnapshot())));
    expect(thaw(frozen, input)).toEqual({ kind: "restored", input: { ...input, backOff } });
  });

  test("D-11 [SS11] a snapshot this code can't restore is rebuilt, never started", () => {
    const good = { machine: "session", version: 1, state: { context: { sessionId: id } } };
    const why = (frozen: Parameters<typeof thaw>[0]) => {
      const thawed = thaw(frozen, input);
      return thawed.kind === "rebuild" ? thawed.why : thawed.kind;
    };
    const whyOf = (context: unknown) => why({ ...good, state: { context } });
    expect([
      why(good),
      why(undefined),
      why({ ...good, machine: "chat" }),
      why({ ...good, version: 2 }),
      why({ ...good, state: {} }),
      whyOf({ awaiting: false }),
      whyOf({ sessionId: id, backOff: 3 }),
      whyOf({ sessionId: "another" }),
    ]).toEqual([
      "restored",
      "none",
      "foreign_machine",
      "unknown_version",
      "unknown_state",
      "unknown_state",
      "unknown_state",
      "other_session",
    ]);
  });

  test("D-09 [SS14] an open question that expires leaves the session at rest; a message first takes its place", async () => {
    let over: () => void = () => {};
    const scenes = [0, 1].map(() => scene(asleep, undefined, () => new Promise<void>((resolve) => (over = resolve))));
    for (const { actor, end } of scenes) {
      actor.start().send({ type: "message.admitted", turnId: a });
      end("awaiting");
      await at(actor, "awaiting");
      if (actor === scenes[0]?.actor) actor.send({ type: "message.admitted", turnId: b });
    }
    const [asked, left] = scenes;
    over();
    await at(left?.actor as never, "resting");
    expect([asked?.ran, left?.ran, left?.actor.getSnapshot().context.awaiting]).toEqual([[a, b], [a], false]);
  });

  test("[SS15] an expiry that can't be stored is tried again; one of a session that moved ends the actor", async () => {
    const faults: Error[] = [new Down("database"), new Lost("gone")];
    const { actor, clock, end } = scene(asleep, undefined, async () => {
      throw faults.shift();
    });
    actor.start().send({ type: "message.admitted", turnId: a });
    end("awaiting");
    await at(actor, "lost");
    clock.increment(60_000);
    expect(faults).toEqual([]);
  });

  test("[SS12] every pair of state and event is decided", () => {
    expect(undecided(sessionMachine, EVENTS)).toEqual([]);
  });

  test("[SS13] the chart reaches every state; only states that something will leave are left standing", () => {
    const turnEnds = (output: TurnOutput) => ({ type: "xstate.done.actor.turn", output }) as never;
    const slept = (output: string) => ({ type: "xstate.done.actor.0.session.hibernating", output }) as never;
    const woke = (error: unknown) => ({ type: "xstate.error.actor.0.session.hibernating", error }) as never;
    const settled = (outcome: "completed" | "awaiting"): TurnOutput => ({
      kind: "settled",
      turnId: a,
      ending: { outcome },
    });
    const sent = [
      { type: "message.admitted", turnId: a } as const,
      { type: "turn.withdrawn", turnId: a } as const,
      { type: "drain.begin" } as const,
    ];
    const paths = getShortestPaths(sessionMachine, {
      input,
      events: ({ value, status }) => {
        if (status !== "active") return [];
        if (value === "turning") {
          const left = (["parked", "lost"] as const).map((kind) => turnEnds({ kind, turnId: a }));
          const crash = { type: "xstate.error.actor.turn", error: new Error("bug") } as never;
          return [...sent, turnEnds(settled("completed")), turnEnds(settled("awaiting")), ...left, crash];
        }
        if (value === "hibernating") {
          return [...sent, slept("asleep"), slept("busy"), woke(new Lost("x")), woke(new Down("x"))];
        }
        const expiry = [
          { type: "xstate.done.actor.0.session.awaiting" } as never,
          { type: "xstate.error.actor.0.session.awaiting", error: new Lost("x") } as never,
          { type: "xstate.error.actor.0.session.awaiting", error: new Down("x") } as never,
        ];
        const rests = { type: `xstate.after.rest.session.${String(value)}` } as never;
        return [...sent, rests, ...(value === "awaiting" ? expiry : [])];
      },
      serializeState: ({ value, context }) =>
        JSON.stringify([
          value,
          context.queue,
          context.running,
          context.awaiting,
          context.draining,
          context.restless > 0,
        ]),
    });
    const reached = [...new Set(paths.map((path) => String(path.state.value)))].sort();
    expect(reached).toEqual(statesOf(sessionMachine).filter((state) => state !== "deciding"));
  });
});
