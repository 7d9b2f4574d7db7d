import { deedLine } from "../answers/deeds.ts";
import { planAnswer } from "../answers/plans.ts";
import { Plans } from "../data.ts";
import type { Scene } from "../scene.ts";
import { askAll, have, type Rule } from "../steps.ts";
import type { Deed } from "../told.ts";

const DONE = /\bwhat\b.*\b(did|have|had|was|were|has)\b.*\b(add|added|put|save|saved|store|stored|accept|accepted)\b/i;
const HOLDS = /\bwhat(?:'s|’s| is| are)?\b.*\b(in|on)\b.*\b(my|the|this|that|our)\b.*\b(plan|draft)\b/i;

/** "What did I add?", "what's in my plan?" after a button or an accepted proposal: answered from what the system reported. */
export const deedsDone: Rule = {
  id: "what was done",
  fits: (scene) => {
    const { question } = scene.now;
    return writesIn(scene).length > 0 && (DONE.test(question) || HOLDS.test(question));
  },
  *steps(scene) {
    const writes = writesIn(scene);
    const lines = writes.map((deed) => `- ${deedLine(deed)}`).join("\n");
    const told = `This was done in our conversation:\n\n${lines}`;
    if (DONE.test(scene.now.question) || !scene.tools.has("treatment_plan_get")) return told;
    // A plan may hold more than what was added here.
    const ids = [...new Set(writes.map(({ plan }) => plan))];
    const outcomes = yield* askAll(...ids.map((id) => ({ tool: "treatment_plan_get", args: { id } })));
    const plans = outcomes.flatMap((outcome) => have(outcome, Plans)?.plans ?? []);
    return plans.length === 0 ? told : plans.map(planAnswer).join("\n\n");
  },
};

type Write = Extract<Deed, { plan: string }>;

function writesIn({ past, now }: Scene): readonly Write[] {
  return [...past, now].flatMap(({ told }) => told.flatMap((each) => ("plan" in each ? [each] : [])));
}
