import { describe, expect, test } from "vitest";
import { HeldLoop } from "../testing/held-loop.ts";
import { prepare } from "./preparing.ts";

/** Makes something after `turns` of the loop, asks for it, and turns the loop on: what was given, made and told. */
function scene(turns: number, make: () => string) {
  const loop = new HeldLoop();
  const faults: unknown[] = [];
  let tries = 0;
  const preparing = prepare(
    loop.soon,
    () => {
      tries += 1;
      return make();
    },
    (error) => faults.push(error),
  );
  for (let turn = 0; turn < turns; turn += 1) loop.turn();
  const given = preparing.end();
  while (!loop.isIdle) loop.turn();
  return { given, tries, faults };
}

describe("what is made ahead", () => {
  test("[PR1] it is made once the turn in which the statement leaves is over; when it is asked for before, never", () => {
    expect([0, 1, 2].map((turns) => scene(turns, () => "made"))).toEqual([
      { given: undefined, tries: 0, faults: [] },
      { given: undefined, tries: 0, faults: [] },
      { given: "made", tries: 1, faults: [] },
    ]);
  });

  test("[PR2] a fault while it is made is told, and nothing was made", () => {
    const bug = new Error("a bug");
    const broken = () => {
      throw bug;
    };
    expect(scene(2, broken)).toEqual({ given: undefined, tries: 1, faults: [bug] });
  });
});
