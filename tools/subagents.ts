import type { CallId, SessionId, TurnId } from "../machines/ids.ts";
import type { Proposal } from "../machines/protocol/interactions.ts";
import type { ToolContext } from "./tool.ts";

/** What a sub-agent is asked. Sealed at rest; never in a job. */
export type SubagentRequest =
  | { readonly kind: "research"; readonly question: string }
  | {
      readonly kind: "plan_builder";
      readonly patientId: string;
      /** The visit notes in the words of the practitioner; left out: the patient's newest ones are read. */
      readonly notes?: string;
      readonly goals?: string;
    };

export type SubagentKind = SubagentRequest["kind"];

/** A source that a research agent chose. `finding` is whole, for the panel; the parent's model reads its beginning. */
export type ResearchSource = {
  readonly id: string;
  readonly title: string;
  readonly year: number | null;
  readonly journal: string | null;
  readonly url: string | null;
  readonly finding: string;
};

export type ResearchResult = {
  readonly kind: "research";
  readonly bundleId: string;
  /** At most `MOST_SOURCES`. */
  readonly sources: readonly ResearchSource[];
  readonly reflection: string;
  /** What the search went through, for the log of the person who asks. Numbers only. */
  readonly searched: { readonly queries: number; readonly found: number; readonly characters: number };
};

/** An intervention envelope is a proposal that was checked against the catalogue; `warnings` must be told. */
export type PlanResult =
  | {
      readonly kind: "plan_builder";
      readonly outcome: "envelope";
      readonly envelope: Proposal;
      readonly warnings: readonly string[];
    }
  | {
      readonly kind: "plan_builder";
      readonly outcome: "needs_clarification";
      readonly questions: readonly { readonly question: string; readonly options: readonly string[] }[];
    };

export type SubagentResult = ResearchResult | PlanResult;

export type SubagentEnd =
  | { readonly kind: "finished"; readonly result: SubagentResult }
  /** `code`: why there is no result: a budget, `deadline`, `jobs_unavailable`, `auth_required`, a model's code. */
  | { readonly kind: "failed"; readonly code: string };

export const MOST_SOURCES = 8;

/** Where a sub-agent is: codes and numbers, which become words for people on the owner's side (`subagent-words.ts`). */
export type SubagentProgress = { readonly phase: string; readonly n?: number; readonly of?: number };

/** The call of a turn that a sub-agent works for. */
export type SubagentCall = Pick<ToolContext, "principal" | "credential"> & {
  readonly sessionId: SessionId;
  readonly turnId: TurnId;
  readonly callId: CallId;
};

/** Runs sub-agents in workers. */
export interface Subagents {
  /**
   * Starts the sub-agent of this call, or waits on for the one that was started before. Ends by its deadline at the
   * latest; throws only when `signal` aborts, which cancels it.
   */
  run(
    call: SubagentCall,
    request: SubagentRequest,
    signal: AbortSignal,
    onProgress: (progress: SubagentProgress) => void,
  ): Promise<SubagentEnd>;
}
