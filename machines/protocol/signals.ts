import { z } from "zod";
import { cards } from "./cards.ts";
import { resolutionSchema } from "./commands.ts";
import {
  actionDone,
  blockSchema,
  queuedTurn,
  sessionStatus,
  stateData,
  stateSchema,
  turnCause,
  turnInput,
  turnSchema,
} from "./turns.ts";

export type { CardData, CardKind, CardSignal } from "./cards.ts";

const id = z.uuid();
const count = z.int().min(0);
const withBlock = <Shape extends z.ZodRawShape>(card: z.ZodObject<Shape>) => card.extend({ block_id: id });

export const limitsSchema = z.object({
  text_bytes: count,
  frame_bytes: count,
  commands_per_second: count,
  queued_messages: count,
  send_buffer_bytes: count,
  upload_bytes: count,
});

export const usageSchema = z.object({ input: count, output: count, thinking: count, cached: count });

export const endReason = z.enum(["step_limit", "time_limit", "token_limit", "tool_loop", "truncated"]);

/** Error codes of the `error` signal and of HTTP answers; `turn_failed` adds the second list. */
export const errorCode = z.enum([
  "invalid_json",
  "invalid_command",
  "too_large",
  "rate_limited",
  "conflict",
  "not_found",
  "draining",
  "queue_full",
  "unavailable",
  "session_unavailable",
  "auth_expired",
]);
export const turnFailureCode = z.enum([
  ...errorCode.options,
  "auth_required",
  "blocked",
  "empty_response",
  "malformed_tool_call",
  "model_unavailable",
  "recovery_exhausted",
  "interrupted",
]);

/** Signals that change what a client shows; each carries a `seq`. */
export const numberedSignals = {
  turn_started: z.object({ turn_id: id, n: z.int().min(1), cause: turnCause, input: turnInput }),
  queue_changed: z.object({ waiting: z.array(queuedTurn) }),
  block_started: z.object({ block_id: id, idx: count, type: z.string(), attempt: z.int().min(1) }),
  llm_delta: z.object({ block_id: id, offset: count, text: z.string() }),
  thinking_summary: z.object({ block_id: id, offset: count, text: z.string() }),
  block_reset: z.object({ block_id: id, attempt: z.int().min(1), reason: z.string() }),
  block_finished: blockSchema,
  skill_loaded: z.object({ name: z.string(), eager: z.boolean() }),
  tool_call_started: z.object({ call_id: z.string(), name: z.string(), title: z.string() }),
  /** Twice a second for one call at most. In units of the tool's own; `message` is for people. */
  tool_call_progress: z.object({
    call_id: z.string(),
    name: z.string(),
    progress: z.number(),
    total: z.number().optional(),
    message: z.string().optional(),
  }),
  tool_call_finished: z.object({
    call_id: z.string(),
    name: z.string(),
    outcome: z.enum(["ok", "error", "cancelled", "unknown"]),
    ms: z.number().min(0),
  }),
  recommend_supplements: withBlock(cards.recommend_supplements),
  recommend_lifestyle: withBlock(cards.recommend_lifestyle),
  recommend_labs: withBlock(cards.recommend_labs),
  interaction_check_results: withBlock(cards.interaction_check_results),
  citations: withBlock(cards.citations),
  knowledge_base_results: withBlock(cards.knowledge_base_results),
  treatment_plan: withBlock(cards.treatment_plan),
  interaction_request: withBlock(cards.interaction_request),
  action_done: actionDone,
  subagent_started: z.object({ call_id: z.string(), kind: z.string(), label: z.string().optional() }),
  subagent_progress: z.object({ call_id: z.string(), kind: z.string(), label: z.string().optional() }),
  subagent_finished: z.object({ call_id: z.string(), kind: z.string(), outcome: z.string().optional() }),
  compaction_started: z.object({}),
  compaction_finished: z.object({
    outcome: z.enum(["applied", "skipped", "failed"]),
    tokens_before: count,
    tokens_after: count,
  }),
  state_changed: stateData,
  interaction_resolved: z.object({
    interaction_id: id,
    resolution: resolutionSchema.nullable(),
    by: z.enum(["user", "superseded", "expired"]),
  }),
  context_budget: z.object({
    used: count,
    window: count,
    threshold: count,
    parts: z.object({ system: count, skills: count, tools: count, summary: count, tail: count }),
  }),
  turn_completed: z.object({
    turn_id: id,
    outcome: z.enum(["completed", "awaiting"]),
    reason: endReason.optional(),
    usage: usageSchema,
    ms: z.number().min(0),
    steps: count,
  }),
  turn_failed: z.object({ turn_id: id, code: turnFailureCode, message: z.string(), retryable: z.boolean() }),
  turn_cancelled: z.object({ turn_id: id }),
} as const;

