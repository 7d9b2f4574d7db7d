import type { ErrorObject } from "ajv";
import { clipped, excerpt } from "./bounds.ts";
import { checkFor } from "./schemas.ts";

/** Arguments that may be sent, or the text that tells the model what to change. */
export type Validated =
  | { readonly ok: true; readonly args: Readonly<Record<string, unknown>> }
  | { readonly ok: false; readonly text: string };

const PROBLEMS_TOLD = 8;
const TEXT_CHARACTERS = 1_200;

/**
 * Checks a call's arguments against the tool's original JSON Schema.
 *
 * One rule of coercion: where the schema wants a number, an integer or a boolean and a string came that is exactly the JSON text
 * of one ("5", "-1.5", "true"), the value is taken. Nothing else is changed: no defaults, no other types, no extra fields removed.
 * A schema that cannot be compiled checks nothing but that the arguments are an object; the server still does.
 */
export function validateArguments(tool: string, schema: Readonly<Record<string, unknown>>, input: unknown): Validated {
  if (!isObject(input)) return refusal(tool, [`(arguments): expected an object, got ${kindOf(input)}`]);
  const check = checkFor(schema);
  if (check === "unusable") return { ok: true, args: input };

  const problems = check(input);
  if (problems.length === 0) return { ok: true, args: input };
  const args = coerced(input, problems);
  const left = args === undefined ? problems : check(args);
  return args !== undefined && left.length === 0 ? { ok: true, args } : refusal(tool, left.map(described));
}

function refusal(tool: string, problems: readonly string[]): Validated {
  const told = [...new Set(problems)];
  const more = told.length > PROBLEMS_TOLD ? [`- and ${told.length - PROBLEMS_TOLD} more`] : [];
  const lines = told.slice(0, PROBLEMS_TOLD).map((line) => `- ${line}`);
  const head = `${clipped(tool, 64)} was not run: its arguments do not fit its schema.`;
  return { ok: false, text: excerpt([head, ...lines, ...more].join("\n"), TEXT_CHARACTERS) };
}

/** A copy with the strings replaced that the rule above covers; undefined when there are none. */
function coerced(
  input: Readonly<Record<string, unknown>>,
  problems: readonly ErrorObject[],
): Readonly<Record<string, unknown>> | undefined {
  const copy = structuredClone(input);
  let changed = false;
  for (const { keyword, params, data, instancePath } of problems) {
    if (keyword !== "type" || typeof data !== "string") continue;
    const value = [params["type"] as unknown]
      .flat()
      .map((type) => literal(data, type))
      .find((v) => v !== undefined);
    if (value === undefined) continue;
    changed = replaceAt(copy, steps(instancePath), value) || changed;
  }
  return changed ? copy : undefined;
}

function literal(text: string, type: unknown): number | boolean | undefined {
  if (type === "boolean") return text === "true" ? true : text === "false" ? false : undefined;
  if (type !== "number" && type !== "integer") return undefined;
  return /^-?(0|[1-9]\d{0,14})(\.\d{1,15})?$/.test(text) ? Number(text) : undefined;
}

function replaceAt(root: unknown, path: readonly string[], value: unknown): boolean {
  const last = path.at(-1);
  const parent = path.slice(0, -1).reduce<unknown>((at, step) => (isContainer(at) ? at[step] : undefined), root);
  if (last === undefined || !isContainer(parent) || !Object.hasOwn(parent, last)) return false;
  parent[last] = value;
  return true;
}

function described({ keyword, params, message, instancePath, data }: ErrorObject): string {
  const at = path(instancePath);
  switch (keyword) {
    case "required":
      return `${path(instancePath, String(params["missingProperty"]))}: is required, but is missing`;
    case "additionalProperties":
    case "unevaluatedProperties": {
      const name = params["additionalProperty"] ?? params["unevaluatedProperty"];
      return `${path(instancePath, String(name))}: is not an argument of this tool`;
    }
    case "type":
      return `${at}: expected ${[params["type"] as unknown].flat().join(" or ")}, got ${kindOf(data)}`;
    case "enum":
      return `${at}: expected one of ${excerpt(JSON.stringify(params["allowedValues"]), 200)}`;
    case "const":
      return `${at}: expected ${excerpt(JSON.stringify(params["allowedValue"]), 100)}`;
    default:
      return `${at}: ${excerpt(message ?? "does not fit", 200)}`;
  }
}

const steps = (pointer: string): readonly string[] =>
  pointer
    .split("/")
    .slice(1)
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));

function path(pointer: string, last?: string): string {
  const all = [...steps(pointer), ...(last === undefined ? [] : [last])];
  return all.length === 0 ? "(arguments)" : excerpt(all.join("."), 120);
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "string") return `the string ${JSON.stringify(excerpt(value, 40))}`;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return value === undefined ? "nothing" : "an object";
}

const isContainer = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;
const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  isContainer(value) && !Array.isArray(value);
