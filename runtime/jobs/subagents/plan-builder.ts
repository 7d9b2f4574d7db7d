import { z } from "zod";
import type { SubagentBudget } from "../../../machines/subagent/subagent.rules.ts";
import { showingTool } from "../../../tools/builtin/define.ts";
import type { PlanResult, SubagentRequest } from "../../../tools/subagents.ts";
import type { Tool } from "../../../tools/tool.ts";
import { finishPlan } from "./finish-plan.ts";
import { instructions, needed, type Subagent, type SubagentParts } from "./parts.ts";
import { callsOf } from "./principal-call.ts";

/** What it reads with; only these, and only where the principal has them. */
const NEEDED = ["patient_get", "product_search"] as const;
const USEFUL = ["visit_notes", "interaction_check", "depletion_check", "lab_tests"] as const;

/** What each of its tools is in people's words of progress. */
const PHASES: Readonly<Record<string, string>> = {
  patient_get: "reading",
  visit_notes: "reading",
  product_search: "choosing",
  lab_tests: "choosing",
  interaction_check: "checking",
  depletion_check: "checking",
  finish_plan: "checking",
};

/**
 * Chart and notes, products, checks and the finish are four or five steps; ten leave room for three corrections. Product lists are
 * read again with each step: up to 20k tokens, ten times. Wall time stays below the call's deadline, so that it ends by itself.
 */
export const PLAN_BUDGET: SubagentBudget = { steps: 10, tokens: 220_000, ms: 90_000, cost: 0.75 };

/** Builds an intervention envelope from visit notes, or says what has to be decided first. It writes nothing. */
export function planBuilder(
  request: Extract<SubagentRequest, { kind: "plan_builder" }>,
  parts: SubagentParts,
): Subagent<PlanResult> {
  let result: PlanResult | undefined;
  const finished = (one: PlanResult) => {
    result ??= one;
  };
  const useful = USEFUL.flatMap((name) => parts.toolbox.find(name) ?? []);
  const tools = [...NEEDED.map((name) => needed(parts, name)), ...useful];
  const checksInteractions = useful.some(({ name }) => name === "interaction_check");
  const finish = finishPlan(request.patientId, checksInteractions, finished);
  const finishing: Tool = {
    ...finish,
    run: (args, context, signal) => finish.run(args, { ...context, call: callsOf(tools, context, signal) }, signal),
  };
  const told = telling(parts);
  return {
    system: instructions(parts, "plan-builder"),
    task: taskOf(request),
    tools: tools.map(told),
    finishing: [told(finishing), askClarification(finished)],
    isFinished: () => result !== undefined,
    budget: PLAN_BUDGET,
    result: () => result,
  };
}

/** What people wrote is quoted: it can't pose as a line of the task. */
function taskOf({ patientId, notes, goals }: Extract<SubagentRequest, { kind: "plan_builder" }>): string {
  return [
    `Build a plan for the patient with the id ${JSON.stringify(patientId)}.`,
    notes === undefined ? "The notes are the newest ones of visit_notes." : `The notes: ${JSON.stringify(notes)}`,
    ...(goals === undefined ? [] : [`Goals of the practitioner: ${JSON.stringify(goals)}`]),
  ].join("\n");
}

/** Tools that say which phase their call is; a phase that goes on is told once. */
function telling({ onProgress }: SubagentParts) {
  let told: string | undefined;
  return (tool: Tool): Tool => ({
    ...tool,
    run(args, context, signal) {
      const phase = PHASES[tool.name] ?? told;
      if (phase !== undefined && phase !== told) onProgress?.({ phase });
      told = phase;
      return tool.run(args, context, signal);
    },
  });
}

function askClarification(finished: (result: PlanResult) => void): Tool {
  return showingTool({
    name: "ask_clarification",
    title: "Asking",
    description:
      "End with questions to the practitioner instead of a plan: only what chart and notes leave open and a plan depends on, the most important first.",
    input: z.object({
      questions: z
        .array(
          z.object({
            question: z.string().trim().min(1).max(300).describe("One sentence."),
            options: z.array(z.string().trim().min(1).max(120)).max(8).optional().describe("Answers to choose from."),
          }),
        )
        .min(1)
        .max(3),
    }),
    async run({ questions }) {
      finished({
        kind: "plan_builder",
        outcome: "needs_clarification",
        questions: questions.map(({ question, options = [] }) => ({ question, options: [...new Set(options)] })),
      });
      return { kind: "ok", text: "The practitioner will be asked." };
    },
  });
}
