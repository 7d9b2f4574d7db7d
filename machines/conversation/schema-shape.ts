import { Failure } from "../failure.ts";
import { isObject, type JsonObject } from "./json-values.ts";

/** A tool schema that can't be told to a model at all. The tool is left out; the others are not touched. */
export class SchemaRefused extends Failure {
  readonly code = "tool_schema_refused";
  readonly retryable = false;
}

/** Where a schema stands: the document that its references point into, and the references followed to get here. */
export type Place = { readonly root: JsonObject; readonly followed: readonly string[]; readonly depth: number };

export const isNull = (schema: unknown): boolean =>
  isObject(schema) &&
  (schema["type"] === "null" ||
    ("const" in schema && schema["const"] === null) ||
    (Array.isArray(schema["enum"]) && schema["enum"].every((value) => value === null)));

function target(ref: unknown, root: JsonObject): unknown {
  if (typeof ref !== "string" || !ref.startsWith("#"))
    throw new SchemaRefused("$ref must point into the schema itself");
  const steps = ref
    .split("/")
    .slice(1)
    .map((step) => decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~"));
  const found = steps.reduce<unknown>(
    (at, step) => (isObject(at) && Object.hasOwn(at, step) ? at[step] : undefined),
    root,
  );
  if (found === undefined) throw new SchemaRefused("$ref points nowhere");
  return found;
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** One object schema that demands what both demand. For other keywords the second speaks. */
function both(a: JsonObject, b: JsonObject): JsonObject {
  const properties = {
    ...(isObject(a["properties"]) ? a["properties"] : {}),
    ...(isObject(b["properties"]) ? b["properties"] : {}),
  };
  const required = [...new Set([...listOf(a["required"]), ...listOf(b["required"])])];
  return {
    ...a,
    ...b,
    ...(Object.keys(properties).length === 0 ? {} : { properties }),
    ...(required.length === 0 ? {} : { required }),
  };
}

/**
 * The schema without `$ref` and `allOf` at its top, and the place its parts stand in. Undefined when it leads back to
 * itself.
 */
export function flattened(
  schema: unknown,
  place: Place,
): { readonly schema: JsonObject; readonly place: Place } | undefined {
  if (schema === true) return { schema: {}, place };
  if (!isObject(schema)) throw new SchemaRefused("a schema must be an object");
  if ("$ref" in schema) {
    const { $ref: ref, ...beside } = schema;
    if (place.followed.includes(String(ref))) return undefined;
    const found = flattened(target(ref, place.root), { ...place, followed: [...place.followed, String(ref)] });
    return found && { ...found, schema: both(found.schema, beside) };
  }
  if (!Array.isArray(schema["allOf"])) return { schema, place };
  const { allOf, ...beside } = schema;
  let merged: JsonObject = {};
  let inner = place;
  for (const part of listOf(allOf)) {
    const found = flattened(part, inner);
    if (found === undefined) return undefined;
    merged = both(merged, found.schema);
    inner = found.place;
  }
  return { schema: both(merged, beside), place: inner };
}

/** A union of objects as one object: every property of any of them, demanded only if all demand it. */
export function unionAsObject(variants: readonly JsonObject[]): JsonObject {
  const properties = new Map<string, unknown[]>();
  for (const variant of variants) {
    for (const [name, schema] of Object.entries(isObject(variant["properties"]) ? variant["properties"] : {})) {
      properties.set(name, [...(properties.get(name) ?? []), schema]);
    }
  }
  const required = [...properties.keys()].filter((name) =>
    variants.every((variant) => listOf(variant["required"]).includes(name)),
  );
  return {
    type: "object",
    properties: Object.fromEntries(
      [...properties].map(([name, schemas]) => [name, schemas.length === 1 ? schemas[0] : { anyOf: schemas }]),
    ),
    required,
  };
}
