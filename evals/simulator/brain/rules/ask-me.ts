import { andList, capital } from "../answers/phrases.ts";
import { answered, canAsk, choose, type Question, withoutExpiry } from "../asking.ts";
import type { Scene } from "../scene.ts";
import type { Rule } from "../steps.ts";

const ASK_ME = /[,;]?\s*\b(?:and |but |then |please |first )*ask me\b(?: first)?,?\s*([^.?!\n]*)[.?!]*/i;
const SEVERAL = /\b(all that apply|which ones|any of|several|multiple|one or more|more than one)\b/i;
const PICKS_PATIENT = /^(?:for |about )?(?:which|what|the|whose) (?:patient|person|client)\b/i;
const LEAD =
  /^(?:i|we|you|she|he|they|it|the patient)\b(?:\s+(?:should|want|wants|prefer|prefers|would|like|need|needs|to|use|take|have|get|give))*\s+/i;
const MOST_WORDS = 6;

/** "Recommend a magnesium for her, but ask me whether capsules or powder": asks, then goes on with the rest as `others` do. */
export const askMe = (others: readonly Rule[]): Rule => ({
  id: "a question to the user",
  fits: (scene) => canAsk(scene) && wanted(scene.now.question) !== undefined,
  *steps(scene) {
    const asked = wanted(scene.now.question);
    if (asked === undefined) return "What should I ask you?";
    const answer = yield* choose(scene, asked);
    const rest = scene.now.question.replace(ASK_ME, " ").trim();
    const said = answer.asked === "patient_picker" ? answer.added : answered(answer);
    const seen: Scene = { ...scene, now: { ...scene.now, question: `${rest.replace(/[.?!,;\s]+$/, "")}, ${said}` } };
    const rule = rest === "" ? undefined : others.find((each) => each.fits(seen));
    if (rule !== undefined) return yield* rule.steps(seen);
    const chosen = `You chose ${andList(answer.chosen.map(({ label }) => label))}.`;
    return answer.added === "" ? chosen : `${chosen} You added: “${answer.added}”`;
  },
});

function wanted(question: string): Question | undefined {
  const clause = ASK_ME.exec(withoutExpiry(question))?.[1]?.trim();
  if (clause === undefined) return undefined;
  if (PICKS_PATIENT.test(clause)) return { question: "Which patient do you mean?", kind: "patient_picker" };
  const [, head = "", list] = /^([^:]*):\s*(.+)$/.exec(clause) ?? [];
  const named =
    list ?? clause.replace(/^(?:whether|if|which(?: of| ones| one)?|what|to choose|to pick|for|between)\b\s*/i, "");
  const labels = named
    .replace(/\s+(?:first|before that|please)$/i, "")
    .split(/\s*,\s*(?:or|and)?\s*|\s+(?:or|and)\s+/i)
    .map((part) =>
      part
        .replace(LEAD, "")
        .replace(/^(?:a|an|the|in)\s+/i, "")
        .trim(),
    )
    .filter((part) => part !== "");
  const options = [...new Set(labels)].map((label) => ({ label: capital(label) }));
  if (options.length < 2 || labels.some((label) => label.split(/\s+/).length > MOST_WORDS)) return undefined;
  return {
    question: `${capital(head === "" ? labels.join(" or ") : head)}?`,
    kind: SEVERAL.test(clause) ? "multi_choice" : "single_choice",
    options,
  };
}
