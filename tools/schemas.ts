import { Ajv, type ErrorObject, type Options } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";

/** The problems of a value, empty when it fits; `unusable` when the schema itself cannot be compiled. */
export type Check = ((value: unknown) => readonly ErrorObject[]) | "unusable";

const KEPT = 500;
const options: Options = { strict: false, allErrors: true, validateSchema: false, verbose: true, logger: false };

const dialects = { draft07: withFormats(new Ajv(options)), draft2020: withFormats(new Ajv2020(options)) };

/** Compiled schemas by content, least recently used first. Schemas are public words of tools, never anyone's data. */
const compiled = new Map<string, { readonly check: Check; forget(): void }>();
const keys = new WeakMap<object, string>();

/** The check of a JSON Schema (draft-07 or 2020-12, by its `$schema`; 2020-12 without). Compiled once for each content. */
export function checkFor(schema: Readonly<Record<string, unknown>>): Check {
  const key = keys.get(schema) ?? JSON.stringify(schema);
  keys.set(schema, key);
  const known = compiled.get(key) ?? compile(key);
  compiled.delete(key);
  compiled.set(key, known);
  for (const [oldest, entry] of compiled) {
    if (compiled.size <= KEPT) break;
    entry.forget();
    compiled.delete(oldest);
  }
  return known.check;
}

function compile(key: string): { readonly check: Check; forget(): void } {
  const { $id: _, ...schema } = JSON.parse(key) as Record<string, unknown>;
  const dialect = String(schema["$schema"] ?? "").includes("draft-0") ? dialects.draft07 : dialects.draft2020;
  const forget = () => void dialect.removeSchema(schema);
  try {
    const validate = dialect.compile(schema);
    return { check: (value) => (validate(value) ? [] : (validate.errors ?? [])), forget };
  } catch {
    forget();
    return { check: "unusable", forget: () => undefined };
  }
}

function withFormats<A extends Ajv | Ajv2020>(ajv: A): A {
  formats.default(ajv as Ajv);
  return ajv;
}
