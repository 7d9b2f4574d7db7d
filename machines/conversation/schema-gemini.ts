import type { FunctionDeclaration, Schema, Type } from "@google/genai";
import type { ToolDeclaration } from "../model.ts";
import { isObject, type JsonObject } from "./json-values.ts";
import { sentName } from "./names.ts";
import { flattened, isNull, type Place, SchemaRefused, unionAsObject } from "./schema-shape.ts";
import { type Decode, translate, translatePairs } from "./schema-translate.ts";

/** A tool that the model will not be told of, and why. */
export type ToolLeftOut = { readonly kind: "tool_left_out"; readonly tool: string; readonly reason: string };

/** The `parameters` of a declaration (absent for a tool without arguments) and the way back for what the model sends. */
type Translated = { readonly parameters: Schema | undefined; readonly decode: Decode };

/** Where a tool takes nothing but free keys, the list of pairs that stands for them needs a name of its own. */
const PAIRS = "entries";

function rootObject(inputSchema: JsonObject): { readonly schema: JsonObject; readonly place: Place } {
  const start: Place = { root: inputSchema, followed: [], depth: 0 };
  const flat = flattened(inputSchema, start);
  if (flat === undefined) throw new SchemaRefused("the schema is nothing but a reference to itself");
  const { schema, place } = flat;
  const union = schema["anyOf"] ?? schema["oneOf"];
  if (Array.isArray(union) && schema["properties"] === undefined) {
    const variants = union
      .filter((variant) => !isNull(variant))
      .map((variant) => flattened(variant, place)?.schema ?? {});
    return { schema: { ...unionAsObject(variants), description: schema["description"] }, place };
  }
  if (schema["type"] !== undefined && schema["type"] !== "object")
    throw new SchemaRefused("arguments must be an object");
  return { schema: { ...schema, type: "object" }, place };
}

function translateRoot(inputSchema: unknown): Translated {
  if (!isObject(inputSchema)) throw new SchemaRefused("a schema must be an object");
  const { schema, place } = rootObject(inputSchema);
  const { additionalProperties: more, patternProperties: patterns } = schema;
  const named = isObject(schema["properties"]) && Object.keys(schema["properties"]).length > 0;
  if (!named && (more === true || isObject(more) || isObject(patterns))) return pairsRoot(schema, place);
  const found = named ? translate(schema, place) : ({ kind: "nothing", value: {} } as const);
  if (found.kind === "nothing") {
    const { value } = found;
    return { parameters: undefined, decode: (args) => (isObject(args) ? { ...value, ...args } : args) };
  }
  return { parameters: found.schema, decode: found.decode ?? ((args) => args) };
}

function pairsRoot(schema: JsonObject, place: Place): Translated {
  const pairs = translatePairs(schema, place);
  if (pairs.kind === "nothing") throw new SchemaRefused("a map of nothing");
  const { decode = (value: unknown) => value } = pairs;
  return {
    parameters: { type: "OBJECT" as Type, properties: { [PAIRS]: pairs.schema } },
    decode: (args) =>
      isObject(args) && Object.keys(args).every((key) => key === PAIRS) ? decode(args[PAIRS] ?? []) : args,
  };
}

/** Schemas live as long as their tool: each is translated once. */
const translations = new WeakMap<object, Translated>();

function translated(inputSchema: Readonly<Record<string, unknown>>): Translated {
  const known = translations.get(inputSchema);
  if (known !== undefined) return known;
  const fresh = translateRoot(inputSchema);
  translations.set(inputSchema, fresh);
  return fresh;
}

/**
 * Declarations in the restricted form that Gemini's `parameters` takes. A tool whose schema can't be told is left out
 * and named in `leftOut`; the original schema stays what arguments are checked against. Parameters are shared by all
 * requests: whoever rewrites them in place takes a copy.
 */
export function geminiTools(tools: readonly ToolDeclaration[]): {
  readonly declarations: FunctionDeclaration[];
  readonly leftOut: readonly ToolLeftOut[];
} {
  const declarations: FunctionDeclaration[] = [];
  const leftOut: ToolLeftOut[] = [];
  const seen = new Set<string>();
  for (const { name: own, description, inputSchema } of tools) {
    const name = sentName(own);
    try {
      if (seen.has(name)) throw new SchemaRefused("a tool of this name is declared already");
      const { parameters } = translated(inputSchema);
      declarations.push({ name, description, ...(parameters && { parameters }) });
      seen.add(name);
    } catch (error) {
      if (!(error instanceof SchemaRefused)) throw error;
      leftOut.push({ kind: "tool_left_out", tool: own, reason: error.message });
    }
  }
  return { declarations, leftOut };
}

/**
 * Arguments as Gemini wrote them, in the form the tool's own schema asks for. Absent arguments are `{}`. What does not
 * fit comes back as it is, for the validation to report.
 */
export function argsFromGemini(inputSchema: Readonly<Record<string, unknown>>, args: unknown): unknown {
  try {
    return translated(inputSchema).decode(args ?? {});
  } catch (error) {
    if (error instanceof SchemaRefused) return args ?? {};
    throw error;
  }
}
