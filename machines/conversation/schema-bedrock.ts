import type { Tool } from "@aws-sdk/client-bedrock-runtime";
import type { ToolDeclaration } from "../model.ts";
import { type JsonObject, wellFormed } from "./json-values.ts";
import { sentName } from "./names.ts";
import type { ToolLeftOut } from "./schema-gemini.ts";
import { flattened, isNull, SchemaRefused, unionAsObject } from "./schema-shape.ts";

/**
 * Declared where history holds calls but nothing may be called: the provider demands a tool then. No tool of ours has
 * this name, and the answer's reader drops calls of it.
 */
export const INERT_TOOL = "no_tool_can_be_called_now";

export const inertTool: Tool = {
  toolSpec: {
    name: INERT_TOOL,
    description: "Stands for an empty list of tools. Never call it: answer in plain text.",
    inputSchema: { json: { type: "object", properties: {} } },
  },
};

const objectOr = (value: unknown): JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};

const UNIONS = ["anyOf", "oneOf", "allOf"] as const;

/** The tool's own schema, untouched unless its root is one of the few forms that Claude refuses. */
function rootObject(schema: JsonObject): JsonObject {
  const rootRefused = "$ref" in schema || UNIONS.some((keyword) => keyword in schema);
  if (!rootRefused) {
    if (schema["type"] === "object") return schema;
    if (schema["type"] === undefined) return { type: "object", ...schema };
    throw new SchemaRefused("arguments must be an object");
  }
  const flat = flattened(schema, { root: schema, followed: [], depth: 0 });
  if (flat === undefined) throw new SchemaRefused("the schema is nothing but a reference to itself");
  const { anyOf, oneOf, ...beside } = flat.schema;
  const union = anyOf ?? oneOf;
  const definitions = Object.fromEntries(
    ["$defs", "definitions"].flatMap((key) => (key in schema ? [[key, schema[key]]] : [])),
  );
  if (!Array.isArray(union)) return { ...definitions, ...beside, type: "object" };
  const variants = union
    .filter((variant) => !isNull(variant))
    .map((variant) => flattened(variant, flat.place)?.schema ?? {});
  const { properties, required, ...rest } = unionAsObject(variants);
  const demanded = [required, beside["required"]].flatMap((list) => (Array.isArray(list) ? list : []));
  return {
    ...definitions,
    ...rest,
    ...beside,
    type: "object",
    properties: { ...objectOr(properties), ...objectOr(beside["properties"]) },
    required: [...new Set(demanded)],
  };
}

/** Claude refuses the whole request for one name of a property outside of these. */
const PROPERTY = /^[A-Za-z0-9_.-]{1,64}$/;

function withLegalProperties(schema: JsonObject): JsonObject {
  if (Object.keys(objectOr(schema["properties"])).every((name) => PROPERTY.test(name))) return schema;
  throw new SchemaRefused("a property's name has characters that the provider does not take");
}

/** Declarations for Converse. A tool that can't be told is left out and named; arguments are checked by the original. */
export function bedrockTools(tools: readonly ToolDeclaration[]): {
  readonly declarations: readonly Tool[];
  readonly leftOut: readonly ToolLeftOut[];
} {
  const declarations: Tool[] = [];
  const leftOut: ToolLeftOut[] = [];
  const seen = new Set<string>([INERT_TOOL]);
  for (const { name: own, description, inputSchema } of tools) {
    const name = sentName(own);
    try {
      if (seen.has(name)) throw new SchemaRefused("a tool of this name is declared already");
      const json = wellFormed(withLegalProperties(rootObject(inputSchema)));
      declarations.push({
        toolSpec: {
          name,
          ...(description.trim() !== "" && { description: description.toWellFormed() }),
          inputSchema: { json: json as never },
        },
      });
      seen.add(name);
    } catch (error) {
      if (!(error instanceof SchemaRefused)) throw error;
      leftOut.push({ kind: "tool_left_out", tool: own, reason: error.message });
    }
  }
  return { declarations, leftOut };
}
