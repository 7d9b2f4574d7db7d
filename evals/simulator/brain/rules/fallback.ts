import type { Rule } from "../steps.ts";

const ABILITIES: readonly (readonly [tool: string, ability: string])[] = [
  ["interaction_check", "check drugs and supplements for interactions"],
  ["depletion_check", "say which nutrients a medication can lower"],
  ["product_search", "find and recommend products, for a patient's needs too"],
  ["patient_search", "look up a patient"],
  ["evidence_search", "search the evidence index"],
  ["lab_tests", "find lab tests"],
  ["treatment_plan_create", "put products into a draft plan"],
  ["knowledge_base_search", "answer questions about the platform"],
];

const GREETING =
  /^\W*(hi|hello|hey|good (morning|afternoon|evening)|thanks?|thank you|help|what can you do|who are you)\b/i;
const THANKS = /^\W*(thanks?|thank you|great|perfect|ok(ay)?|got it)\b/i;

/** Greetings, and whatever no rule fits: says what the tools of this request allow, and claims nothing else. */
export const FALLBACK: Rule = {
  id: "something else",
  fits: () => true,
  *steps(scene) {
    const { question } = scene.now;
    const can = ABILITIES.filter(([tool]) => scene.tools.has(tool)).map(([, ability]) => `- ${ability}`);
    const list = can.length === 0 ? "I have no look-up tools in this session." : `I can:\n\n${can.join("\n")}`;
    if (THANKS.test(question)) return "You're welcome.";
    if (GREETING.test(question)) return `Hello. I am a simulated assistant that answers from its tools only. ${list}`;
    return `I did not understand that. ${list}`;
  },
};
