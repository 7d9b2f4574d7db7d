import { getEventListeners } from "node:events";
import { setImmediate as turnOfTheLoop } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { realClock } from "./effects.ts";
import { Time } from "./sessions/simulation/step-clock.ts";
import { HeldLoop } from "./testing/held-loop.ts";

const held = () => {
  const loop = new HeldLoop();
  return { soon: loop.soon, turn: async () => loop.turn() };
};
const real = () => ({ soon: realClock.soon, turn: () => turnOfTheLoop() });

describe.each([
  ["the real one", real],
  ["a test's", held],
])("soon: %s", (_, make) => {
  test("[EF1] what was asked for in one turn runs after everything at hand, once and in order", async () => {
    const { soon, turn } = make();
    const ran: string[] = [];
    soon(() => ran.push("first"));
    soon(() => ran.push("second"));
    for (let hops = 0; hops < 50; hops += 1) await Promise.resolve();
    ran.push("at hand");
    await turn();
    expect(ran).toEqual(["at hand", "first", "second"]);
    await turn();
    expect(ran.length).toBe(3);
  });

  test("[EF2] what it asks for itself has to wait for the next turn", async () => {
    const { soon, turn } = make();
    const ran: number[] = [];
    const again = () => {
      ran.push(ran.length);
      if (ran.length < 5) soon(again);
    };
    soon(again);
    await turn();
    expect(ran).toEqual([0]);
    await turn();
    expect(ran).toEqual([0, 1]);
  });
});

const stepped = () => {
  const time = new Time();
  const clock = time.clock();
  return { sleep: clock.sleep, pass: () => time.advance(1), timers: () => (clock.due === undefined ? 0 : 1) };
};
// Of the whole process: only counts that are taken in one go can be compared.
const ticking = () => {
  const timers = () => process.getActiveResourcesInfo().filter((what) => what === "Timeout").length;
  return { sleep: realClock.sleep, pass: () => {}, timers };
};

describe.each([
  ["the real one", ticking],
  ["a simulation's", stepped],
])("sleep: %s", (_, make) => {
  const over = new Error("over");
  const listening = ({ signal }: AbortController) => getEventListeners(signal, "abort").length;

  test("[EF3] cut short, before it or meanwhile, it rejects with that reason; afterwards nothing of it is left", async () => {
    const { sleep, pass, timers } = make();
    const stop = new AbortController();
    const before = timers();
    const meanwhile = sleep(60_000, stop.signal);
    expect([listening(stop), timers() - before]).toEqual([1, 1]);
    stop.abort(over);
    expect([listening(stop), timers() - before]).toEqual([0, 0]);
    const late = sleep(1, stop.signal);
    expect([listening(stop), timers() - before]).toEqual([0, 0]);
    await expect(meanwhile).rejects.toBe(over);
    await expect(late).rejects.toBe(over);

    const quiet = new AbortController();
    const rings = sleep(1, quiet.signal);
    pass();
    await rings;
    expect(listening(quiet)).toBe(0);
  });
});
