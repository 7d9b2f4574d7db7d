import type { Schema, Type } from "@google/genai";
import { isObject, type JsonObject, parsedJson } from "./json-values.ts";
import { flattened, isNull, type Place, SchemaRefused } from "./schema-shape.ts";

/** Turns a value as the model writes it into what the tool takes. Leaves alone what does not fit: validation reports it. */
export type Decode = (value: unknown) => unknown;

/** How a schema is told to Gemini. `nothing`: it admits one value only, so that there is nothing to ask for. */
export type Told =
  | { readonly kind: "schema"; readonly schema: Schema; readonly decode: Decode | undefined }
  | { readonly kind: "nothing"; readonly value: JsonObject };

type TypeName = `${Type}`;
const typed = (name: Exclude<TypeName, "TYPE_UNSPECIFIED">): Pick<Required<Schema>, "type"> => ({ type: name as Type });
const told = (schema: Schema, decode?: Decode): Told => ({ kind: "schema", schema, decode });

const MAX_DEPTH = 24;
const FORMATS: Readonly<Record<string, readonly string[]>> = {
  string: ["date-time"],
  integer: ["int32", "int64"],
  number: ["float", "double"],
};

const decodeStructure: Decode = (value) =>
  typeof value === "string" && /^\s*[[{"]/.test(value) ? (parsedJson(value) ?? value) : value;
const decodeJson: Decode = (value) => (typeof value === "string" ? (parsedJson(value) ?? value) : value);

const described = (schema: Schema, ...texts: readonly unknown[]): Schema => {
  const description = texts.filter((text) => typeof text === "string" && text.trim() !== "").join(" ");
  return description === "" ? schema : { ...schema, description };
};

const anything = (description: unknown, note = ""): Told =>
  told(
    described(
      { anyOf: [typed("STRING"), typed("NUMBER"), typed("BOOLEAN")], nullable: true },
      description,
      note,
      "Objects and lists: as JSON text.",
    ),
    decodeStructure,
  );
const jsonText = (description: unknown): Told =>
  told(described(typed("STRING"), description, "Written as JSON text."), decodeJson);

/** Translates one schema. Throws `SchemaRefused` where no value could be asked for. */
export function translate(given: unknown, at: Place): Told {
  const flat = flattened(given, at);
  if (flat === undefined || at.depth > MAX_DEPTH) return jsonText(isObject(given) ? given["description"] : undefined);
  const { schema } = flat;
  const place = { ...flat.place, depth: at.depth + 1 };
  const alternatives = schema["anyOf"] ?? schema["oneOf"];
  if (Array.isArray(alternatives) && schema["type"] === undefined && schema["properties"] === undefined) {
    return translateUnion(schema, alternatives, place);
  }
  if (Array.isArray(schema["type"])) {
    return translateUnion(
      schema,
      schema["type"].map((type: unknown) => ({ ...schema, description: undefined, type })),
      place,
    );
  }
  const asked = translateType(schema, place);
  const values: readonly unknown[] = Array.isArray(schema["enum"]) ? schema["enum"] : [];
  return values.includes(null) || schema["nullable"] === true ? nullable(asked) : asked;
}

function nullable(asked: Told): Told {
  return asked.kind === "nothing" ? asked : { ...asked, schema: { ...asked.schema, nullable: true } };
}

function translateUnion(schema: JsonObject, alternatives: readonly unknown[], place: Place): Told {
  const real = alternatives.filter((alternative) => !isNull(alternative));
  const mayBeNull = real.length < alternatives.length;
  const description = schema["description"];
  if (real.length === 0) return anything(description);
  const asked = real.map((alternative) => translate(alternative, place));
  const [first] = asked;
  const one =
    asked.length === 1 && first !== undefined ? withDescription(first, description) : joined(asked, description);
  return mayBeNull ? nullable(one) : one;
}

function withDescription(asked: Told, description: unknown): Told {
  if (asked.kind === "nothing" || typeof description !== "string") return asked;
  return { ...asked, schema: described(asked.schema, description, asked.schema.description) };
}

function joined(asked: readonly Told[], description: unknown): Told {
  const schemas: Schema[] = [];
  for (const each of asked) {
    if (each.kind === "nothing" || each.decode !== undefined) return jsonText(description);
    schemas.push(each.schema);
  }
  if (schemas.every(({ type, enum: values }) => type === "STRING" && values !== undefined)) {
    const values = [...new Set(schemas.flatMap((each) => each.enum ?? []))];
    return told(described({ ...typed("STRING"), enum: values }, description));
  }
  return told(described({ anyOf: schemas }, description));
}

function typeOf(schema: JsonObject, values: readonly unknown[]): unknown {
  if (schema["type"] !== undefined) return schema["type"];
  if (schema["properties"] !== undefined || schema["additionalProperties"] !== undefined) return "object";
  if (schema["items"] !== undefined || schema["prefixItems"] !== undefined) return "array";
  const types = new Set(values.filter((value) => value !== null).map((value) => typeof value));
  return types.size === 1 ? [...types][0] : undefined;
}

function translateType(schema: JsonObject, place: Place): Told {
  const listed: readonly unknown[] =
    "const" in schema ? [schema["const"]] : Array.isArray(schema["enum"]) ? schema["enum"] : [];
  const values = listed.filter((value) => value !== null);
  const note = values.length === 0 ? "" : `One of: ${values.map((value) => JSON.stringify(value)).join(", ")}.`;
  const { description } = schema;
  switch (typeOf(schema, values)) {
    case "string":
      return told(stringSchema(schema, values));
    case "integer":
      return told(described({ ...typed("INTEGER"), ...bounds(schema, "integer") }, description, note));
    case "number":
      return told(described({ ...typed("NUMBER"), ...bounds(schema, "number") }, description, note));
    case "boolean":
      return told(described(typed("BOOLEAN"), description, note));
    case "array":
      return translateArray(schema, place);
    case "object":
      return translateObject(schema, place);
    case undefined:
    case "null":
      return anything(description, note);
    default:
      throw new SchemaRefused("a type that JSON Schema does not have");
  }
}

function stringSchema(schema: JsonObject, values: readonly unknown[]): Schema {
  const names = [...new Set(values.filter((value): value is string => typeof value === "string" && value !== ""))];
  const { format } = schema;
  const known = typeof format === "string" && (FORMATS["string"] ?? []).includes(format);
  return described(
    {
      ...typed("STRING"),
      ...(names.length > 0 ? { enum: names } : {}),
      ...(known ? { format } : {}),
      ...sizes(schema, "minLength", "maxLength"),
    },
    schema["description"],
    values.includes("") ? "May be an empty text." : "",
    typeof format === "string" && !known ? `Format: ${format}.` : "",
  );
}

/** Proto JSON writes 64-bit numbers as text. */
function sizes<Name extends "minLength" | "maxLength" | "minItems" | "maxItems">(
  schema: JsonObject,
  ...names: readonly Name[]
): Partial<Record<Name, string>> {
  const found = names.flatMap((name) => (Number.isSafeInteger(schema[name]) ? [[name, String(schema[name])]] : []));
  return Object.fromEntries(found) as Partial<Record<Name, string>>;
}

const finite = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value);

function bounds(schema: JsonObject, type: "integer" | "number"): Pick<Schema, "minimum" | "maximum" | "format"> {
  const { minimum, maximum, exclusiveMinimum: above, exclusiveMaximum: below, format } = schema;
  const whole = type === "integer";
  const lowest = finite(minimum) ? minimum : whole && finite(above) ? Math.floor(above) + 1 : undefined;
  const highest = finite(maximum) ? maximum : whole && finite(below) ? Math.ceil(below) - 1 : undefined;
  return {
    ...(lowest === undefined ? {} : { minimum: lowest }),
    ...(highest === undefined ? {} : { maximum: highest }),
    ...(typeof format === "string" && FORMATS[type]?.includes(format) ? { format } : {}),
  };
}

function translateArray(schema: JsonObject, place: Place): Told {
  const tuple = Array.isArray(schema["prefixItems"])
    ? schema["prefixItems"]
    : Array.isArray(schema["items"])
      ? schema["items"]
      : undefined;
  const each = tuple === undefined ? (schema["items"] ?? true) : tuple.length === 0 ? true : { anyOf: tuple };
  const found = each === false ? anything("") : translate(each, place);
  const items = found.kind === "nothing" ? jsonText("") : found;
  if (items.kind === "nothing") throw new SchemaRefused("a list of nothing");
  const decode = items.decode;
  return told(
    described(
      { ...typed("ARRAY"), items: items.schema, ...sizes(schema, "minItems", "maxItems") },
      schema["description"],
    ),
    decode && ((value) => (Array.isArray(value) ? value.map(decode) : value)),
  );
}

function translateObject(schema: JsonObject, place: Place): Told {
  const properties = Object.entries(isObject(schema["properties"]) ? schema["properties"] : {});
  if (properties.length === 0) {
    return schema["additionalProperties"] === false ? { kind: "nothing", value: {} } : translatePairs(schema, place);
  }
  const required: readonly unknown[] = Array.isArray(schema["required"]) ? schema["required"] : [];
  const asked: Record<string, Schema> = {};
  const decoders = new Map<string, Decode>();
  const fixed = new Map<string, JsonObject>();
  for (const [name, given] of properties) {
    if (given === false) continue;
    const found = translate(given, place);
    if (found.kind === "nothing") {
      if (required.includes(name)) fixed.set(name, found.value);
      continue;
    }
    define(asked, name, found.schema);
    if (found.decode !== undefined) decoders.set(name, found.decode);
  }
  if (Object.keys(asked).length === 0) return { kind: "nothing", value: Object.fromEntries(fixed) };
  const demanded = required.filter((name): name is string => typeof name === "string" && Object.hasOwn(asked, name));
  return told(
    described(
      { ...typed("OBJECT"), properties: asked, ...(demanded.length > 0 ? { required: [...new Set(demanded)] } : {}) },
      schema["description"],
    ),
    decoders.size === 0 && fixed.size === 0 ? undefined : (value) => decodeObject(value, decoders, fixed),
  );
}

/** Unlike an assignment, also right for a property called `__proto__`. */
function define(record: Record<string, Schema>, name: string, value: Schema): void {
  Object.defineProperty(record, name, { value, enumerable: true, configurable: true, writable: true });
}

function decodeObject(
  value: unknown,
  decoders: ReadonlyMap<string, Decode>,
  fixed: ReadonlyMap<string, JsonObject>,
): unknown {
  if (!isObject(value)) return value;
  const missing = [...fixed].filter(([name]) => !Object.hasOwn(value, name));
  const known = Object.entries(value).map(([name, inner]) => {
    const decode = decoders.get(name);
    return [name, decode === undefined ? inner : decode(inner)] as const;
  });
  return Object.fromEntries([...known, ...missing]);
}

/** An object with keys of the model's choice becomes a list of pairs: the subset has no `additionalProperties`. */
export function translatePairs(schema: JsonObject, place: Place): Told {
  const { additionalProperties: more, patternProperties: patterns } = schema;
  const [pattern] = isObject(patterns) ? Object.values(patterns) : [];
  const found = translate(isObject(more) ? more : (pattern ?? true), place);
  const value = found.kind === "nothing" ? jsonText("") : found;
  if (value.kind === "nothing") throw new SchemaRefused("a map of nothing");
  const pair: Schema = {
    ...typed("OBJECT"),
    properties: { key: typed("STRING"), value: value.schema },
    required: ["key", "value"],
  };
  const decode = value.decode ?? ((inner: unknown) => inner);
  return told(
    described({ ...typed("ARRAY"), items: pair }, schema["description"], "A list of key and value pairs."),
    (sent) => {
      const given = decodeStructure(sent);
      if (isObject(given)) return Object.fromEntries(Object.entries(given).map(([key, inner]) => [key, decode(inner)]));
      if (!Array.isArray(given)) return sent;
      const pairs = given.filter((each): each is JsonObject => isObject(each) && typeof each["key"] === "string");
      if (pairs.length < given.length) return sent;
      return Object.fromEntries(pairs.map((each) => [String(each["key"]), decode(each["value"] ?? null)]));
    },
  );
}