/** Signals about the connection or one command; they carry no `seq`. */
export const plainSignals = {
  session_opened: z.object({
    session_id: id,
    thawed: z.boolean(),
    status: sessionStatus,
    next_seq: count,
    agent: z.string(),
    simulated: z.boolean(),
    limits: limitsSchema,
  }),
  message_accepted: z.object({ id, turn_id: id, queued: z.boolean(), duplicate: z.boolean().optional() }),
  interaction_receipt: z.object({
    id,
    interaction_id: id,
    result: z.enum(["accepted", "duplicate", "stale", "expired", "invalid", "not_found"]),
    turn_id: id.optional(),
    open: z.object({ id, revision: z.int().min(1) }).nullable(),
    /** What is wrong with an invalid resolution, for people. */
    message: z.string().optional(),
    duplicate: z.boolean().optional(),
  }),
  action_receipt: z.object({
    id,
    result: z.enum(["done", "duplicate", "invalid", "failed"]),
    plan: z.unknown().optional(),
    /** Why it is invalid or failed, for people. */
    message: z.string().optional(),
    duplicate: z.boolean().optional(),
  }),
  cancel_receipt: z.object({ id, cancelled: z.array(id), duplicate: z.boolean().optional() }),
  pong: z.object({ id }),
  auth_expired: z.object({}),
  server_draining: z.object({ reconnect_after_ms: count }),
  resync: z.object({ from_turn: z.int().min(1), turns: z.array(turnSchema), state: stateSchema, seq: count }),
  heartbeat: z.object({}),
  error: z.object({ id: z.string().optional(), code: errorCode, message: z.string() }),
} as const;

export const signalData = { ...numberedSignals, ...plainSignals } as const;

export type NumberedKind = keyof typeof numberedSignals;
export type PlainKind = keyof typeof plainSignals;
export type SignalKind = keyof typeof signalData;
export type SignalData<K extends SignalKind> = z.infer<(typeof signalData)[K]>;
export type Limits = z.infer<typeof limitsSchema>;
export type ErrorCode = z.infer<typeof errorCode>;
export type TurnFailureCode = z.infer<typeof turnFailureCode>;
export type EndReason = z.infer<typeof endReason>;

type Envelope<K extends SignalKind> = {
  readonly v: 1;
  readonly kind: K;
  readonly session_id: string;
  readonly turn_id?: string;
  /** ISO 8601, server clock. */
  readonly at: string;
  readonly data: SignalData<K>;
};

/** A signal with its number. `from_seq` is there when neighbours were merged: the first number of the frame. */
export type NumberedSignal = {
  [K in NumberedKind]: Envelope<K> & { readonly seq: number; readonly from_seq?: number };
}[NumberedKind];
export type PlainSignal = { [K in PlainKind]: Envelope<K> }[PlainKind];
export type Signal = NumberedSignal | PlainSignal;

export const isNumbered = (signal: Signal): signal is NumberedSignal => Object.hasOwn(numberedSignals, signal.kind);

const envelope = z.object({
  v: z.literal(1),
  kind: z.string(),
  session_id: id,
  seq: z.int().min(1).optional(),
  from_seq: z.int().min(1).optional(),
  turn_id: id.optional(),
  at: z.string(),
  data: z.record(z.string(), z.unknown()),
});

/** A signal of a kind this version does not know; clients pass it on. */
export type UnknownSignal = z.infer<typeof envelope> & { readonly unknown: true };

/**
 * Reads one frame. A known kind is checked against its schema; an unknown one comes back marked.
 * Throws zod's error for anything that is not a signal.
 */
export function parseSignal(frame: unknown): Signal | UnknownSignal {
  const outer = envelope.parse(frame);
  if (!Object.hasOwn(signalData, outer.kind)) return { ...outer, unknown: true };
  const schema: z.ZodType = signalData[outer.kind as SignalKind];
  return { ...outer, data: schema.parse(outer.data) } as Signal;
}
