import { buildSchema, parse } from "graphql";
import { describe, expect, test } from "vitest";
import { generateSchemas, UnsuitableOperation } from "./schema-generator.ts";

const schema = buildSchema(`
  directive @range(min: Int!, max: Int!) on ARGUMENT_DEFINITION | INPUT_FIELD_DEFINITION
  directive @size(min: Int!, max: Int!) on ARGUMENT_DEFINITION | INPUT_FIELD_DEFINITION
  scalar Date
  enum Colour { "Like blood." red "Like grass." green }
  "A filter."
  input Filter { "At least." least: Float @range(min: 1, max: 9) colours: [Colour!]! inner: Filter2 }
  input Filter2 { name: String! @size(min: 1, max: 5) on: Boolean = true }
  type Query {
    things(
      "What to find." query: String! @size(min: 0, max: 10)
      "Ids." ids: [ID!] @size(min: 1, max: 3)
      filter: Filter
      colour: Colour
      limit: Int @range(min: 1, max: 50)
    ): Things!
    maybe: Things
    names: [String!]!
    any: Either!
  }
  union Either = Things | Owner
  type Things { things: [Thing!]! total: Int! owner: Owner "Any colour." colour: Colour maker: Owner! grid: [[Float]!] at: Date }
  type Thing { id: ID! size: Float ok: Boolean! }
  type Owner { name: String }
`);
const generate = (operation: string) => generateSchemas(schema, parse(operation));
const input = (variables: string, use: string) => generate(`query ($${variables}) { things(${use}) { total } }`).input;
const output = (selection: string) => generate(`{ things(query: "") ${selection} }`).output;

describe("input", () => {
  test("[PF-40] non-null is required, others and those with a default are not; bounds and texts come along", () => {
    expect(
      input(
        "query: String!, $ids: [ID!], $limit: Int! = 10, $colour: Colour",
        "query: $query, ids: $ids, limit: $limit, colour: $colour",
      ),
    ).toEqual({
      type: "object",
      properties: {
        query: { type: "string", description: "What to find.", maxLength: 10 },
        ids: { type: "array", items: { type: "string" }, description: "Ids.", minItems: 1, maxItems: 3 },
        limit: { type: "integer", minimum: 1, maximum: 50, default: 10 },
        colour: { type: "string", enum: ["red", "green"], description: "red: Like blood. green: Like grass." },
      },
      required: ["query"],
      additionalProperties: false,
    });
  });

  test("[PF-41] input objects nest, and are closed too", () => {
    expect(input("filter: Filter", 'query: "", filter: $filter').properties["filter"]).toEqual({
      type: "object",
      description: "A filter.",
      properties: {
        least: { type: "number", description: "At least.", minimum: 1, maximum: 9 },
        colours: {
          type: "array",
          items: { type: "string", enum: ["red", "green"], description: "red: Like blood. green: Like grass." },
        },
        inner: {
          type: "object",
          properties: {
            name: { type: "string", minLength: 1, maxLength: 5 },
            on: { type: "boolean", default: true },
          },
          required: ["name"],
          additionalProperties: false,
        },
      },
      required: ["colours"],
      additionalProperties: false,
    });
  });

  test("[PF-42] a variable inside an object has the text of that field", () => {
    const { properties } = input("least: Float", 'query: "", filter: { least: $least, colours: [red] }');
    expect(properties).toEqual({ least: { type: "number", description: "At least.", minimum: 1, maximum: 9 } });
  });
});

describe("output", () => {
  test("[PF-43] selected fields are all required; what may be null says so", () => {
    expect(output("{ things { id size } total owner { name } colour maker { name } grid }")).toEqual({
      type: "object",
      properties: {
        things: {
          type: "array",
          items: {
            type: "object",
            properties: { id: { type: "string" }, size: { type: ["number", "null"] } },
            required: ["id", "size"],
            additionalProperties: false,
          },
        },
        total: { type: "integer" },
        owner: {
          anyOf: [
            {
              type: "object",
              properties: { name: { type: ["string", "null"] } },
              required: ["name"],
              additionalProperties: false,
            },
            { type: "null" },
          ],
        },
        colour: { type: ["string", "null"], enum: ["red", "green", null], description: "Any colour." },
        maker: {
          type: "object",
          properties: { name: { type: ["string", "null"] } },
          required: ["name"],
          additionalProperties: false,
        },
        grid: { type: ["array", "null"], items: { type: "array", items: { type: ["number", "null"] } } },
      },
      required: ["things", "total", "owner", "colour", "maker", "grid"],
      additionalProperties: false,
    });
  });

  test("[PF-44] aliases name the properties and the result; fragments are opened", () => {
    const generated = generate(`
      { found: things(query: "") { count: total ...rest ... on Things { colour } } }
      fragment rest on Things { maker { name } }`);
    expect(generated.field).toBe("found");
    expect(generated.output.required).toEqual(["count", "maker", "colour"]);
  });
});

test.each([
  ["two operations", "query A { names } query B { names }"],
  ["two root fields", '{ names things(query: "") { total } }'],
  ["a result that may be null", "{ maybe { total } }"],
  ["a result that is no object", "{ names }"],
  ["a union", "{ any { ... on Owner { name } } }"],
  ["a scalar without a meaning", '{ things(query: "") { at } }'],
  ["@include", 'query ($on: Boolean!) { things(query: "") { total @include(if: $on) } }'],
  ["a field twice", '{ things(query: "") { total total } }'],
])("[PF-45] %s is refused", (_, operation) => {
  expect(() => generate(operation)).toThrow(UnsuitableOperation);
});
