import { z } from "zod";
import { commandSchema } from "./commands.ts";
import { numberedSignals, plainSignals } from "./signals.ts";

type JsonSchema = Readonly<Record<string, unknown>>;

/** The wire contract as JSON Schema 2020-12: one schema for commands, one for each kind of signal and one for all. */
export type ProtocolSchema = {
  readonly $schema: string;
  readonly title: string;
  readonly version: 1;
  readonly command: JsonSchema;
  readonly signal: JsonSchema;
  readonly $defs: Readonly<Record<string, JsonSchema>>;
};

const seq = z.int().min(1);
const envelope = { v: z.literal(1), session_id: z.uuid(), turn_id: z.uuid().optional(), at: z.iso.datetime() };
const numbers = { seq, from_seq: seq.optional().describe("first number, when neighbours were merged") };

/** Builds what `GET /v1/protocol.json` answers. */
export function protocolSchema(): ProtocolSchema {
  const numbered = Object.entries(numberedSignals).map(([kind, data]) =>
    definition(kind, z.object({ ...envelope, ...numbers, kind: z.literal(kind), data })),
  );
  const plain = Object.entries(plainSignals).map(([kind, data]) =>
    definition(kind, z.object({ ...envelope, kind: z.literal(kind), data })),
  );
  const $defs = Object.fromEntries([...numbered, ...plain]);
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Dormouse wire contract",
    version: 1,
    command: toSchema(commandSchema),
    signal: { oneOf: Object.keys($defs).map((kind) => ({ $ref: `#/$defs/${kind}` })) },
    $defs,
  };
}

/** Unknown fields are ignored by both sides, so the objects stay open (`io: "input"`). */
function toSchema(schema: z.ZodType): JsonSchema {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, { io: "input" });
  return rest;
}

const definition = (kind: string, schema: z.ZodType): [string, JsonSchema] => [kind, toSchema(schema)];
