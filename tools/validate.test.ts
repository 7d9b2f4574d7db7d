import { expect, test } from "vitest";
import { validateArguments } from "./validate.ts";

const schemaOf = ($schema?: string) => ({
  ...($schema === undefined ? {} : { $schema }),
  type: "object",
  properties: {
    qty: { type: "integer", minimum: 1, maximum: 10 },
    form: { enum: ["caps", "tabs"] },
    note: { type: "string" },
    limit: { anyOf: [{ type: "integer" }, { type: "null" }] },
    exact: { type: ["boolean", "null"] },
    items: { type: "array", items: { type: "object", properties: { dose: { type: "number" } }, required: ["dose"] } },
  },
  required: ["qty"],
  additionalProperties: false,
});

const refused = (...problems: readonly string[]) => ({
  ok: false,
  text: ["order was not run: its arguments do not fit its schema.", ...problems.map((one) => `- ${one}`)].join("\n"),
});

for (const dialect of [
  undefined,
  "http://json-schema.org/draft-07/schema#",
  "https://json-schema.org/draft/2020-12/schema",
]) {
  const check = (args: unknown) => validateArguments("order", schemaOf(dialect), args);

  test(`[J-09] path and expected value of what is wrong (${dialect ?? "no $schema"})`, () => {
    expect(check({ qty: 5, form: "caps" })).toEqual({ ok: true, args: { qty: 5, form: "caps" } });
    expect(check({ form: "caps" })).toEqual(refused("qty: is required, but is missing"));
    expect(check({ qty: 5, form: "CAPS" })).toEqual(refused('form: expected one of ["caps","tabs"]'));
    expect(check({ qty: 5, form: "caps", x: 1 })).toEqual(refused("x: is not an argument of this tool"));
    expect(check({ qty: 11 })).toEqual(refused("qty: must be <= 10"));
    expect(check({ qty: "many" })).toEqual(refused('qty: expected integer, got the string "many"'));
    expect(check({ qty: 1, items: [{ dose: 2 }, {}] })).toEqual(refused("items.1.dose: is required, but is missing"));
    expect(check([5])).toEqual(refused("(arguments): expected an object, got an array"));
    expect(check(null)).toEqual(refused("(arguments): expected an object, got null"));
    expect(check("{}")).toEqual(refused('(arguments): expected an object, got the string "{}"'));
  });

  test(`[J-09] the one coercion: exact JSON text where a number or boolean is wanted (${dialect ?? "no $schema"})`, () => {
    const given = { qty: "5", exact: "true", limit: "7", items: [{ dose: "-1.5" }] };
    expect(check(given)).toEqual({ ok: true, args: { qty: 5, exact: true, limit: 7, items: [{ dose: -1.5 }] } });
    expect(given.qty).toBe("5");
    expect(check({ qty: 5, note: "5" })).toEqual({ ok: true, args: { qty: 5, note: "5" } });
    for (const qty of [" 5", "5.", "05", "0x5", "5e0", "", "five"])
      expect(check({ qty })).toEqual(refused(`qty: expected integer, got the string ${JSON.stringify(qty)}`));
    expect(check({ qty: "11" })).toEqual(refused("qty: must be <= 10"));
    expect(check({ qty: "1.5" })).toEqual(refused("qty: expected integer, got 1.5"));
    expect(check({ qty: 5, note: 5 })).toEqual(refused("note: expected string, got 5"));
  });
}

test("[J-09] the text is bounded, however much is wrong", () => {
  const args = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`${n}-${"x".repeat(500)}`, n]));
  const result = validateArguments("order", schemaOf(), { qty: 1, ...args });
  expect(result.ok).toBe(false);
  expect(result.ok ? 0 : result.text.length).toBeLessThanOrEqual(1_200);
});

test("a schema that cannot be compiled leaves the check to the server; two schemas may have one $id", () => {
  expect(validateArguments("t", { type: "object", $ref: "#/nowhere" }, { a: 1 })).toEqual({ ok: true, args: { a: 1 } });
  const withId = (type: string) => ({ $id: "urn:same", type: "object", properties: { a: { type } } });
  expect(validateArguments("t", withId("string"), { a: "x" }).ok).toBe(true);
  expect(validateArguments("t", withId("array"), { a: "x" }).ok).toBe(false);
});
