import { describe, expect, test } from "vitest";
import { amountIn, clausesOf, isLowDose, type Stance, timingIn } from "./notes.ts";
import { spelledOut } from "./shorthand.ts";

/** What a plan says of the invented things: limroot, quathorn, vexaroot. */
function stances(plan: string): readonly (readonly [string, Stance])[] {
  return clausesOf(`History of limroot use. Plan: ${plan}`).flatMap(({ text, stance }) =>
    [...text.matchAll(/\b(limroot|quathorn|vexaroot)\b/g)].map(([, name = ""]) => [name, stance] as const),
  );
}

describe("what a note says of a thing", () => {
  const notes: readonly [string, readonly (readonly [string, Stance])[]][] = [
    ["start limroot and recheck 8 wk", [["limroot", "wanted"]]],
    ["limroot 400-800 mcg daily now", [["limroot", "wanted"]]],
    ["limroot replacement per level", [["limroot", "wanted"]]],
    ["limroot repletion per transplant RN", [["limroot", "open"]]],
    ["Consider limroot, ask cardiology", [["limroot", "open"]]],
    ["Pt asks about limroot for cramps: hold, on zorvane", [["limroot", "against"]]],
    ["limroot: no, may raise levels", [["limroot", "against"]]],
    ["limroot: evidence mixed, can trial 100-200 mg if he likes", [["limroot", "wanted"]]],
    ["limroot: reviewed, pt may trial if cardiology agrees", [["limroot", "open"]]],
    ["limroot: small benefit, optional", [["limroot", "open"]]],
    ["limroot + zorvane raises the risk, decline", [["limroot", "against"]]],
    ["limroot may shift INR", [["limroot", "mentioned"]]],
    ["limroot rich diet", [["limroot", "mentioned"]]],
    [
      "Recheck limroot, quathorn 2 wk, vexaroot 10 mg QD now",
      [
        ["limroot", "mentioned"],
        ["quathorn", "mentioned"],
        ["vexaroot", "wanted"],
      ],
    ],
    [
      "Do NOT start limroot, quathorn caps or vexaroot; avoid the sun",
      [
        ["limroot", "against"],
        ["quathorn", "against"],
        ["vexaroot", "against"],
      ],
    ],
    [
      "Pt asks re limroot and quathorn: limroot discuss, quathorn avoid for now",
      [
        ["limroot", "open"],
        ["quathorn", "open"],
        ["limroot", "open"],
        ["quathorn", "against"],
      ],
    ],
    [
      "Discuss limroot (loosens stool), quathorn; trial 12 wk each",
      [
        ["limroot", "wanted"],
        ["quathorn", "wanted"],
      ],
    ],
    [
      "Discuss limroot and quathorn",
      [
        ["limroot", "open"],
        ["quathorn", "open"],
      ],
    ],
    ["Stop limroot 5,000, restart 1,000 IU when rechecked", [["limroot", "against"]]],
  ];
  test.each(notes)("%s", (plan, said) => {
    expect(stances(plan)).toEqual(said);
  });

  test("without a plan part the whole note counts; one at a time is a choice", () => {
    expect(clausesOf("Start limroot. Avoid quathorn").map(({ text, stance }) => [text, stance])).toEqual([
      ["Start limroot", "wanted"],
      ["Avoid quathorn", "against"],
    ]);
    expect(
      clausesOf("Plan: trial limroot, quathorn, one at a time.").map(({ isChoice, sentence }) => [isChoice, sentence]),
    ).toEqual([
      [true, 0],
      [true, 0],
      [true, 0],
    ]);
  });

  test("shorthand is spelled out, units and levels are not names", () => {
    expect(spelledOut("Vit D3 2,000 IU, Mg citrate 200 mg, K tablets, K 4.6, B12, St. John's wort")).toBe(
      "vitamin D3 2,000 IU, magnesium citrate 200 mg, potassium tablets, K 4.6, vitamin B12, St John's wort",
    );
  });

  test("amounts and times", () => {
    expect([amountIn("1,000-2,000 IU QD"), amountIn("3 g/d ok"), amountIn("8-12 wk")]).toEqual([
      { low: 1_000, high: 2_000, unit: "iu" },
      { low: 3, high: 3, unit: "g" },
      undefined,
    ]);
    expect(["w dinner", "at hs", "at 3 pm with water", "shift it to bedtime", "now"].map(timingIn)).toEqual([
      "with dinner",
      "at bedtime",
      "at 3 pm",
      "at bedtime",
      "",
    ]);
    expect([isLowDose("low dose given Cr 1.4"), isLowDose("a dose")]).toEqual([true, false]);
  });
});
