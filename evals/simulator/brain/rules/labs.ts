import { Labs } from "../data.ts";
import { askAll, need, PlanStopped, type Rule } from "../steps.ts";
import { things } from "../topic.ts";

/** "Which lab test for iron status?", "reference range of ferritin" */
export const labs: Rule = {
  id: "labs",
  fits: ({ now: { question } }) =>
    /\b(labs?|laboratory|blood (test|work)|loinc|biomarkers?|reference (range|interval)|which tests?|what tests?|tests? (for|to|of)|test (her|his)|(check|measure|monitor)\b.*\blevels?)\b/i.test(
      question,
    ),
  *steps(scene) {
    const { names, purposes } = things(scene);
    const subjects = [...names, ...purposes].filter((word) => !/^blood$/i.test(word)).slice(0, 4);
    if (subjects.length === 0) throw new PlanStopped("For which nutrient or marker do you want a lab test?");
    const outcomes = yield* askAll(...subjects.map((query) => ({ tool: "lab_tests", args: { query, limit: 5 } })));
    const sets = outcomes.map((outcome) => need(outcome, "lab test search", Labs).data.labs);
    const unique = new Map(sets.flat().map((lab) => [lab.id, lab]));
    const missing = subjects.filter((_, at) => sets[at]?.length === 0);
    const none = missing.map((subject) => `I found no lab test for ${subject}.`);
    if (unique.size === 0) return none.join(" ");
    if (
      scene.tools.has("recommend_labs") &&
      /\b(which|what|recommend|suggest|should|order)\b/i.test(scene.now.question)
    ) {
      yield [
        {
          tool: "recommend_labs",
          args: {
            lab_ids: [...unique.keys()].slice(0, 12),
            rationale: `Tests found for ${subjects.join(", ")}.`.slice(0, 600),
          },
        },
      ];
    }
    const lines = [...unique.values()].map(({ name, loinc, specimen, referenceInterval, note }) => {
      const range = referenceInterval?.text ?? intervalText(referenceInterval);
      const facts = [loinc ? `LOINC ${loinc}` : "", specimen ?? "", range ? `reference ${range}` : ""].filter(
        (word) => word !== "",
      );
      return `- **${name}**${facts.length > 0 ? `: ${facts.join("; ")}` : ""}.${note ? ` ${note}` : ""}`;
    });
    return [`Lab tests for ${subjects.join(", ")}:`, lines.join("\n"), ...none].join("\n\n");
  },
};

function intervalText(
  interval:
    | { low?: number | null | undefined; high?: number | null | undefined; unit?: string | null | undefined }
    | null
    | undefined,
): string {
  if (interval === null || interval === undefined) return "";
  const { low, high, unit } = interval;
  if (low == null && high == null) return "";
  const range = low == null ? `up to ${high}` : high == null ? `from ${low}` : `${low} to ${high}`;
  return `${range} ${unit ?? ""}`.trim();
}
