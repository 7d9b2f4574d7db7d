import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ToolDeclaration } from "../model.ts";
import { isObject } from "./json-values.ts";
import { argsFromGemini, geminiTools } from "./schema-gemini.ts";

const tool = (name: string, inputSchema: Readonly<Record<string, unknown>>): ToolDeclaration => ({
  name,
  description: `does ${name}`,
  inputSchema,
});
const parametersOf = (inputSchema: Readonly<Record<string, unknown>>) =>
  geminiTools([tool("t", inputSchema)]).declarations[0]?.parameters;

const KNOWN =
  /^(type|format|description|nullable|enum|items|minItems|maxItems|properties|required|minLength|maxLength|anyOf|minimum|maximum)$/;

/** What Gemini refuses in `parameters`, as CASES.md lists it. */
function problems(schema: unknown, path = "$"): string[] {
  if (!isObject(schema)) return [`${path}: not a schema`];
  const { type, properties, items, anyOf, enum: values, required } = schema;
  const found = Object.keys(schema).flatMap((key) => (KNOWN.test(key) ? [] : [`${path}: keyword ${key}`]));
  if (type === undefined ? !Array.isArray(anyOf) : typeof type !== "string") found.push(`${path}: type`);
  if (type !== undefined && anyOf !== undefined) found.push(`${path}: type beside anyOf`);
  if (type === "OBJECT" && (!isObject(properties) || Object.keys(properties).length === 0))
    found.push(`${path}: empty`);
  if (type === "ARRAY" && !isObject(items)) found.push(`${path}: items`);
  if (
    values !== undefined &&
    !(
      type === "STRING" &&
      Array.isArray(values) &&
      values.length > 0 &&
      values.every((v) => typeof v === "string" && v !== "")
    )
  ) {
    found.push(`${path}: enum`);
  }
  if (
    Array.isArray(required) &&
    required.some((name) => !isObject(properties) || !Object.hasOwn(properties, String(name)))
  ) {
    found.push(`${path}: required`);
  }
  return [
    ...found,
    ...Object.entries(isObject(properties) ? properties : {}).flatMap(([name, inner]) =>
      problems(inner, `${path}.${name}`),
    ),
    ...(items === undefined ? [] : problems(items, `${path}[]`)),
    ...(Array.isArray(anyOf) ? anyOf.flatMap((inner, at) => problems(inner, `${path}|${at}`)) : []),
  ];
}

const A09 = {
  $schema: "x",
  type: "object",
  additionalProperties: false,
  title: "T",
  properties: {
    mode: { const: "fast" },
    note: { anyOf: [{ type: "string" }, { type: "null" }] },
    n: { type: ["integer", "null"], exclusiveMinimum: 0, default: 1 },
    tags: { type: "array", uniqueItems: true, items: { type: "string", format: "uuid" } },
    list: { type: "array" },
  },
  required: ["mode", "gone"],
};

