import { declarations, type GeminiRequest } from "../wire.ts";
import { firstOf, type Rule } from "./rule.ts";

type Json = Readonly<Record<string, unknown>>;

const KEYWORDS: ReadonlySet<string> = new Set(
  (
    "type format description nullable enum items minItems maxItems properties required minProperties maxProperties " +
    "minLength maxLength pattern example anyOf propertyOrdering minimum maximum"
  ).split(" "),
);
const FORMATS: Readonly<Record<string, readonly string[]>> = {
  string: ["enum", "date-time"],
  number: ["float", "double"],
  integer: ["int32", "int64"],
};
const TYPES: ReadonlySet<string> = new Set(["string", "number", "integer", "boolean", "array", "object", "null"]);

export const isJson = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const typeOf = (schema: Json): string | undefined =>
  typeof schema["type"] === "string" ? schema["type"].toLowerCase() : undefined;

/** Runs `judge` over a `parameters` schema and every schema in it. */
function inSchema(schema: unknown, path: string, judge: (schema: Json) => string | undefined): string | undefined {
  if (!isJson(schema)) return `${path}: a schema must be an object`;
  const problem = judge(schema);
  if (problem !== undefined) return `${path}: ${problem}`;
  const properties = isJson(schema["properties"]) ? Object.entries(schema["properties"]) : [];
  const anyOf: readonly unknown[] = Array.isArray(schema["anyOf"]) ? schema["anyOf"] : [];
  return (
    firstOf(properties, ([, inner], index) => inSchema(inner, `${path}.properties[${index}]`, judge)) ??
    (schema["items"] === undefined ? undefined : inSchema(schema["items"], `${path}.items`, judge)) ??
    firstOf(anyOf, (inner, index) => inSchema(inner, `${path}.any_of[${index}]`, judge))
  );
}

const inParameters = (request: GeminiRequest, judge: (schema: Json) => string | undefined): string | undefined =>
  firstOf(declarations(request), ({ parameters }, at) =>
    parameters === undefined ? undefined : inSchema(parameters, `function_declarations[${at}].parameters`, judge),
  );

export const schemaHasNoRef: Rule = (request) =>
  inParameters(request, (schema) =>
    "$ref" in schema || "ref" in schema || "$defs" in schema || "definitions" in schema
      ? "references are not supported"
      : undefined,
  );

export const schemaKeywordsKnown: Rule = (request) =>
  inParameters(request, (schema) => {
    const unknown = Object.keys(schema).filter((key) => !KEYWORDS.has(key));
    return unknown.length === 0 ? undefined : `unknown name "${unknown[0]}"`;
  });

export const schemaTypeSingle: Rule = (request) =>
  inParameters(request, (schema) => {
    if (Array.isArray(schema["type"])) return "type must not be a list";
    const type = typeOf(schema);
    if (type === undefined) return Array.isArray(schema["anyOf"]) ? undefined : "type is missing";
    return TYPES.has(type) ? undefined : "type is not a known one";
  });

export const schemaObjectsHaveProperties: Rule = (request) =>
  inParameters(request, (schema) => {
    if (typeOf(schema) !== "object" && schema["properties"] === undefined) return undefined;
    return isJson(schema["properties"]) && Object.keys(schema["properties"]).length > 0
      ? undefined
      : "properties should be non-empty for OBJECT type";
  });

export const schemaArraysHaveItems: Rule = (request) =>
  inParameters(request, (schema) =>
    typeOf(schema) === "array" && !isJson(schema["items"]) ? "items is missing for ARRAY type" : undefined,
  );

export const schemaRequiredExists: Rule = (request) =>
  inParameters(request, (schema) => {
    const required: readonly unknown[] = Array.isArray(schema["required"]) ? schema["required"] : [];
    const properties = isJson(schema["properties"]) ? schema["properties"] : {};
    const at = required.findIndex((name) => typeof name !== "string" || !Object.hasOwn(properties, name));
    return at < 0 ? undefined : `required[${at}]: property is not defined`;
  });

export const schemaFormatKnown: Rule = (request) =>
  inParameters(request, (schema) => {
    const format = schema["format"];
    if (format === undefined) return undefined;
    const known = FORMATS[typeOf(schema) ?? ""] ?? [];
    return typeof format === "string" && known.includes(format) ? undefined : "format is not supported for this type";
  });

export const schemaEnumOfStrings: Rule = (request) =>
  inParameters(request, (schema) => {
    const values = schema["enum"];
    if (values === undefined) return undefined;
    const good =
      Array.isArray(values) && values.length > 0 && values.every((value) => typeof value === "string" && value !== "");
    return good && typeOf(schema) === "string"
      ? undefined
      : "enum is allowed for STRING type with non-empty strings only";
  });
