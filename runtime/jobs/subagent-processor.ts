import type { Chance, Clock } from "../../machines/effects.ts";
import { failureCode } from "../../machines/failure.ts";
import { callId, sessionId, turnId } from "../../machines/ids.ts";
import type { Model } from "../../machines/model.ts";
import type { Store, SubagentKey, SubagentRow } from "../../persistence/store.ts";
import type { Skills } from "../../skills/registry.ts";
import type { SubagentRequest } from "../../tools/subagents.ts";
import type { Toolboxes } from "../../tools/toolbox.ts";
import type { Observe } from "../observe/events.ts";
import { runSubagent, type SubagentModelCall } from "./subagents/run-subagent.ts";
import { subagentFor } from "./subagents/subagent-for.ts";
import type { RunningJob } from "./workers.ts";

export type SubagentProcessorOptions = {
  readonly store: Pick<Store, "subagents" | "grants" | "calls">;
  readonly model: Model;
  readonly skills: Skills;
  readonly toolboxes: Toolboxes;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly maxOutputTokens: number;
  readonly observe: Observe;
  /** What happened, by code: an end that came too late, a login that is gone. */
  readonly note: (event: SubagentNote, key: SubagentKey, code?: string) => void;
};
export type SubagentNote = "subagent.late" | "subagent.refused" | "subagent.failed" | "subagent.cancelled";

/** How often a worker looks whether anybody still wants what it does. */
const LOOK_MS = 1_000;

/** The row has ended without us: cancelled, late, or taken over. */
class Unwanted extends Error {}

/** Runs the sub-agent of a job with the login of its turn, and stores what it came to: once, or not at all. */
export function subagentProcessor(options: SubagentProcessorOptions) {
  const { store, clock, note } = options;
  return async ({ data, signal, progress }: RunningJob<"subagents">): Promise<void> => {
    const key = { sessionId: sessionId(data.session_id), turnId: turnId(data.turn_id), callId: callId(data.call_id) };
    const claim = await store.subagents.claim(key);
    if (claim.kind === "refused") return note("subagent.refused", key);
    const { row } = claim;
    const finish = async (outcome: Parameters<typeof store.subagents.finish>[2]) => {
      if (!(await store.subagents.finish(key, row.attempt, outcome))) note("subagent.late", key);
    };
    const fail = async (code: string) => {
      note("subagent.failed", key, code);
      await finish({ state: "failed", code });
    };
    const grant = await store.grants.find(key.sessionId, key.turnId);
    if (grant === undefined) return await fail("auth_required");
    const stop = new AbortController();
    const watching = watch(options, row, stop);
    const either = AbortSignal.any([signal, stop.signal]);
    try {
      const toolbox = await options.toolboxes.toolboxFor(grant.principal, grant.credential);
      const { skills, chance, model, maxOutputTokens } = options;
      const agent = subagentFor(row.request as SubagentRequest, {
        ...{ skills, principal: grant.principal, toolbox, chance },
        onProgress: progress,
      });
      const call = { ...key, principal: grant.principal, credential: grant.credential };
      const onModelCall = (made: SubagentModelCall) => record(options, row, made);
      const onStep = (n: number, of: number) => progress({ phase: "thinking", n, of });
      const ending = await runSubagent(agent, call, { model, clock, maxOutputTokens, onModelCall, onStep }, either);
      const result = agent.result();
      const bundle = agent.bundle?.();
      if (ending.outcome === "finished" && result !== undefined)
        await finish({ state: "finished", result, ...(bundle && { bundle }) });
      else await fail(ending.outcome === "failed" ? ending.code : "no_result");
    } catch (error) {
      // Given back to the queue: another worker begins it anew.
      signal.throwIfAborted();
      if (stop.signal.aborted) return note("subagent.cancelled", key);
      await fail(failureCode(error));
    } finally {
      watching.end();
    }
  };
}

/** Looks at the row while it runs: nobody spends money on what is not wanted any more. */
function watch({ store, clock }: SubagentProcessorOptions, row: SubagentRow, stop: AbortController) {
  const over = new AbortController();
  const look = async (): Promise<void> => {
    while (!over.signal.aborted) {
      await clock.sleep(LOOK_MS, over.signal);
      if (clock.now() >= row.deadline) return stop.abort(new Unwanted());
      // A database that is away for a moment is no reason to stop.
      const standing = await store.subagents.standing(row).catch(() => row);
      if (standing?.state !== "running" || standing.attempt !== row.attempt) return stop.abort(new Unwanted());
    }
  };
  look().catch(() => undefined);
  return { end: () => over.abort() };
}

/** For the audit of the parent's turn. A row that can't be stored never fails the sub-agent. */
function record({ store, model, observe }: SubagentProcessorOptions, row: SubagentRow, made: SubagentModelCall): void {
  const { sessionId: id, turnId: turn, callId: call, attempt } = row;
  const { step, outcome, profile, issuer, usage, ms } = made;
  const kind = outcome === "ok" ? "ok" : outcome === "cancelled" ? "cancelled" : "failed";
  const detail = kind === "failed" ? { code: outcome } : {};
  const turned = { sessionId: id, turnId: turn, purpose: "subagent" as const };
  observe({ type: "model.called", ...turned, profile, step, outcome: kind, ms, usage, ...detail });
  void store.calls.record([
    {
      ...{ sessionId: id, turnId: turn, callId: call, step, attempt, profile, issuer, outcome, usage, ms },
      ...{ projector: model.projector, purpose: "subagent" as const },
    },
  ]);
}
