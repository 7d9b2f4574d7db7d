import { z } from "zod";
import { contextSchema, resolutionSchema } from "./commands.ts";
import { pendingInteraction } from "./interactions.ts";

/** What began a turn, as clients see it. */
export const turnInput = z.union([
  z.object({
    text: z.string(),
    context: contextSchema.optional(),
    attachments: z.array(z.uuid()).optional(),
    entry_point: z.string().optional(),
  }),
  /** `label` is the resolution in words, for people. */
  z.object({ interaction_id: z.uuid(), resolution: resolutionSchema, label: z.string().optional() }),
]);

export const turnCause = z.enum(["message", "resolution", "recovery"]);
export const turnOutcome = z.enum(["completed", "awaiting", "failed", "cancelled"]);

/** A block as stored and shown. `content` is `{text}` for text and thinking, else the card's data. */
export const blockSchema = z.object({
  block_id: z.uuid(),
  idx: z.int().min(0),
  type: z.string(),
  content: z.record(z.string(), z.unknown()),
  attempt: z.int().min(1),
});

export const actionDone = z.object({
  block_id: z.uuid(),
  action: z.string(),
  item: z.record(z.string(), z.unknown()),
  result: z.string(),
  plan: z.unknown().optional(),
  /** Why it failed, for people. */
  message: z.string().optional(),
});

export const turnSchema = z.object({
  turn_id: z.uuid(),
  n: z.int().min(1),
  cause: turnCause,
  input: turnInput,
  outcome: turnOutcome.optional(),
  reason: z.string().optional(),
  blocks: z.array(blockSchema),
  /** What was done with a button of one of the blocks. */
  actions: z.array(actionDone).optional(),
});

export const sessionStatus = z.enum(["resting", "turning", "awaiting", "hibernated"]);

export const queuedTurn = z.object({ turn_id: z.uuid(), text: z.string() });

export const stateData = z.object({ status: sessionStatus, pending_interaction: pendingInteraction.nullable() });
export const stateSchema = stateData.extend({ queue: z.array(queuedTurn) });

export type TurnInput = z.infer<typeof turnInput>;
export type TurnCause = z.infer<typeof turnCause>;
export type TurnOutcome = z.infer<typeof turnOutcome>;
export type ActionDone = z.infer<typeof actionDone>;
export type Block = z.infer<typeof blockSchema>;
export type Turn = z.infer<typeof turnSchema>;
export type SessionStatus = z.infer<typeof sessionStatus>;
export type QueuedTurn = z.infer<typeof queuedTurn>;
export type StateData = z.infer<typeof stateData>;
export type SessionState = z.infer<typeof stateSchema>;
