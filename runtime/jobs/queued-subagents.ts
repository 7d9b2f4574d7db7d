import type { Clock } from "../../machines/effects.ts";
import { failureCode, never } from "../../machines/failure.ts";
import type { SessionId } from "../../machines/ids.ts";
import {
  type Fence,
  OwnershipLost,
  type Subagents as StoredSubagents,
  type SubagentKey,
  type SubagentRow,
} from "../../persistence/store.ts";
import { readSubagentResult } from "../../tools/subagent-result.ts";
import type { SubagentEnd, SubagentKind, Subagents } from "../../tools/subagents.ts";
import type { Producer } from "./producer.ts";
import { JobLate, type Waits } from "./waiting.ts";

export type QueuedSubagentsOptions = {
  readonly store: StoredSubagents;
  readonly producer: Producer;
  readonly waits: Waits;
  readonly clock: Clock;
  /** The right to write a session, while its actor lives here. */
  readonly fenceOf: (id: SessionId) => Fence | undefined;
  /** This node leaves its turns to the next owner. */
  readonly isDraining: () => boolean;
};

/** Milliseconds from the call to its end, whatever the worker does: longer than the sub-agent's own budget of time. */
export const DEADLINE_MS: Readonly<Record<SubagentKind, number>> = { research: 100_000, plan_builder: 120_000 };

/** Sub-agents as their parent's owner sees them: asked for by a row and a job, found in the row. */
export function queuedSubagents({
  store,
  producer,
  waits,
  clock,
  fenceOf,
  isDraining,
}: QueuedSubagentsOptions): Subagents {
  return {
    async run({ sessionId, turnId, callId }, request, signal, onProgress) {
      signal.throwIfAborted();
      const fence = fenceOf(sessionId);
      if (fence === undefined) throw new OwnershipLost(sessionId);
      const key = { sessionId, turnId, callId };
      const deadline = clock.now() + DEADLINE_MS[request.kind];
      const { isNew, row } = await store.begin(fence, {
        turnId,
        callId,
        kind: request.kind,
        request,
        deadline,
      });
      const known = endOf(request.kind, row);
      if (known !== undefined) return known;
      const data = { session_id: sessionId, turn_id: turnId, call_id: callId };
      let jobId: string | undefined;
      try {
        jobId = await (isNew ? producer.add("subagents", data) : producer.addAgain("subagents", data));
        return await waits.waitFor({
          ...{ queue: "subagents", jobId, deadline: row.deadline, signal },
          onProgress: ({ phase, n, of }) =>
            onProgress({ phase, ...(n !== undefined && { n }), ...(of !== undefined && { of }) }),
          look: () => ended(store, request.kind, key),
        });
      } catch (error) {
        // The turn goes on under its next owner, who waits for the same row.
        const isLeft = isDraining() || fenceOf(sessionId)?.epoch !== fence.epoch;
        if (signal.aborted && isLeft) throw signal.reason;
        const code = signal.aborted ? "cancelled" : codeOf(error);
        // The worker sees it in the row; a job that nobody has begun is taken away.
        const isCancelled = await store.cancel(key, code);
        if (jobId !== undefined) await producer.remove("subagents", jobId);
        signal.throwIfAborted();
        const late = isCancelled ? undefined : await ended(store, request.kind, key);
        return late ?? { kind: "failed", code };
      }
    },
  };
}

const codeOf = (error: unknown): string => (error instanceof JobLate ? "deadline" : failureCode(error));

/** Cheap while there is none: the row is opened only once it has ended. */
async function ended(store: StoredSubagents, kind: SubagentKind, key: SubagentKey): Promise<SubagentEnd | undefined> {
  const standing = await store.standing(key);
  if (standing === undefined || standing.state === "waiting" || standing.state === "running") return undefined;
  const row = await store.load(key);
  return row && endOf(kind, row);
}

function endOf(kind: SubagentKind, row: SubagentRow): SubagentEnd | undefined {
  switch (row.state) {
    case "waiting":
    case "running":
      return undefined;
    case "finished": {
      // A worker of another version may have written it.
      const result = readSubagentResult(kind, row.result);
      return result === undefined ? { kind: "failed", code: "invalid_result" } : { kind: "finished", result };
    }
    case "failed":
    case "cancelled":
      return { kind: "failed", code: row.code };
    default:
      return never(row);
  }
}
