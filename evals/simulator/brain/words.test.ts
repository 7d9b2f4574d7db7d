import { describe, expect, test } from "vitest";
import { personIn } from "./people.ts";
import { nouns } from "./words.ts";

describe("nouns", () => {
  const cases: readonly [string, readonly string[]][] = [
    ["Does ginkgo interact with warfarin?", ["ginkgo", "warfarin"]],
    ["Can I take St John's wort together with cyclosporine?", ["St John's wort", "cyclosporine"]],
    ["is it ok to combine St. John’s Wort, fish oil & vitamin k2", ["St John's Wort", "fish oil", "vitamin k2"]],
    ["my patient on warfarin 5 mg daily wants to start turmeric 500mg", ["warfarin", "turmeric"]],
    [
      "interactions between levothyroxine and calcium carbonate or iron",
      ["levothyroxine", "calcium carbonate", "iron"],
    ],
    ["vitamin B 12 + omega 3 + coenzyme Q 10", ["vitamin B 12", "omega 3", "coenzyme Q 10"]],
    ["warfarin's interactions with cat's claw", ["warfarin", "cat's claw"]],
    ["5-HTP and trimethoprim/sulfamethoxazole", ["5-HTP", "trimethoprim/sulfamethoxazole"]],
    ["combined oral contraceptive with green tea extract", ["combined oral contraceptive", "green tea extract"]],
    ["Ginkgo and ginkgo", ["Ginkgo"]],
    ["are these safe together?", []],
  ];
  test.each(cases)("%s", (text, expected) => {
    expect(nouns(text)).toEqual(expected);
  });
});

describe("people", () => {
  test("a supplement with a number in its name is nobody", () => {
    expect(personIn("Does Coenzyme Q10 interact with warfarin?")).toEqual({ kind: "nobody" });
    expect(personIn("Recommend Coenzyme Q10 for Ada Example")).toEqual({
      kind: "named",
      name: "Ada Example",
      sure: true,
    });
  });

  const named = (name: string, sure: boolean) => ({ kind: "named", name, sure });
  const cases: readonly [string, unknown][] = [
    ["check interactions for patient Orla Quensby", named("Orla Quensby", true)],
    ["recommend zinc for Orla Quensby-Vance.", named("Orla Quensby-Vance", true)],
    ["recommend zinc for orla quensby", named("orla quensby", false)],
    ["What are Orla's allergies?", named("Orla", true)],
    ["Can Orla Quensby take ginkgo?", named("Orla Quensby", false)],
    ["which iron product for my patient?", { kind: "shown" }],
    ["Is it safe for her?", { kind: "shown" }],
    ["recommend zinc for blood pressure", { kind: "nobody" }],
    ["Does Fish Oil Interact With Warfarin?", { kind: "nobody" }],
    ["Recommend Vitamin D for Joint Pain", { kind: "nobody" }],
    ["How does a patient place an order?", { kind: "nobody" }],
  ];
  test.each(cases)("%s", (text, expected) => {
    expect(personIn(text)).toEqual(expected);
  });
});
