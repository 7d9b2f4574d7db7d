import { z } from "zod";
import type { Proposal } from "../../machines/protocol/interactions.ts";
import type { PlanResult, Subagents } from "../subagents.ts";
import type { Tool, ToolResult } from "../tool.ts";
import { showingTool } from "./define.ts";
import { failed, workedOut } from "./run-subagent.ts";

const INSTEAD =
  "Go on without it: build the plan yourself with the skill's own steps, and tell the user. Do not start it again in this turn.";

/** Lets a plan builder turn visit notes into a checked envelope, or into a question to the user. */
export function buildPlan(subagents: Subagents): Tool {
  return {
    ...showingTool({
      name: "build_plan",
      title: "Building a plan",
      description:
        "Let a plan builder turn visit notes into a plan whose products, doses, allergies and interactions are checked. Gives the arguments for propose_plan, with warnings; or asks the user what the notes leave open. Stores nothing. Takes up to a minute.",
      input: z.object({
        patient_id: z.string().min(1).max(100).describe("Id of the patient, e.g. from the context or patient_search."),
        notes: z
          .string()
          .trim()
          .min(1)
          .max(20_000)
          .optional()
          .describe("Notes the user gave, word for word. Left out: the patient's newest visit notes are read."),
        goals: z
          .string()
          .trim()
          .min(1)
          .max(2_000)
          .optional()
          .describe("What the user asked for beyond the notes, and answers to earlier questions with the question."),
      }),
      async run({ patient_id: patientId, notes, goals }, context, signal) {
        const more = { ...(notes !== undefined && { notes }), ...(goals !== undefined && { goals }) };
        const end = await workedOut(subagents, { kind: "plan_builder", patientId, ...more }, context, signal);
        if ("code" in end) return failed("The plan builder", end.code, INSTEAD);
        return end.result.outcome === "envelope" ? proposable(end.result) : clarified(end.result);
      },
    }),
    traits: { readOnly: false, repeatable: true },
  };
}

const NEXT =
  "Checked and stored nowhere. Now call propose_plan with exactly these arguments and a one-sentence summary; tell the user the warnings first.";

function proposable({ envelope, warnings }: Extract<PlanResult, { outcome: "envelope" }>): ToolResult {
  return { kind: "ok", text: JSON.stringify({ next: NEXT, propose_plan: argumentsOf(envelope), warnings }) };
}

/** The arguments of propose_plan that make this proposal. */
export function argumentsOf({ patient_id, title, items, lifestyle, labs, notes }: Proposal) {
  return {
    patient_id,
    title,
    items: items.map(({ variant_id, dosing, rationale }) => ({ variant_id, dosing, rationale })),
    ...(lifestyle && { lifestyle }),
    ...(labs && { labs: labs.map(({ id }) => id) }),
    ...(notes !== undefined && { notes }),
  };
}

/** One question a turn: what else is open comes up again when the builder has this answer. */
function clarified({ questions }: Extract<PlanResult, { outcome: "needs_clarification" }>): ToolResult {
  const [first] = questions;
  if (first !== undefined && first.options.length >= 2) {
    const options = first.options.map((label, at) => ({ id: `option-${at + 1}`, label }));
    return { kind: "pause", asked: { kind: "single_choice", prompt: first.question, options } };
  }
  const open = questions.map(({ question }) => question);
  const next =
    "The plan builder needs an answer. Ask the user in your own words and end your turn; with the answer call build_plan again, question and answer in goals.";
  return { kind: "ok", text: JSON.stringify({ next, needs_clarification: open }) };
}
