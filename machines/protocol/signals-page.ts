import { z } from "zod";
import { type Command, commandSchema } from "./commands.ts";
import { commandExamples, type Explained, numberedExamples, plainExamples } from "./examples.ts";
import { numberedSignals, plainSignals } from "./signals.ts";

type Schema = {
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly pattern?: string;
  readonly allOf?: readonly Schema[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
};

/** `docs/signals.md`: every command and signal with its meaning, its fields as the schemas have them, and an example. */
export function signalsPage(): string {
  const commands = Object.entries(commandExamples).map(([type, explained]) =>
    section(type, schemaOf(commandOf(type as Command["type"])), explained),
  );
  const part = (data: Readonly<Record<string, z.ZodType>>, explained: Readonly<Record<string, Explained<object>>>) =>
    Object.entries(data).flatMap(([kind, schema]) => {
      const words = explained[kind];
      return words === undefined ? [] : [section(kind, schemaOf(schema), words)];
    });
  return `${[
    "# Commands and signals",
    "Made from the schemas in `machines/protocol` by `npm run machines`. `docs/protocol.json` has them as JSON Schema.",
    "## Commands",
    "What a client sends. Every command but `ping` may be sent again under its `id`: the answer is the same.",
    ...commands,
    "## Numbered signals",
    "They change what is shown. Each is `{v: 1, kind, session_id, seq, turn_id?, at, data}`; the tables and examples are of `data`.",
    ...part(numberedSignals, numberedExamples),
    "## Signals without a number",
    "They are about the connection or one command: `{v: 1, kind, session_id, at, data}`.",
    ...part(plainSignals, plainExamples),
  ].join("\n\n")}\n`;
}

function commandOf(type: Command["type"]): z.ZodType {
  const found = commandSchema.options.find((option) => option.shape.type.value === type);
  if (found === undefined) throw new TypeError(`there is no command ${type}`);
  return found;
}

const schemaOf = (schema: z.ZodType): Schema => z.toJSONSchema(schema, { io: "input" }) as Schema;

function section(name: string, schema: Schema, { meaning, fields = {}, example }: Explained<object>): string {
  const required = new Set(schema.required);
  const rows = Object.entries(schema.properties ?? {}).map(
    ([field, one]) =>
      `| \`${field}\`${required.has(field) ? "" : "?"} | ${cell(typeOf(one))} | ${fields[field] ?? ""} |`,
  );
  const table = rows.length === 0 ? "No fields." : ["| field | type | |", "| --- | --- | --- |", ...rows].join("\n");
  return [`### ${name}`, meaning, table, `\`\`\`json\n${JSON.stringify(example, null, 2)}\n\`\`\``].join("\n\n");
}

const cell = (text: string): string => text.replaceAll("|", "\\|");

/** A type in short: what stands deeper than two objects down is `{…}`; `protocol.json` has it whole. */
function typeOf(schema: Schema, depth = 0): string {
  const either = schema.anyOf ?? schema.oneOf;
  if (either !== undefined) return either.map((one) => typeOf(one, depth)).join(" or ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((one) => String(one)).join(" · ");
  if (schema.type === "array") return `[${typeOf(schema.items ?? {}, depth)}]`;
  if (schema.properties !== undefined) return objectType(schema, depth);
  if (schema.type === "object") return "object";
  // A format that is narrowed further is spelled out as patterns.
  if (schema.allOf?.some(({ pattern }) => pattern?.includes("{8}-"))) return "uuid, lower case";
  return schema.format ?? [schema.type ?? "anything"].flat().join(" or ");
}

function objectType({ properties = {}, required = [] }: Schema, depth: number): string {
  if (depth >= 2) return "{…}";
  const inner = Object.entries(properties).map(
    ([name, one]) => `${name}${required.includes(name) ? "" : "?"}: ${typeOf(one, depth + 1)}`,
  );
  return `{${inner.join(", ")}}`;
}
