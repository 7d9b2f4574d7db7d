import { describe, expect, test } from "vitest";
import type { Product } from "../../../tools/builtin/catalog.ts";
import { doseVerdict, type Limits, unitsInWords, withoutLimits } from "./plan-doses.ts";

const product = (
  name: string,
  parts: readonly (readonly [string, number, string])[],
  over: Partial<Product> = {},
): Product => ({
  ...{ id: `prd-${name}`, brand: "B", name, inStock: true, exceedsUpperLimit: [], allergens: [], dietFlags: [] },
  supplements: parts.map(([id]) => ({ id, name: id })),
  ingredients: parts.map(([supplementId, amount, unit]) => ({ supplementId, amount, unit })),
  availableOrMasterVariant: { id: `var-${name}` },
  ...over,
});
const limits: Readonly<Record<string, Limits>> = {
  magnesium: { typicalAdultDose: { max: 500, unit: "mg elemental" }, upperLimit: { value: 350, unit: "mg" } },
  folate: { typicalAdultDose: { max: 800, unit: "mcg" }, upperLimit: { value: 1, unit: "mg" } },
  b12: { typicalAdultDose: { max: 2.4, unit: "mcg" }, upperLimit: null },
  tea: { typicalAdultDose: { max: 800, unit: "mg EGCG" }, upperLimit: null },
};
const verdict = (...items: readonly (readonly [Product, number])[]) =>
  doseVerdict(
    items.map(([one, unitsPerDay]) => ({ product: one, unitsPerDay })),
    (id) => limits[id],
  );
const nothing = { problems: [], warnings: [] };
const magnesium = product("Mag 200", [["magnesium", 200, "mg elemental"]]);
const mix = product("Mix", [
  ["magnesium", 150, "mg elemental"],
  ["b12", 2, "mcg"],
]);

describe("doses", () => {
  test("[SG14] one supplement is summed over all items, combinations included, in the limit's own unit", () => {
    expect(verdict([magnesium, 1], [mix, 1])).toEqual(nothing);
    expect(verdict([magnesium, 1.5], [mix, 1])).toEqual({
      problems: [
        "magnesium comes to 450 mg a day over all items, above the upper limit of 350 mg: fewer units, a smaller product, or one item less.",
      ],
      warnings: [],
    });
    const folate = product("Folate", [["folate", 800, "mcg"]]);
    expect(verdict([folate, 1])).toEqual(nothing);
    expect(verdict([folate, 1.1]).warnings).toEqual(["folate comes to 880 mcg a day, above the typical 800 mcg."]);
    expect(verdict([folate, 2]).problems).toHaveLength(1);
  });

  test("[SG15] without an upper limit the typical dose is the limit, but for the least there is to take", () => {
    const b12 = product("B12", [["b12", 500, "mcg"]]);
    expect(verdict([b12, 1])).toEqual({
      problems: [],
      warnings: ["b12 comes to 500 mcg a day, above the typical 2.4 mcg."],
    });
    expect(verdict([b12, 2]).problems).toEqual([
      "b12 comes to 1,000 mcg a day, above the typical 2.4 mcg, and no upper limit is set: fewer units, or a smaller product.",
    ]);
    expect(verdict([b12, 1], [mix, 1]).problems).toHaveLength(1);
  });

  test("a product above a limit by itself is refused; what measures something else is not compared", () => {
    const over = product("Max", [["zinc", 90, "mg"]], { exceedsUpperLimit: ["zinc"] });
    expect(verdict([over, 1]).problems).toEqual(["one serving of Max is above an upper limit: take another product."]);
    expect(verdict([product("Leaf", [["tea", 3_000, "mg"]]), 2])).toEqual(nothing);
    expect(verdict([product("Extract", [["tea", 0.5, "g EGCG"]]), 2]).problems).toHaveLength(1);
  });

  test("limits of what is only in combinations have to be looked up", () => {
    expect(withoutLimits([{ product: magnesium, unitsPerDay: 1 }])).toEqual([]);
    expect(withoutLimits([magnesium, mix].map((one) => ({ product: one, unitsPerDay: 1 })))).toEqual(["b12"]);
  });

  test.each([
    ["1 capsule daily", 1],
    ["2 servings daily with dinner", undefined],
    ["2 capsules twice a day", 4],
    ["one tablet three times a day", 3],
    ["2 tablets every other day", 1],
    ["1 vegan capsule at bedtime", 1],
    ["1 capsule in the morning and at bedtime", undefined],
    ["1 capsule in the morning, 2 capsules at night", undefined],
    ["half a tablet nightly (200 mg)", 0.5],
    ["1 serving daily (2 capsules)", 1],
    ["as on the label", undefined],
    ["4 capsules each morning", 4],
  ])("%s says %s a day", (dosing, units) => {
    expect(unitsInWords(dosing)).toBe(units);
  });
});
