import { andList } from "../answers/phrases.ts";
import { type Patient, VisitNotes } from "../data.ts";
import { medicationLine, whichPatient } from "../patient.ts";
import { ask, need, PlanStopped, type Rule } from "../steps.ts";
import { topic, topicOf } from "../topic.ts";

const PARTS =
  /\b(medications?|meds|medicines|drugs|allerg\w+|conditions?|diagnos\w+|labs?|results?|preferences?|profile|chart|record|history|notes?|visits?)\b/i;
const LOOK = /\b(who is|tell me about|look ?up|show|find|open|summar\w+|what|which|does|is|list|search)\b/i;

/** "What medications does <patient> take?", "look up <patient>" */
export const record: Rule = {
  id: "patient record",
  fits: ({ now: { question } }) => {
    const { person } = topicOf(question);
    if (person.kind === "nobody") return false;
    if (/\b(plan|draft|recommend|suggest|products?|interact|deplet|lower|evidence|stud(y|ies))/i.test(question))
      return false;
    return (
      (PARTS.test(question) && LOOK.test(question)) ||
      /\b(who is|look ?up|find patient|open patient|(tell me about|summar\w+) )/i.test(question)
    );
  },
  *steps(scene) {
    const { person } = topic(scene);
    const patient = yield* whichPatient(scene, person, true);
    if (patient === null)
      throw new PlanStopped(
        person.kind === "named" ? `I found no patient called "${person.name}".` : "Which patient do you mean?",
      );
    if (!/\b(notes?|visits?)\b/i.test(scene.now.question) || !scene.tools.has("visit_notes")) return describe(patient);
    const { visitNotes } = need(yield* ask("visit_notes", { patientId: patient.id }), "visit notes", VisitNotes).data;
    const notes = visitNotes.map(({ date, text }) => `- ${date ?? "undated"}: ${text}`);
    return `Visit notes of ${patient.name}:\n\n${notes.length === 0 ? "None are recorded." : notes.join("\n")}`;
  },
};

function describe(patient: Patient): string {
  const medications = (patient.medications ?? []).map(medicationLine);
  const labs = (patient.labs ?? []).map(({ name, labId, value, unit, date }) =>
    [`${name ?? labId ?? "lab"} ${value ?? ""} ${unit ?? ""}`.trim(), date ? `(${date})` : ""].join(" ").trim(),
  );
  const line = (label: string, values: readonly string[] | null | undefined) =>
    values === null || values === undefined
      ? []
      : [`- ${label}: ${values.length === 0 ? "none recorded" : andList(values)}`];
  return [
    `**${patient.name}**${patient.sex ? `, ${patient.sex}` : ""}${patient.dob ? `, born ${patient.dob}` : ""}`,
    ...line("Conditions", patient.conditions),
    ...line("Medications", medications),
    ...line("Allergies", patient.allergies),
    ...line("Labs", patient.labs === undefined ? undefined : labs),
  ].join("\n");
}
