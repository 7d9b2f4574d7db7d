import fc from "fast-check";
import { expect, test } from "vitest";
import { ownName, sentName } from "./names.ts";

test("[A-09] a legal name is sent as it is", () => {
  for (const name of ["patient_search", "_x", "A-1", "a".repeat(64)]) expect(sentName(name)).toBe(name);
});

test("[A-09] any other name becomes a legal one, always the same, and leads back to its tool", () => {
  const names = [
    "clinic-core.patient.find",
    `catalog_${"x".repeat(70)}`,
    `catalog_${"x".repeat(71)}`,
    "näme",
    "9lives",
    "",
  ];
  const sent = names.map(sentName);
  expect(sent.slice(0, 1)).toEqual(["clinic-core_patient_find_63e788b1"]);
  expect(new Set(sent).size).toBe(names.length);
  expect(sent.map((name) => ownName(name, names))).toEqual(names);
  expect(ownName("made_up", names)).toBe("made_up");
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (name) => {
      expect(sentName(name)).toMatch(/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/);
    }),
  );
});