describe("schemas for Gemini", () => {
  test("[A-09] keywords that Gemini refuses are gone, their meaning is kept where it can be", () => {
    const before = structuredClone(A09);
    expect(parametersOf(A09)).toEqual({
      type: "OBJECT",
      properties: {
        mode: { type: "STRING", enum: ["fast"] },
        note: { type: "STRING", nullable: true },
        n: { type: "INTEGER", minimum: 1, nullable: true },
        tags: { type: "ARRAY", items: { type: "STRING", description: "Format: uuid." } },
        list: {
          type: "ARRAY",
          items: {
            anyOf: [{ type: "STRING" }, { type: "NUMBER" }, { type: "BOOLEAN" }],
            nullable: true,
            description: "Objects and lists: as JSON text.",
          },
        },
      },
      required: ["mode"],
    });
    expect(A09).toEqual(before);
  });

  test("[A-09] a broken tool is left out and named; the others are declared", () => {
    const { declarations, leftOut } = geminiTools([
      tool("good", A09),
      tool("pointless", { type: "object", properties: { a: { $ref: "#/$defs/nowhere" } } }),
      tool("typo", { type: "object", properties: { a: { type: "strnig" } } }),
      tool("listy", { type: "array", items: { type: "string" } }),
      tool("good", { type: "object" }),
      tool("fine", { type: "object", properties: { a: { type: "string" } } }),
    ]);
    expect(declarations.map(({ name }) => name)).toEqual(["good", "fine"]);
    expect(leftOut).toEqual([
      { kind: "tool_left_out", tool: "pointless", reason: "$ref points nowhere" },
      { kind: "tool_left_out", tool: "typo", reason: "a type that JSON Schema does not have" },
      { kind: "tool_left_out", tool: "listy", reason: "arguments must be an object" },
      { kind: "tool_left_out", tool: "good", reason: "a tool of this name is declared already" },
    ]);
  });

  test("[A-09] references, unions and intersections", () => {
    const schema = {
      type: "object",
      $defs: {
        Item: {
          type: "object",
          properties: { id: { type: "string" }, parts: { type: "array", items: { $ref: "#/$defs/Item" } } },
        },
        Named: { type: "object", properties: { label: { type: "string" } }, required: ["label"] },
      },
      properties: {
        item: { $ref: "#/$defs/Item", description: "the item" },
        both: {
          allOf: [
            { $ref: "#/$defs/Named" },
            { properties: { size: { type: "integer", enum: [1, 2] } }, required: ["size"] },
          ],
        },
        unit: { oneOf: [{ const: "mg" }, { const: "mcg" }] },
        amount: { type: ["string", "number"] },
      },
    };
    const asked = parametersOf(schema);
    expect(problems(asked)).toEqual([]);
    expect(asked?.properties?.["both"]).toEqual({
      type: "OBJECT",
      properties: { label: { type: "STRING" }, size: { type: "INTEGER", description: "One of: 1, 2." } },
      required: ["label", "size"],
    });
    expect(asked?.properties?.["unit"]).toEqual({ type: "STRING", enum: ["mg", "mcg"] });
    expect(asked?.properties?.["amount"]).toEqual({ anyOf: [{ type: "STRING" }, { type: "NUMBER" }] });
    expect(asked?.properties?.["item"]?.description).toBe("the item");
    expect(argsFromGemini(schema, { item: { id: "1", parts: ['{"id":"2"}'] } })).toEqual({
      item: { id: "1", parts: [{ id: "2" }] },
    });
  });

  test("[A-10] a tool without arguments has no parameters, and runs with {} or with none", () => {
    for (const schema of [
      { type: "object", properties: {} },
      { type: "object" },
      { type: "object", properties: {}, additionalProperties: false },
    ]) {
      expect(geminiTools([tool("ping", schema)]).declarations).toEqual([{ name: "ping", description: "does ping" }]);
      expect(argsFromGemini(schema, undefined)).toEqual({});
      expect(argsFromGemini(schema, {})).toEqual({});
    }
  });

  test("[A-10] free keys are asked for as pairs, and the tool gets the plain object", () => {
    const labels = { type: "object", additionalProperties: { type: "string" } };
    const pairs = {
      type: "ARRAY",
      items: {
        type: "OBJECT",
        properties: { key: { type: "STRING" }, value: { type: "STRING" } },
        required: ["key", "value"],
      },
      description: "A list of key and value pairs.",
    };
    expect(parametersOf(labels)).toEqual({ type: "OBJECT", properties: { entries: pairs } });
    expect(
      argsFromGemini(labels, {
        entries: [
          { key: "a", value: "1" },
          { key: "__proto__", value: "x" },
        ],
      }),
    ).toEqual(
      Object.fromEntries([
        ["a", "1"],
        ["__proto__", "x"],
      ]),
    );
    expect(argsFromGemini(labels, {})).toEqual({});
    // A model may write the plain object after all.
    expect(argsFromGemini(labels, { color: "red" })).toEqual({ color: "red" });

    const nested = { type: "object", properties: { opts: { type: "object", properties: {} } } };
    expect(problems(parametersOf(nested))).toEqual([]);
    expect(
      argsFromGemini(nested, {
        opts: [
          { key: "deep", value: '{"a":[1]}' },
          { key: "n", value: 3 },
          { key: "t", value: "x" },
        ],
      }),
    ).toEqual({
      opts: { deep: { a: [1] }, n: 3, t: "x" },
    });
    const list = { type: "object", properties: { rows: { type: "array", items: labels } } };
    expect(argsFromGemini(list, { rows: [[{ key: "a", value: "b" }], { c: "d" }] })).toEqual({
      rows: [{ a: "b" }, { c: "d" }],
    });
  });

  test("[A-10] a part that admits {} only is not asked for, and is there all the same where it is demanded", () => {
    const none = { type: "object", properties: {}, additionalProperties: false };
    const schema = { type: "object", properties: { name: { type: "string" }, none }, required: ["none", "name"] };
    expect(parametersOf(schema)).toEqual({
      type: "OBJECT",
      properties: { name: { type: "STRING" } },
      required: ["name"],
    });
    expect(argsFromGemini(schema, { name: "x" })).toEqual({ name: "x", none: {} });
  });

  test("[A-10] what does not fit is left for the validation to report", () => {
    const labels = { type: "object", properties: { l: { type: "object", additionalProperties: { type: "string" } } } };
    for (const args of [[1], "text", { l: [{ key: 1 }] }, { l: 5 }]) expect(argsFromGemini(labels, args)).toEqual(args);
  });

  test("[A-09] any schema gives a declaration that Gemini takes, or none", () => {
    const leaf = fc.constantFrom<unknown>(
      true,
      {},
      { type: "string" },
      { type: "null" },
      { const: 1 },
      { const: "a" },
      { enum: ["a", null, ""] },
      { enum: [1, 2] },
      { enum: ["x", 1] },
      { type: "array" },
      { type: "object" },
      { type: "object", properties: {}, additionalProperties: false },
      { type: ["string", "null", "array"] },
      { $ref: "#" },
      { $ref: "#/properties/a" },
      { type: "string", format: "date-time" },
      { type: "boolean", const: true },
      { type: "number", exclusiveMinimum: 0, maximum: 3 },
      { type: "array", items: false },
      { type: "array", prefixItems: [{ type: "string" }, { type: "integer" }] },
    );
    const { schema } = fc.letrec<{ schema: unknown }>((tie) => ({
      schema: fc.oneof(
        { maxDepth: 4, withCrossShrink: true },
        leaf,
        fc.record({ type: fc.constant("array"), items: tie("schema") }),
        fc.record({
          type: fc.constant("object"),
          properties: fc.dictionary(fc.constantFrom("a", "b", "type", "anyOf"), tie("schema"), { maxKeys: 3 }),
          required: fc.subarray(["a", "b", "gone"]),
          additionalProperties: fc.oneof(fc.boolean(), tie("schema")),
        }),
        fc.record({ anyOf: fc.array(tie("schema"), { maxLength: 3 }) }),
        fc.record({ allOf: fc.array(tie("schema"), { maxLength: 2 }) }),
      ),
    }));
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom("a", "b"), schema, { maxKeys: 2 }), fc.json(), (properties, sent) => {
        const root = { type: "object", properties };
        const { declarations, leftOut } = geminiTools([tool("t", root)]);
        expect(declarations.length + leftOut.length).toBe(1);
        for (const { parameters } of declarations)
          if (parameters !== undefined) expect(problems(parameters)).toEqual([]);
        argsFromGemini(root, JSON.parse(sent));
      }),
    );
  });
});
