import { planAnswer } from "../answers/plans.ts";
import { OnePlan, Plans } from "../data.ts";
import { whichPatient } from "../patient.ts";
import { ask, need, PlanStopped, pastResult, type Rule } from "../steps.ts";
import { topic } from "../topic.ts";

/** "What is in the plan?", "show her draft plan" */
export const showPlan: Rule = {
  id: "show plan",
  fits: ({ now: { question } }) =>
    /\b(what|which|show|see|open|list|read|is there|does|has|have)\b.*\b(plan|plans|draft)\b/i.test(question) &&
    !/\bhow\b/i.test(question),
  *steps(scene) {
    const { person } = topic(scene);
    const made = pastResult(scene, ["treatment_plan_create", "treatment_plan_update"], OnePlan)?.data.plan;
    if (person.kind === "nobody" && made !== undefined) {
      if (!scene.tools.has("treatment_plan_get")) return planAnswer(made);
      const now = need(yield* ask("treatment_plan_get", { id: made.id }), "plan look-up", Plans).data.plans[0];
      return planAnswer(now ?? made);
    }
    const open = scene.now.context.planId;
    const patient = open !== null && person.kind !== "named" ? null : yield* whichPatient(scene, person, true);
    if (patient === null && open === null) throw new PlanStopped("Whose plan do you want to see?");
    const args = patient === null ? { id: open } : { patientId: patient.id };
    const { plans } = need(yield* ask("treatment_plan_get", args), "plan look-up", Plans).data;
    return plans.length === 0
      ? `No plan is recorded for ${patient?.name ?? "that"}.`
      : plans.map(planAnswer).join("\n\n");
  },
};
