import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { describe, expect, test } from "vitest";
import { type Command, commandSchema, resolutionSchema } from "./commands.ts";
import { isTooDeep } from "./depth.ts";
import { protocolSchema } from "./json-schema.ts";
import { parseSignal, type Signal } from "./signals.ts";

type ObjectSchema = {
  readonly properties: Readonly<Record<string, { readonly const?: unknown } & Partial<ObjectSchema>>>;
  readonly required?: readonly string[];
};

/** The tables of PROTOCOL.md, field by field: `?` may be absent, `#` carries a `seq`. A change here changes the wire. */
const COMMANDS = {
  message: "id text context? attachments? entry_point?",
  resolve: "id interaction_id revision resolution",
  action: "id block_id action item plan_id?",
  cancel: "id turn_id?",
  ping: "id",
};

const SIGNALS = {
  "turn_started#": "turn_id n cause input",
  "queue_changed#": "waiting",
  "block_started#": "block_id idx type attempt",
  "llm_delta#": "block_id offset text",
  "thinking_summary#": "block_id offset text",
  "block_reset#": "block_id attempt reason",
  "block_finished#": "block_id idx type content attempt",
  "skill_loaded#": "name eager",
  "tool_call_started#": "call_id name title",
  "tool_call_progress#": "call_id name progress total? message?",
  "tool_call_finished#": "call_id name outcome ms",
  "recommend_supplements#": "patient_id? supplements block_id",
  "recommend_lifestyle#": "recommendations block_id",
  "recommend_labs#": "labs block_id",
  "interaction_check_results#": "findings block_id",
  "citations#": "bundle_id? sources block_id",
  "knowledge_base_results#": "articles block_id",
  "treatment_plan#": "change plan_id title patient_id patient_name items block_id",
  "interaction_request#": "interaction_id revision kind prompt options? proposal? expires_at? block_id",
  "action_done#": "block_id action item result plan? message?",
  "subagent_started#": "call_id kind label?",
  "subagent_progress#": "call_id kind label?",
  "subagent_finished#": "call_id kind outcome?",
  "compaction_started#": "",
  "compaction_finished#": "outcome tokens_before tokens_after",
  "state_changed#": "status pending_interaction",
  "interaction_resolved#": "interaction_id resolution by",
  "context_budget#": "used window threshold parts",
  "turn_completed#": "turn_id outcome reason? usage ms steps",
  "turn_failed#": "turn_id code message retryable",
  "turn_cancelled#": "turn_id",
  session_opened: "session_id thawed status next_seq agent simulated limits",
  message_accepted: "id turn_id queued duplicate?",
  interaction_receipt: "id interaction_id result turn_id? open message? duplicate?",
  action_receipt: "id result plan? message? duplicate?",
  cancel_receipt: "id cancelled duplicate?",
  pong: "id",
  auth_expired: "",
  server_draining: "reconnect_after_ms",
  resync: "from_turn turns state seq",
  heartbeat: "",
  error: "id? code message",
};

const ID = "00000000-0000-4000-8000-000000000001";
const schema = protocolSchema();

const fields = ({ properties, required = [] }: ObjectSchema, except: readonly string[] = []): string =>
  Object.keys(properties)
    .filter((name) => !except.includes(name))
    .map((name) => (required.includes(name) ? name : `${name}?`))
    .join(" ");

describe("the published schema", () => {
  test("has every command of PROTOCOL.md with its fields", () => {
    const commands = schema.command["oneOf"] as readonly ObjectSchema[];
    const found = commands.map((command) => [command.properties["type"]?.const, fields(command, ["type"])]);
    expect(Object.fromEntries(found)).toEqual(COMMANDS);
  });

  test("has every signal of PROTOCOL.md with its fields, numbered where it changes what is shown", () => {
    const found = Object.entries(schema.$defs).map(([kind, definition]) => {
      const signal = definition as ObjectSchema;
      expect(signal.properties["kind"]?.const).toBe(kind);
      const isNumbered = signal.required?.includes("seq") ?? false;
      return [isNumbered ? `${kind}#` : kind, fields(signal.properties["data"] as ObjectSchema)];
    });
    expect(Object.fromEntries(found)).toEqual(SIGNALS);
  });

  test("is the same each time and plain JSON", () => {
    expect(protocolSchema()).toEqual(schema);
    expect(JSON.parse(JSON.stringify(schema))).toEqual(schema);
  });

  test("is JSON Schema 2020-12 that accepts what the zod schemas accept", () => {
    const ajv = new Ajv2020({ strict: false });
    addFormats.default(ajv);
    const isCommand = ajv.compile(schema.command);
    const isSignal = ajv.compile({ ...schema, ...schema.signal });
    const command: Command = { type: "message", id: ID, text: "hi", context: { patient_id: "pat-1" } };
    expect([
      isCommand({ ...command, later: 1 }),
      isCommand({ ...command, id: "x" }),
      isCommand({ type: "no" }),
    ]).toEqual([true, false, false]);
    const at = "2026-01-01T00:00:00.000Z";
    const data = { block_id: ID, offset: 0, text: "a" };
    const delta: Signal = { v: 1, kind: "llm_delta", session_id: ID, seq: 3, from_seq: 2, at, data };
    expect([isSignal(delta), isSignal({ ...delta, seq: undefined }), isSignal({ ...delta, data: {} })]).toEqual([
      true,
      false,
      false,
    ]);
  });
});

