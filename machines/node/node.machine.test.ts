import { describe, expect, test } from "vitest";
import { createActor, SimulatedClock, waitFor } from "xstate";
import { bind } from "../ports.ts";
import { statesOf, undecided } from "../testing.ts";
import { type NodePorts, nodeMachine } from "./node.machine.ts";

const EVENTS = ["database.lost", "database.back", "node.drain", "node.hurry"];

function scene(ports: Partial<NodePorts> = {}) {
  const done: string[] = [];
  const step = (name: string) => async () => {
    done.push(name);
  };
  const all: NodePorts = {
    startNode: step("start"),
    whenQuiet: step("quiet"),
    saveSessions: async () => {
      done.push("save");
      return [];
    },
    closeAll: step("close"),
    ...ports,
  };
  const clock = new SimulatedClock();
  const machine = nodeMachine.provide({ actors: bind(all) });
  return { done, clock, actor: createActor(machine, { input: { leadMs: 2_000, graceMs: 25_000 }, clock }) };
}
const hangs = () => new Promise<never>(() => {});

describe("node", () => {
  test("[NO1] drains in order: lead, quiet, save, close", async () => {
    const { actor, clock, done } = scene();
    actor.start();
    await waitFor(actor, (s) => s.matches({ serving: "ready" }));
    actor.send({ type: "node.drain" });
    expect(actor.getSnapshot().value).toBe("leading");
    clock.increment(2_000);
    const end = await waitFor(actor, (s) => s.status === "done");
    expect([done, end.output]).toEqual([["start", "quiet", "save", "close"], { unsaved: [], failure: null }]);
  });

  test("[NO2] the grace ends what does not become quiet, and a second signal ends the wait", async () => {
    const patient = scene({ whenQuiet: hangs });
    patient.actor.start();
    await waitFor(patient.actor, (s) => s.matches("serving"));
    patient.actor.send({ type: "node.drain" });
    patient.clock.increment(2_000);
    expect(patient.actor.getSnapshot().value).toBe("finishing");
    patient.clock.increment(25_000);
    await waitFor(patient.actor, (s) => s.status === "done");
    const hurried = scene({ whenQuiet: hangs });
    hurried.actor.start();
    await waitFor(hurried.actor, (s) => s.matches("serving"));
    hurried.actor.send({ type: "node.drain" });
    hurried.actor.send({ type: "node.hurry" });
    await waitFor(hurried.actor, (s) => s.status === "done");
    expect([patient.done, hurried.done]).toEqual([
      ["start", "save", "close"],
      ["start", "save", "close"],
    ]);
  });

  test("[NO3] a start that fails closes what had begun and says why", async () => {
    const cause = new Error("port in use");
    const { actor, done } = scene({
      startNode: async () => {
        throw cause;
      },
    });
    const end = await waitFor(actor.start(), (s) => s.status === "done");
    expect([done, end.output]).toEqual([["close"], { unsaved: [], failure: cause }]);
  });

  test("[NO4] the database comes and goes without ending the node; unsaved sessions are named", async () => {
    const { actor, clock } = scene({ saveSessions: async () => ["s-1"] });
    actor.start();
    await waitFor(actor, (s) => s.matches({ serving: "ready" }));
    actor.send({ type: "database.lost" });
    expect(actor.getSnapshot().value).toEqual({ serving: "degraded" });
    actor.send({ type: "database.back" });
    expect(actor.getSnapshot().value).toEqual({ serving: "ready" });
    actor.send({ type: "node.drain" });
    clock.increment(2_000);
    const end = await waitFor(actor, (s) => s.status === "done");
    expect(end.output).toEqual({ unsaved: ["s-1"], failure: null });
  });

  test("[NO5] every pair of state and event is decided, and these are the states", () => {
    expect(undecided(nodeMachine, EVENTS)).toEqual([]);
    expect(statesOf(nodeMachine)).toEqual([
      "closing",
      "finishing",
      "leading",
      "parking",
      "serving.degraded",
      "serving.ready",
      "starting",
      "stopped",
    ]);
  });
});
