import { failureCode } from "../../machines/failure.ts";
import type { Calls } from "../../persistence/store.ts";
import type { Observe } from "../observe/events.ts";
import type { DraftsOptions } from "./drafts.ts";
import type { Summariser } from "./summariser.ts";

/** Makes each call of the summariser known as a model call of its own purpose, and each draft that failed. */
export function recordSummaries(
  { profile, issuer, projector }: Summariser,
  calls: Calls,
  observe: Observe,
): Pick<DraftsOptions, "onCall" | "onFailure"> {
  return {
    onCall({ work, number, outcome, usage, ms }) {
      const turn = { sessionId: work.sessionId, turnId: work.turnId };
      const kind = outcome === "ok" ? "ok" : outcome === "cancelled" ? "cancelled" : "failed";
      const detail = kind === "failed" ? { code: outcome } : {};
      const purpose = "summary";
      observe({ type: "model.called", ...turn, profile, step: number, outcome: kind, ms, usage, purpose, ...detail });
      // A turn may ask for the summaries of two anchors: the second finds its numbers taken.
      const attempt = (work.from % 1_000) + 1;
      const row = { ...turn, step: number, attempt, profile, issuer, outcome, usage, ms, projector, purpose } as const;
      void calls.record([row]);
    },
    onFailure(error, { sessionId, turnId }) {
      observe({ type: "summary.failed", sessionId, turnId, code: failureCode(error) });
    },
  };
}
