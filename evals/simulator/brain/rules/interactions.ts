import { depletionAnswer } from "../answers/depletions.ts";
import { interactionAnswer } from "../answers/interactions.ts";
import { andList, capital } from "../answers/phrases.ts";
import { Depletions, Interactions, type Patient } from "../data.ts";
import { medicationLine, whichPatient } from "../patient.ts";
import type { Scene } from "../scene.ts";
import { ask, have, loadSkill, need, PlanStopped, type Rule, type Steps } from "../steps.ts";
import { lastNaming, pointsBack, type Topic, topicOf, withPersonAsName } from "../topic.ts";
import { recommendedNames } from "./recommended.ts";

export const INTERACTION_SKILL = "interaction-depletion-check";

const WORDS = /\binteract|\bcombin(e|es|ed|ing|ation)\b|\bcontraindicat|\btogether\b|\binterfere|\bco-?administ/i;
const SAFE =
  /\b(safe|safely|ok|okay|fine|alright|dangerous|risky|harmful|problem|conflict)\b.*\b(with|and|on|while|for|plus|alongside)\b/i;
const TAKE =
  /\b(take|taking|takes|mix|mixing|give|start|starting|use|using|pair|add|adding)\b.*\b(with|alongside|while|on top of|plus)\b/i;
const MAY = /\b(can|could|should|may|might)\b.*\b(take|use|start|have|add|get|be given|avoid|try)\b/i;

/** "Does ginkgo interact with warfarin?", "is it ok to combine X, Y and Z", "check interactions for <patient>", "and with aspirin?" */
export const interactions: Rule = {
  id: "interactions",
  fits: ({ now: { question } }) =>
    WORDS.test(question) ||
    SAFE.test(question) ||
    (!/\b(plan|recommend|suggest|what|which)\b/i.test(question) && (TAKE.test(question) || asksLeave(question))),
  *steps(scene) {
    yield* loadSkill(scene, INTERACTION_SKILL);
    const own = topicOf(scene.now.question);
    const patient = yield* whichPatient(scene, personMeant(scene, own), own.names.length < 2 && scene.follows === null);
    if (patient !== null) return yield* forPatient(scene, patient, own.names);
    const names = own.person.kind === "named" ? withPersonAsName(own) : own.names;
    if (names.length >= 2) return yield* amongNames(scene, names);
    const earlier = scene.follows !== null || pointsBack(scene.now.question) ? lastNaming(scene.past) : null;
    const before = earlier?.exchange.done.findLast(({ tool }) => tool === "interaction_check");
    const data = before === undefined ? null : have(before.outcome, Interactions);
    if (names.length === 1 && data !== null) return yield* followUp(names, before?.args["items"], data);
    const joined = [...new Set([...(earlier?.names ?? []), ...names])];
    if (joined.length >= 2) return yield* answer(joined, joined);
    throw new PlanStopped(
      joined.length === 1
        ? `With what should I check ${joined[0]}? Name at least one drug or supplement more, or a patient.`
        : "Which drugs and supplements should I check? Name at least two, or one and a patient.",
    );
  },
};

/** "Can she take zinc?", "can someone on warfarin use garlic?" */
function asksLeave(question: string): boolean {
  const { names, person } = topicOf(question);
  return MAY.test(question) && names.length + (person.kind === "nobody" ? 0 : 1) >= 2;
}

/** Only a person named, or pointed at beside one thing, brings the medications in. */
function personMeant(scene: Scene, own: Topic): Topic["person"] {
  if (own.person.kind === "shown" && own.names.length >= 2 && scene.now.context.patient === null)
    return { kind: "nobody" };
  return own.person;
}

function* forPatient(scene: Scene, patient: Patient, named: readonly string[]): Steps<string> {
  const medications = (patient.medications ?? []).map(({ name }) => name);
  const supplements = named.length > 0 ? named : recommendedNames(scene);
  const taken = (patient.medications ?? []).map(medicationLine);
  if (medications.length === 0 && supplements.length < 2) {
    return `No medications are recorded for ${patient.name}, so there is nothing to check against.`;
  }
  const head =
    taken.length === 0
      ? `No medications are recorded for ${patient.name}.`
      : `${patient.name} takes ${andList(taken)}.`;
  if (supplements.length > 0) return `${head}\n\n${yield* answer([...medications, ...supplements], named)}`;
  const depletions = have(yield* ask("depletion_check", { medications }), Depletions);
  const rest = depletions === null ? "" : `${depletionAnswer(depletions)}\n\n`;
  return `${head}\n\n${rest}No supplement is recorded for this patient. Name one and I check it against these medications.`;
}

/** A person may be written in small letters: an unrecognised name of two words is looked for among the patients. */
function* amongNames(scene: Scene, names: readonly string[]): Steps<string> {
  const outcome = yield* ask("interaction_check", { items: names });
  const person = have(outcome, Interactions)?.unknown?.find((name) => /^\p{L}[\p{L}'-]+ \p{L}[\p{L}'-]+$/u.test(name));
  if (person !== undefined && scene.tools.has("patient_search")) {
    const patient = yield* whichPatient(scene, { kind: "named", name: person, sure: false }, false);
    if (patient !== null)
      return yield* forPatient(
        scene,
        patient,
        names.filter((name) => name !== person),
      );
  }
  return yield* answer(names, names);
}

/** `written` are the items in the user's own words. */
function* answer(items: readonly string[], written: readonly string[]): Steps<string> {
  const { check, unknown } = yield* checked(items, written);
  return interactionAnswer(check, unknown);
}

/** Checks names; a written one of several words that is not recognised is tried once more word by word. */
function* checked(
  items: readonly string[],
  written: readonly string[],
): Steps<{ readonly check: Interactions; readonly unknown: readonly string[] }> {
  const first = need(yield* ask("interaction_check", { items }), "interaction check", Interactions).data;
  const unknown = first.unknown ?? [];
  const tried = unknown.filter((name) => written.includes(name) && /\s/.test(name));
  const split = (name: string) =>
    unknown.includes(name) ? name.split(/\s+/).filter((word) => word.length > 2) : [name];
  const finer = [...new Set(items.flatMap(split))];
  if (tried.length === 0 || finer.length < 2) return { check: first, unknown };
  const outcome = yield* ask("interaction_check", { items: finer });
  const second = have(outcome, Interactions);
  if (second === null) return { check: first, unknown };
  const still = second.unknown ?? [];
  return {
    check: second,
    unknown: unknown.filter((name) => name.split(/\s+/).every((word) => word.length <= 2 || still.includes(word))),
  };
}

/**
 * "And with aspirin?" keeps the supplements of the last check. When the new name turns out to be a supplement itself, the
 * drugs of the last check are what it belongs to.
 */
function* followUp(names: readonly string[], items: unknown, before: Interactions): Steps<string> {
  const all = Array.isArray(items) ? items.filter((item) => typeof item === "string") : [];
  const kindOf = (item: string, check: Interactions) =>
    check.matched?.find(({ input }) => input.toLowerCase() === item.toLowerCase())?.kind;
  const supplements = all.filter((item) => kindOf(item, before) === "supplement");
  const drugs = all.filter((item) => kindOf(item, before) === "drug");
  const kept = supplements.length > 0 ? supplements : all.slice(0, 1);
  const { check, unknown } = yield* checked([...kept, ...names], names);
  const allSupplements = names.every((name) => kindOf(name, check) === "supplement");
  if (allSupplements && drugs.length > 0) return yield* answer([...drugs, ...names], names);
  return `${capital(andList(names))}, with ${andList(kept)} as before:\n\n${interactionAnswer(check, unknown)}`;
}
