import { declarations, type GeminiRequest } from "../wire.ts";
import { firstOf, type Rule } from "./rule.ts";
import { isJson } from "./schemas.ts";

/**
 * The looser subset for `parametersJsonSchema`: any standard keyword may stand there, since the vendor ignores those that it
 * does not use. Refused are words that no draft of JSON Schema has, a root that is no object, and references that lead out
 * of the schema or nowhere.
 */
const STANDARD: ReadonlySet<string> = new Set(
  (
    "$schema $id $anchor $ref $defs $comment definitions type format title description default examples enum const nullable " +
    "properties required additionalProperties patternProperties propertyNames minProperties maxProperties propertyOrdering " +
    "unevaluatedProperties dependentRequired dependentSchemas items prefixItems additionalItems contains minItems maxItems " +
    "uniqueItems minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength pattern contentEncoding " +
    "contentMediaType anyOf oneOf allOf not if then else readOnly writeOnly deprecated"
  ).split(" "),
);
const MAPS: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "$defs",
  "definitions",
  "dependentSchemas",
]);
const LISTS: ReadonlySet<string> = new Set(["anyOf", "oneOf", "allOf", "prefixItems"]);
const SINGLES: ReadonlySet<string> = new Set(
  "items additionalProperties additionalItems unevaluatedProperties propertyNames contains not if then else".split(" "),
);

type Judge = (schema: Readonly<Record<string, unknown>>) => string | undefined;

function walk(schema: unknown, path: string, judge: Judge): string | undefined {
  if (typeof schema === "boolean") return undefined;
  if (Array.isArray(schema)) return firstOf(schema, (inner, at) => walk(inner, `${path}[${at}]`, judge));
  if (!isJson(schema)) return `${path}: a schema must be an object`;
  const problem = judge(schema);
  if (problem !== undefined) return `${path}: ${problem}`;
  return firstOf(Object.entries(schema), ([key, inner]) => {
    if (MAPS.has(key) && isJson(inner)) {
      return firstOf(Object.values(inner), (each, at) => walk(each, `${path}.${key}[${at}]`, judge));
    }
    return LISTS.has(key) || SINGLES.has(key) ? walk(inner, `${path}.${key}`, judge) : undefined;
  });
}

const inJsonSchemas = (request: GeminiRequest, judge: (root: unknown) => Judge): string | undefined =>
  firstOf(declarations(request), ({ parametersJsonSchema: root }, at) =>
    root === undefined ? undefined : walk(root, `function_declarations[${at}].parameters_json_schema`, judge(root)),
  );

export const jsonSchemaIsObject: Rule = (request) =>
  firstOf(declarations(request), ({ parametersJsonSchema: root }, at) =>
    root === undefined || (isJson(root) && root["type"] === "object")
      ? undefined
      : `function_declarations[${at}].parameters_json_schema: the root must be of type object`,
  );

export const jsonSchemaKeywordsKnown: Rule = (request) =>
  inJsonSchemas(request, () => (schema) => {
    const unknown = Object.keys(schema).find((key) => !STANDARD.has(key));
    return unknown === undefined ? undefined : `unknown name "${unknown}"`;
  });

export const jsonSchemaRefsResolve: Rule = (request) =>
  inJsonSchemas(request, (root) => ({ $ref: ref }) => {
    if (ref === undefined || ref === "#") return undefined;
    if (typeof ref !== "string" || !/^#\/(\$defs|definitions)\//.test(ref)) return "$ref must point into this schema";
    const steps = ref.slice(2).split("/");
    const target = steps.reduce<unknown>((at, step) => (isJson(at) ? at[step] : undefined), root);
    return target === undefined ? "$ref points nowhere" : undefined;
  });
