import { expect, test } from "vitest";
import { bedrockTools, INERT_TOOL } from "./schema-bedrock.ts";

const find = { name: "find", description: "Finds.", inputSchema: { type: "object", properties: {} } };

test("[B-06] a tool's schema is sent as it is; a root that Claude refuses becomes an object; what can't be told is named", () => {
  const inputSchema = {
    type: "object",
    properties: { a: { $ref: "#/$defs/A" } },
    $defs: { A: { const: 1 } },
    additionalProperties: false,
  };
  const union = {
    type: "object",
    description: "one of two",
    properties: { c: { type: "boolean" } },
    required: ["c"],
    anyOf: [{ properties: { a: { type: "string" } }, required: ["a"] }, { properties: { b: { type: "number" } } }],
  };
  const tools = [
    { ...find, inputSchema },
    { ...find, name: "union", inputSchema: union },
    { ...find, name: "bare", description: " ", inputSchema: {} },
    { ...find, name: "list", inputSchema: { type: "array" } },
    { ...find, name: "odd", inputSchema: { type: "object", properties: { $filter: {} } } },
    find,
  ];
  const { declarations, leftOut } = bedrockTools(tools);
  expect(declarations).toEqual([
    { toolSpec: { name: "find", description: "Finds.", inputSchema: { json: inputSchema } } },
    {
      toolSpec: {
        name: "union",
        description: "Finds.",
        inputSchema: {
          json: {
            type: "object",
            description: "one of two",
            properties: {
              a: { type: "string" },
              b: { type: "number" },
              c: { type: "boolean" },
            },
            required: ["c"],
          },
        },
      },
    },
    { toolSpec: { name: "bare", inputSchema: { json: { type: "object" } } } },
  ]);
  expect(leftOut.map(({ tool }) => tool)).toEqual(["list", "odd", "find"]);
});

test("[B-06] references and joined schemas at the root become one object, their definitions kept", () => {
  const $defs = {
    A: { type: "object", properties: { a: { $ref: "#/$defs/B" } }, required: ["a"] },
    B: { type: "string" },
  };
  const sent = (inputSchema: object) =>
    bedrockTools([{ ...find, inputSchema: inputSchema as never }]).declarations[0]?.toolSpec?.inputSchema?.json;
  const joined = { $defs, type: "object", properties: { a: { $ref: "#/$defs/B" } }, required: ["a"] };
  expect(sent({ $ref: "#/$defs/A", $defs })).toEqual(joined);
  expect(sent({ allOf: [{ $ref: "#/$defs/A" }, { properties: { c: {} } }], $defs })).toEqual({
    ...joined,
    properties: { ...joined.properties, c: {} },
  });
  expect(sent({ $ref: "#" })).toBeUndefined();
});

test("[B-04] no tool can take the inert tool's name", () => {
  expect(bedrockTools([{ ...find, name: INERT_TOOL }]).leftOut.map(({ tool }) => tool)).toEqual([INERT_TOOL]);
});
