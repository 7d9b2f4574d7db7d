import { failureSentence, progressLabel, startLabel } from "../subagent-words.ts";
import type { SubagentRequest, SubagentResult, Subagents } from "../subagents.ts";
import type { ToolContext } from "../tool.ts";
import type { Failed } from "./lookup.ts";

/** Lets a sub-agent work for this call and tells people how far it is. Only an abort throws. */
export async function workedOut<K extends SubagentRequest["kind"]>(
  subagents: Subagents,
  request: Extract<SubagentRequest, { kind: K }>,
  context: ToolContext,
  signal: AbortSignal,
): Promise<{ readonly result: Extract<SubagentResult, { kind: K }> } | { readonly code: string }> {
  const { sessionId, turnId, callId, principal, credential, onSubagent } = context;
  const subagent = request.kind;
  onSubagent?.({ kind: "started", subagent, label: startLabel(subagent) });
  let outcome = "cancelled";
  try {
    const call = { sessionId, turnId, callId, principal, credential };
    const end = await subagents.run(call, request, signal, (progress) =>
      onSubagent?.({ kind: "progress", subagent, label: progressLabel(progress) }),
    );
    if (end.kind === "failed") {
      outcome = end.code;
      return { code: end.code };
    }
    if (end.result.kind !== request.kind) {
      outcome = "invalid_result";
      return { code: outcome };
    }
    outcome = "ok";
    return { result: end.result as Extract<SubagentResult, { kind: K }> };
  } catch (error) {
    if (!signal.aborted) outcome = "internal";
    throw error;
  } finally {
    onSubagent?.({ kind: "finished", subagent, outcome });
  }
}

/** Never `auth`: without stored grants a sub-agent has no login, and the turn's own may be good all the same. */
export const failed = (what: string, code: string, instead: string): Failed => ({
  kind: "error",
  reason: code === "deadline" || code === "time_budget" ? "timeout" : "unavailable",
  text: `${what} gave no result. ${failureSentence(code)} ${instead}`,
});
