import { choose } from "./asking.ts";
import { OnePatient, type Patient, Patients } from "./data.ts";
import type { Person } from "./people.ts";
import type { Scene } from "./scene.ts";
import { ask, have, need, PlanStopped, pastResult, type Steps } from "./steps.ts";

/**
 * The patient that a question means, or null for none. Ends the plan with a question to the user when several fit or when
 * one is certainly meant and none fits. `shown` says whether the patient on the screen is meant when nobody is named.
 */
export function* whichPatient(scene: Scene, person: Person, shown: boolean): Steps<Patient | null> {
  const picked = scene.now.answers.findLast(({ asked }) => asked === "patient_picker")?.chosen[0];
  if (picked !== undefined) return yield* byId(picked.id);
  switch (person.kind) {
    case "named":
      return yield* byName(scene, person.name, person.sure);
    case "shown": {
      const shownId = scene.now.context.patient?.id;
      const last = lastPatient(scene);
      if (shownId !== undefined) return yield* byId(shownId);
      if (last === null)
        return yield* pickPatient(
          scene,
          "Which patient do you mean?",
          "Which patient do you mean? Give me the name, or open the patient first.",
        );
      return scene.tools.has("patient_get") ? yield* byId(last.id) : last;
    }
    case "nobody": {
      const id = scene.now.context.patient?.id;
      return shown && id !== undefined ? yield* byId(id) : null;
    }
  }
}

/** Lets the user pick one of their patients; where that can't be asked, the plan ends with `inWords`. */
export function* pickPatient(scene: Scene, question: string, inWords: string): Steps<Patient> {
  const { chosen } = yield* choose(scene, { question, kind: "patient_picker" }, inWords);
  return yield* byId(chosen[0]?.id ?? "");
}

function* byName(scene: Scene, name: string, sure: boolean): Steps<Patient | null> {
  const question = `Several patients match "${name}". Which one do you mean?`;
  const meant = scene.now.answers.find(({ prompt }) => prompt === question)?.chosen[0];
  if (meant !== undefined) return yield* byId(meant.id);
  if (!sure && !scene.tools.has("patient_search") && scene.tools.size > 0) return null;
  const outcome = yield* ask("patient_search", { query: name });
  // The search also looks at conditions and medications: those hits are no answer to a name.
  const patients = need(outcome, "patient search", Patients).data.patients.filter((each) =>
    sharesWord(each.name, name),
  );
  const exact = patients.filter((each) => each.name.toLowerCase() === name.toLowerCase());
  const matching = exact.length > 0 ? exact : patients;
  const [first, second] = matching;
  if (first === undefined) {
    if (!sure) return null;
    throw new PlanStopped(
      `I found no patient called "${name}". Check the spelling, or give me another part of the name.`,
    );
  }
  if (second !== undefined) {
    const options = matching.map(({ id, name: label, dob }) => ({ id, label: dob ? `${label}, born ${dob}` : label }));
    const { chosen } = yield* choose(scene, { question, kind: "single_choice", options });
    return yield* byId(chosen[0]?.id ?? "");
  }
  return yield* withDetails(scene, first);
}

/** A search result may leave out allergies and preferences. */
function* withDetails(scene: Scene, found: Patient): Steps<Patient> {
  if (found.allergies !== undefined || !scene.tools.has("patient_get")) return found;
  const full = have(yield* ask("patient_get", { id: found.id }), OnePatient);
  return full?.patient ?? found;
}

function* byId(id: string): Steps<Patient> {
  const { patient } = need(yield* ask("patient_get", { id }), "patient record", OnePatient).data;
  if (patient === null) throw new PlanStopped("The patient on the screen was not found in the records.");
  return patient;
}

/** Who was looked up last, when that was one person. */
function lastPatient(scene: Scene): Patient | null {
  const found = pastResult(scene, ["patient_get", "patient_search"], OnePatient.or(Patients))?.data;
  const one = OnePatient.safeParse(found);
  if (one.success) return one.data.patient;
  const many = Patients.safeParse(found);
  return many.success && many.data.patients.length === 1 ? (many.data.patients[0] ?? null) : null;
}

const words = (text: string): readonly string[] => text.toLowerCase().split(/[^\p{L}\p{N}]+/u);

function sharesWord(name: string, query: string): boolean {
  const own = words(name);
  return words(query).some((word) => word.length > 1 && own.some((each) => each.startsWith(word)));
}

/** "metformin 1,000 mg twice daily" */
export const medicationLine = (medication: {
  name: string;
  dose?: string | null | undefined;
  frequency?: string | null | undefined;
}): string => [medication.name, medication.dose, medication.frequency].filter((word) => word).join(" ");
