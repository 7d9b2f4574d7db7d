import { Articles } from "../data.ts";
import { ask, loadSkill, need, type Rule } from "../steps.ts";
import { SMALL_WORDS } from "../stop-words.ts";
import { keywords } from "../words.ts";

const HOW =
  /^\W*(how (do|does|did|can|could|should|to|long|is|are)|where|when|who can|what happens|what is the policy|can (i|a|my|the)|is there a way|i (want|need) to know how)\b/i;
const PLATFORM =
  /\b(orders?|ordering|checkout|cart|refunds?|returns?|returned|ship|shipping|shipped|deliver|delivery|track|tracking|autoship|subscription|accounts?|invites?|inviting|import|csv|merge|duplicate|templates?|share|sharing|send|billing|invoice|pay|pays|payment|payouts?|margins?|discounts?|hipaa|privacy|staff|roles?|permissions?|password|log ?in|sign in|exports?|reports?|integrat\w*|calendar|cancel|pause|damaged|substitut\w*|policy|policies|platform|dispensary|proposals?|versions?|plans?|support|instructions?)\b/i;
const ALWAYS =
  /\b(refunds?|autoship|hipaa|payouts?|invoice|knowledge ?base|help (article|cent(er|re))|shipping|money back|password)\b/i;

/** "How does a patient place an order?", "how do refunds work?" */
export const help: Rule = {
  id: "help",
  fits: ({ now: { question } }) =>
    ALWAYS.test(question) || (HOW.test(question) && PLATFORM.test(question) && !/\binteract/i.test(question)),
  *steps(scene) {
    yield* loadSkill(scene, "knowledge-base-answering");
    const query = keywords(scene.now.question, SMALL_WORDS) || scene.now.question;
    const { articles } = need(yield* ask("knowledge_base_search", { query, limit: 3 }), "help search", Articles).data;
    const [best, ...others] = articles;
    if (best === undefined) return "I found no help article about that.";
    const more = others.length === 0 ? "" : `\n\nRelated: ${others.map(({ title }) => `“${title}”`).join(", ")}.`;
    return `From the help article “${best.title}”:\n\n${best.body.trim()}${more}`;
  },
};
