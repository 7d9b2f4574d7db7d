import { setImmediate as turnOfTheLoop } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { realClock } from "./effects.ts";
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
