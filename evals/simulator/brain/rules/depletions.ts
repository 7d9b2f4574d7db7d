import { depletionAnswer } from "../answers/depletions.ts";
import { Depletions } from "../data.ts";
import { whichPatient } from "../patient.ts";
import { ask, loadSkill, need, PlanStopped, type Rule } from "../steps.ts";
import { topic, withPersonAsName } from "../topic.ts";
import { INTERACTION_SKILL } from "./interactions.ts";

/** "What does metformin deplete?", "which nutrients do her medications lower?" */
export const depletions: Rule = {
  id: "depletions",
  fits: ({ now: { question } }) =>
    /\bdeplet|\brobs?\b|\b(caus|lower|reduc|deficienc)\w*\b.*\b(nutrient|vitamin|mineral|deficienc)/i.test(question),
  *steps(scene) {
    yield* loadSkill(scene, INTERACTION_SKILL);
    const about = topic(scene);
    const patient = yield* whichPatient(scene, about.person, about.names.length === 0);
    const taken = (patient?.medications ?? []).map(({ name }) => name);
    const medications = patient === null ? withPersonAsName(about) : taken;
    if (medications.length === 0) {
      throw new PlanStopped(
        patient === null ? "Which medication do you mean?" : `No medications are recorded for ${patient.name}.`,
      );
    }
    return depletionAnswer(need(yield* ask("depletion_check", { medications }), "depletion check", Depletions).data);
  },
};
