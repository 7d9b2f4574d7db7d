import { never } from "../machines/failure.ts";
import type { SubagentKind, SubagentProgress } from "./subagents.ts";

/** What a sub-agent does, by the code of its phase. A worker of another version may send codes that are not here. */
const PHASES: Readonly<Record<string, string>> = {
  waiting: "Waiting for a free worker",
  starting: "Starting",
  retrying: "Starting again",
  thinking: "Thinking",
  searching: "Searching the evidence",
  selecting: "Choosing the sources",
  reading: "Reading the chart and the notes",
  choosing: "Choosing products",
  checking: "Checking doses and interactions",
};

/** "Searching the evidence (3 of 8)". */
export function progressLabel({ phase, n, of }: SubagentProgress): string {
  const words = PHASES[phase] ?? "Working";
  if (n === undefined) return words;
  return of === undefined ? `${words} (${n})` : `${words} (${n} of ${of})`;
}

export function startLabel(kind: SubagentKind): string {
  switch (kind) {
    case "research":
      return "Researching the evidence";
    case "plan_builder":
      return "Building the plan";
    default:
      return never(kind);
  }
}

const BUDGET = "It did not come to a result within its budget";
const REASONS: Readonly<Record<string, string>> = {
  step_budget: BUDGET,
  token_budget: BUDGET,
  time_budget: "It did not come to a result in its time",
  cost_budget: BUDGET,
  no_result: "It ended without a result",
  deadline: "It did not come to a result in its time",
  jobs_unavailable: "Background work is not available now",
  attempts_exhausted: "It was interrupted twice",
  auth_required: "It had no valid login of the user to work with",
  not_enabled: "It is not enabled for this user",
  invalid_result: "Its result could not be used",
  cancelled: "It was stopped",
};

/** Why there is no result, in a sentence for the model. */
export const failureSentence = (code: string): string => `${REASONS[code] ?? "It failed"} (${code}).`;