describe("commands", () => {
  test("a message needs text, an entry point or an attachment", () => {
    const message = { type: "message", id: ID, text: " \n" };
    const lone = { ...message, text: "\ud800" };
    const good = [
      { ...message, text: "a" },
      { ...message, entry_point: "plan" },
      { ...message, attachments: [ID] },
    ];
    expect([message, lone, ...good].map((c) => commandSchema.safeParse(c).success)).toEqual([
      false,
      false,
      true,
      true,
      true,
    ]);
  });

  const resolve = (resolution: unknown) =>
    commandSchema.safeParse({ type: "resolve", id: ID, interaction_id: ID, revision: 1, resolution }).data;
  const words = (length: number) => "w".repeat(length);

  test("an answer's words and choices are bounded; what is told of one is not, so old ones stay readable", () => {
    const fits = [
      { kind: "answered", selected: Array(100).fill(words(200)), text: words(4_000) },
      { kind: "dismissed", reason: words(4_000) },
    ];
    expect(fits.map((resolution) => resolve(resolution))).toEqual(
      fits.map((resolution) => ({ type: "resolve", id: ID, interaction_id: ID, revision: 1, resolution })),
    );
    const wrong = [
      { kind: "answered", selected: Array(101).fill("a") },
      { kind: "answered", selected: [words(201)] },
      { kind: "answered", selected: [], text: words(4_001) },
      { kind: "dismissed", reason: words(4_001) },
    ];
    expect(wrong.map((resolution) => resolve(resolution))).toEqual(wrong.map(() => undefined));
    expect(wrong.map((resolution) => resolutionSchema.parse(resolution))).toEqual(wrong);
  });

  test("edits lose what is unknown in them; those of another form stay as they are, for the session to judge", () => {
    const edits = (given: unknown) => resolve({ kind: "accepted", edits: given });
    const told = (given: unknown) => ({
      type: "resolve",
      id: ID,
      interaction_id: ID,
      revision: 1,
      resolution: { kind: "accepted", edits: given },
    });
    const item = { variant_id: "v", dosing: "1" };
    const full = { title: " T ", notes: "n", items: [{ ...item, name: "x".repeat(9) }], junk: [1] };
    expect(edits(full)).toEqual(told({ title: "T", notes: "n", items: [item] }));
    for (const odd of ["all of it", 7, null, { items: [] }, { items: [{ ...item, dosing: " " }] }])
      expect(edits(odd)).toEqual(told(odd));
    expect(resolve({ kind: "accepted" })).toEqual({ ...told(undefined), resolution: { kind: "accepted" } });
  });

  test("64 levels are taken, 65 are too many, however many there are", () => {
    const nested = (levels: number): unknown => JSON.parse("[".repeat(levels) + "]".repeat(levels));
    const inObjects = (levels: number): unknown => JSON.parse(`${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`);
    expect([0, 1, 64, 65, 200_000].map((levels) => isTooDeep(levels === 0 ? "a" : nested(levels)))).toEqual([
      false,
      false,
      false,
      true,
      true,
    ]);
    expect([64, 65, 200_000].map((levels) => isTooDeep(inObjects(levels)))).toEqual([false, true, true]);
    expect(isTooDeep([1, null, { a: "b" }, nested(64)])).toBe(true);
  });

  test("ids are lower case, as they are compared and stored", () => {
    expect(commandSchema.safeParse({ type: "ping", id: "ABCDEFAB-0000-4000-8000-000000000001" }).success).toBe(false);
  });
});

describe("signals", () => {
  const outer = { v: 1, session_id: ID, at: "2026-01-01T00:00:00.000Z" };

  test("of an unknown kind are passed on, marked", () => {
    const signal = { ...outer, kind: "from_the_future", seq: 4, data: { a: 1 } };
    expect(parseSignal(signal)).toEqual({ ...signal, unknown: true });
  });

  test("of a known kind are checked and lose unknown fields", () => {
    expect(parseSignal({ ...outer, kind: "pong", data: { id: ID, later: 1 } })).toEqual({
      ...outer,
      kind: "pong",
      data: { id: ID },
    });
    expect(() => parseSignal({ ...outer, kind: "pong", data: {} })).toThrow();
  });
});
