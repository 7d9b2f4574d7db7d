import { z } from "zod";
import { showingTool } from "./define.ts";
import { lookUp, unknownIds } from "./lookup.ts";

const lab = z.object({
  id: z.string(),
  name: z.string(),
  loinc: z.string().nullish(),
  specimen: z.string().nullish(),
  referenceInterval: z.object({ text: z.string() }).nullish(),
});

/** More than the platform lists; without a query it gives all. */
const ALL_LABS = 50;

/** Shows lab tests as a card; what they are comes from the platform's list. */
export const recommendLabs = showingTool({
  name: "recommend_labs",
  title: "Showing lab tests",
  description:
    "Show lab tests to the user as a card with specimen and reference interval. Takes ids of lab_tests results. The card shows the details: do not repeat them in your text. Orders nothing.",
  input: z.object({
    lab_ids: z.array(z.string().min(1).max(100)).min(1).max(12).describe("Ids of lab_tests results."),
    rationale: z.string().max(600).optional().describe("Why these tests for this patient, one or two sentences."),
  }),
  async run({ lab_ids, rationale }, context) {
    const ids = [...new Set(lab_ids)];
    const looked = await lookUp(context, "lab_tests", { limit: ALL_LABS }, z.object({ labs: z.array(lab) }));
    if ("failed" in looked) return looked.failed;

    const byId = new Map(looked.found.labs.map((one) => [one.id, one]));
    const unknown = ids.filter((id) => !byId.has(id));
    if (unknown.length > 0) return unknownIds("lab id", unknown, "lab_tests");

    const labs = ids
      .flatMap((id) => byId.get(id) ?? [])
      .map(({ id, name, loinc, specimen, referenceInterval }) => ({
        id,
        name,
        loinc: loinc ?? null,
        specimen: specimen ?? null,
        reference: referenceInterval?.text ?? null,
        rationale: rationale ?? null,
      }));
    return {
      kind: "ok",
      text: `The user sees a card with: ${labs.map(({ id, name }) => `${name} (${id})`).join(", ")}.`,
      card: { kind: "recommend_labs", data: { labs } },
    };
  },
});
