import { summary } from "../answers/summary.ts";
import type { Exchange } from "../scene.ts";
import type { Rule } from "../steps.ts";
import { lastRecommended } from "./recommended.ts";

const ASKED =
  /\bwhat (did|have|was it|had) i (just |last |first )?(ask|asked|say|said|write|wrote|want|type)|\b(my|the) (last|previous|first|earlier) (question|message)\b|\bwhat was i asking\b/i;
const SAID =
  /\bwhat (did|have|had) you (just |last )?(say|said|tell|told|answer|answered|find|found|mean|write)|\b(repeat|say) (that|it|your answer)( again)?\b|\byour (last|previous) (answer|message)\b/i;
const SUMMARY = /\bsummar(y|ise|ize)\b.*\b(conversation|chat|so far|discussed|all this)\b|\brecap\b/i;
const RECOMMENDED = /\bwhat (did|have|had) you (just |last )?(recommend|suggest)/i;

/** "What did I just ask?", "what did you recommend?": answered from the conversation itself. */
export const meta: Rule = {
  id: "this conversation",
  fits: ({ now: { question } }) =>
    SUMMARY.test(question) || ASKED.test(question) || SAID.test(question) || RECOMMENDED.test(question),
  *steps(scene) {
    const { question } = scene.now;
    if (RECOMMENDED.test(question)) {
      const list = lastRecommended(scene);
      if (list.length > 0) {
        const lines = list.map(({ product, variantId, dosing }) => `- ${product?.name ?? variantId}: ${dosing}`);
        return `I recommended:\n\n${lines.join("\n")}`;
      }
    }
    if (SUMMARY.test(question)) return summary(scene);
    const asked: readonly Exchange[] = scene.past.filter(({ opened }) => opened === null);
    const said = SAID.test(question) ? scene.past : asked;
    const meant = /\bfirst\b/i.test(question) ? said[0] : said.at(-1);
    if (meant === undefined) {
      const note = scene.notes.at(-1);
      return note === undefined
        ? "This is the first message of the conversation that I can see."
        : `I only have a summary of what came before: ${note}`;
    }
    if (ASKED.test(question)) return `You asked: “${meant.question}”`;
    return meant.answer === "" ? "I have not answered anything yet that I can see." : `I said:\n\n${meant.answer}`;
  },
};
