import { z } from "zod";
import { isUuid, type SessionId, sessionId, type TurnId, turnId } from "../../machines/ids.ts";

export const QUEUES = ["subagents", "summaries"] as const;
export type QueueName = (typeof QUEUES)[number];

const session = z
  .string()
  .refine(isUuid)
  .transform((text): SessionId => sessionId(text));
const turn = z
  .string()
  .refine(isUuid)
  .transform((text): TurnId => turnId(text));
const count = z.int().min(0);

/** What a job may hold: ids and numbers. Whatever a job is about is read from the database by its worker. */
export const jobData = {
  subagents: z.strictObject({
    session_id: session,
    turn_id: turn,
    call_id: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/),
  }),
  /** The entries from `from`, the anchor, up to `to`; at most `cap` tokens. */
  summaries: z.strictObject({ session_id: session, turn_id: turn, from: count, to: count, cap: count }),
} as const;
export type JobData<Q extends QueueName = QueueName> = z.infer<(typeof jobData)[Q]>;

/** What a worker tells of a job that runs: a code and numbers, never a word of the conversation. */
export const jobProgress = z.strictObject({
  phase: z.string().regex(/^[a-z][a-z0-9_]{0,39}$/),
  n: count.optional(),
  of: count.optional(),
});
export type JobProgress = z.infer<typeof jobProgress>;

/**
 * The id of a job. BullMQ answers an add under an id that it knows with that job, ended or not, also across sessions: so
 * the session is part of it, and a job that takes another's place gets a number.
 */
export function jobId(data: JobData, place: 1 | 2 = 1): string {
  const { session_id: id } = data;
  const name = "call_id" in data ? `${id}_${data.turn_id}_${data.call_id}` : `${id}_${data.from}_${data.to}`;
  return place === 1 ? name : `${name}_${place}`;
}

/** Times of the workers in ms; tests shorten them. */
export type WorkerTimes = {
  /** How long a job is its worker's without a sign of life; renewed at a third of it, however long the job takes. */
  readonly lockMs: number;
  /** How often jobs are looked for whose worker is dead. */
  readonly stalledMs: number;
};
export const WORKER_TIMES: WorkerTimes = { lockMs: 30_000, stalledMs: 15_000 };
/** Wait before a job that failed for a passing reason is tried again. */
export const BACKOFF_MS = 1_000;

const HOUR_S = 3_600;
/** Most ended jobs kept of each kind, and for how long: for looking at by an operator, nothing reads them. */
export const KEPT = { completed: 100, failed: 300 } as const;
/** Events kept for readers that are behind; whoever missed one reads the database. */
export const KEPT_EVENTS = 1_000;

/** Whether ended jobs of a queue stay for a while: then one that is not there was taken away, or never added. */
export const keepsEnded = (queue: QueueName): boolean => queue === "subagents";

/**
 * Options of a job: two tries, no stack traces and no logs. Ended sub-agents stay for a while to be looked at; a summary
 * that has ended makes room for the next one of its range.
 */
export function jobOptions(queue: QueueName, backoffMs = BACKOFF_MS) {
  const isKept = keepsEnded(queue);
  return {
    attempts: 2,
    backoff: { type: "fixed", delay: backoffMs },
    removeOnComplete: isKept ? { age: HOUR_S, count: KEPT.completed } : true,
    removeOnFail: isKept ? { age: 24 * HOUR_S, count: KEPT.failed } : true,
    stackTraceLimit: 0,
    keepLogs: 0,
  };
}
