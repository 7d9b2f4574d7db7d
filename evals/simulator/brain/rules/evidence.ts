import { SHORTENED } from "../answers/phrases.ts";
import { Evidence } from "../data.ts";
import { researched } from "../researched.ts";
import { ask, loadSkill, need, PlanStopped, type Rule } from "../steps.ts";
import { things } from "../topic.ts";

const CITED = 4;

/** "What does the evidence say about magnesium for sleep?", "are there trials of saffron?" */
export const evidence: Rule = {
  id: "evidence",
  fits: ({ now: { question } }) =>
    /\b(evidence|stud(y|ies)|trials?|research|literature|meta-?analys\w+|rcts?|papers?)\b/i.test(question) ||
    /\b(does|do|is|are|can)\b.*\b(work|help|effective|improve|reduce|relieve)\b/i.test(question),
  *steps(scene) {
    const { names, purposes } = things(scene);
    const words = [...names, ...purposes];
    if (words.length === 0) throw new PlanStopped("Which supplement, and for what, should I look up in the evidence?");
    if (!scene.tools.has("evidence_search") && scene.tools.size > 0) {
      throw new PlanStopped("Evidence search is not available in this session, so I can't say what the studies found.");
    }
    yield* loadSkill(scene, "research-evidence");
    const { answer, failure } = yield* researched(scene, names, purposes);
    if (answer !== undefined) return answer;
    const exact = need(
      yield* ask("evidence_search", { query: words.join(" "), limit: 8 }),
      "evidence search",
      Evidence,
    );
    const wider = exact.data.evidence.length === 0 && names[0] !== undefined && words.length > 1;
    const found = wider
      ? need(yield* ask("evidence_search", { query: names[0] ?? "", limit: 8 }), "evidence search", Evidence)
      : exact;
    const records = found.data.evidence.slice(0, CITED);
    if (records.length === 0)
      return [
        ...failure,
        `I found no record in the evidence index for ${words.join(", ")}. That is not evidence against it.`,
      ].join("\n\n");
    if (scene.tools.has("cite_sources")) yield* ask("cite_sources", { evidence_ids: records.map(({ id }) => id) });

    const lines = records.map(({ title, year, journal, studyType, population, finding }) => {
      const facts = [journal, year, studyType, population].filter((word) => word).join(", ");
      return `- *${title}*${facts === "" ? "" : ` (${facts})`}: ${finding ?? "no finding is recorded."}`;
    });
    const head = wider
      ? `Nothing is recorded for exactly that; for ${names[0]} in general I found:`
      : `The closest records in the evidence index for ${words.join(", ")}:`;
    return [...failure, head, lines.join("\n"), ...(found.shortened ? [SHORTENED] : [])].join("\n\n");
  },
};
