import { failureCode } from "../failure.ts";

/** A call by reference: the history of a sub-agent is its worker's. */
export type CallRef = { readonly callId: string; readonly name: string };

/** What one sub-agent may spend. Each limit ends it: first with one last request for its result, then as a failure. */
export type SubagentBudget = {
  /** Model calls. */
  readonly steps: number;
  /** Tokens that its model calls took in and put out. */
  readonly tokens: number;
  /** Milliseconds of wall time, from its claim on. */
  readonly ms: number;
  /** US dollars by its profile's prices; a profile without prices costs nothing. */
  readonly cost: number;
};

export type BudgetReason = "step_budget" | "token_budget" | "time_budget" | "cost_budget";

/** What a model call came to. */
export type Reasoned = {
  readonly calls: readonly CallRef[];
  readonly tokens: number;
  readonly ms: number;
  readonly cost: number;
};

/** What running a step's calls came to. `finished`: its result was given and is valid. */
export type Acted = { readonly ms: number; readonly finished: boolean };

export type SubagentEnding =
  | { readonly outcome: "finished" }
  | { readonly outcome: "cancelled" }
  | { readonly outcome: "failed"; readonly code: string };

export type SubagentContext = {
  readonly budget: SubagentBudget;
  readonly steps: number;
  readonly tokens: number;
  readonly ms: number;
  readonly cost: number;
  readonly openCalls: readonly CallRef[];
  /** Model calls in a row that called nothing: it is reminded once that only its finishing tool ends it. */
  readonly silent: number;
  readonly finished: boolean;
  readonly cancelled: boolean;
  /** The last request, with the finishing tool alone, was made. */
  readonly concluded: boolean;
  readonly error: string | null;
};

const MOST_SILENT = 2;

export function budgetReached({ budget, steps, tokens, ms, cost }: SubagentContext): BudgetReason | undefined {
  if (steps >= budget.steps) return "step_budget";
  if (tokens >= budget.tokens) return "token_budget";
  if (ms >= budget.ms) return "time_budget";
  if (cost >= budget.cost) return "cost_budget";
  return undefined;
}

export function isOver(agent: SubagentContext): boolean {
  if (agent.finished || agent.cancelled || agent.error !== null) return true;
  return agent.openCalls.length === 0 && (agent.concluded || agent.silent >= MOST_SILENT);
}

/** The order is the rule: a result that was given counts, whatever came with it. */
export function endingOf(agent: SubagentContext): SubagentEnding {
  if (agent.finished) return { outcome: "finished" };
  if (agent.cancelled) return { outcome: "cancelled" };
  if (agent.error !== null) return { outcome: "failed", code: agent.error };
  return { outcome: "failed", code: budgetReached(agent) ?? "no_result" };
}

export function afterReasoning(agent: SubagentContext, done: Reasoned): Partial<SubagentContext> {
  return {
    concluded: agent.concluded || budgetReached(agent) !== undefined,
    steps: agent.steps + 1,
    tokens: agent.tokens + done.tokens,
    ms: agent.ms + done.ms,
    cost: agent.cost + done.cost,
    openCalls: done.calls,
    silent: done.calls.length === 0 ? agent.silent + 1 : 0,
  };
}

export function afterActing(agent: SubagentContext, done: Acted): Partial<SubagentContext> {
  return { ms: agent.ms + done.ms, openCalls: [], finished: done.finished };
}

export const failedWith = (error: unknown): string => failureCode(error);
