import { andList, capital } from "../answers/phrases.ts";
import { expiry } from "../asking.ts";
import { builtFromNotes } from "../built.ts";
import { type Candidates, fromRecord } from "../candidates.ts";
import { Labs, type Patient, type Plan, Plans, Products, VisitNotes } from "../data.ts";
import { pickPatient, whichPatient } from "../patient.ts";
import { naming, type Picked, pick, wishes } from "../pick.ts";
import { checked, type Item } from "../plan-safety.ts";
import type { Offer } from "../proposal.ts";
import type { Scene } from "../scene.ts";
import { askAll, have, loadSkill, need, PlanStopped, type Rule, type Steps } from "../steps.ts";
import { topic, topicOf } from "../topic.ts";

const BUILD =
  /\b(build|propose|suggest|create|make|write|prepare|design|develop|set up|put together|work out|start|extend|draft (?:me |up )?(?:a|an|the|his|her|another))\b(?! (?:it|them|that)\b)(?: [\p{L}\p{N}'-]+){0,5}? (plan|protocol)\b/iu;
const ADD = /\b(add|put(?! together)|include|insert|move|save)\b[^?!]*\b(plan|draft)\b/i;
const EXTENDS = /\b(extend|expand|existing|current|open|same)\b[^.?!]*\b(plan|draft|protocol)\b/i;
const MOST_ITEMS = 5;
const NOTES_LENGTH = 2_500;

export const wantsPlan = (question: string): boolean =>
  BUILD.test(question) && !ADD.test(question) && !/^\W*(what|which|how)\b/i.test(question);

/** "Build a plan from these notes", "draft a plan for <patient> with magnesium": proposed, and written by nobody here. */
export const propose: Rule = {
  id: "a plan to propose",
  fits: (scene) => scene.tools.has("propose_plan") && wantsPlan(scene.now.question),
  *steps(scene) {
    yield* loadSkill(scene, "propose-plan");
    const patient = yield* patientOf(scene);
    const built = yield* builtFromNotes(scene, patient, requestIn(scene.now.question));
    if (built.kind === "said") return built.text;
    if (built.kind === "built") return yield* offer(scene, built.offer);
    const { plans, notes } = yield* readRecord(scene, patient);
    const drafts = plans.filter(({ status }) => status === "draft" || status == null);
    const draft = extendedDraft(scene, drafts);
    const wanted = yield* candidates(scene, patient, notes);
    const found = yield* products(scene, patient, wanted, draft);
    const { kept, remarks, cautions } = yield* checked(patient, found, drafts);
    const left = [...remarks, ...wanted.leftOut.map((each) => `I left out ${each}.`)];
    if (kept.length === 0)
      return [`I propose no plan for ${patient.name}: nothing suitable is left.`, ...left].join("\n\n");
    return yield* offer(scene, {
      args: {
        patient_id: patient.id,
        title: draft?.title ?? `Plan for ${patient.name}`,
        summary: `${capital(andList(kept.map(({ name }) => name)))} for ${patient.name}, to review.`.slice(0, 500),
        items: kept.map(({ choice, why }) => ({
          variant_id: choice.variantId,
          dosing: choice.dosing,
          rationale: [why, choice.reasons.length > 0 ? `Chosen: ${andList(choice.reasons)}.` : ""]
            .join(" ")
            .trim()
            .slice(0, 600),
        })),
        ...(cautions.length > 0 && { notes: cautions.join("\n").slice(0, NOTES_LENGTH) }),
        ...(yield* labsFor(scene, kept)),
        ...(draft !== null && { plan_id: draft.id }),
      },
      say: [
        ...built.remarks,
        `This is what I propose for ${patient.name}, from ${andList(["the chart", ...(notes === "" ? [] : ["the notes"])])}.`,
        ...left,
      ],
    });
  },
};

/** Puts a proposal to the user. What comes back is no decision: that comes with a later turn. */
export function* offer(scene: Scene, { args, say }: Offer): Steps<string> {
  const call = { tool: "propose_plan", args: { ...args, ...expiry(scene.now.question) } };
  const [outcome] = yield [{ ...call, say: say.join("\n\n") }];
  if (outcome?.kind === "error") return `I could not propose the plan: ${outcome.reason} Nothing was saved.`;
  return "The plan is proposed. Nothing is saved until you accept it.";
}

const WHOSE = "For which patient is the plan?";

function* patientOf(scene: Scene): Steps<Patient> {
  const { person } = topic(scene);
  // Without a name or a pronoun nobody of earlier questions is meant: a plan for the wrong patient is worse than a question.
  const patient = yield* whichPatient(scene, person, true);
  if (patient !== null) return patient;
  const head = person.kind === "named" ? `I found no patient called "${person.name}". ` : "";
  return yield* pickPatient(scene, `${head}${WHOSE}`, `${head}${WHOSE}`);
}

const orElse = (first: Picked, second: Picked): Picked => (first.choices.length > 0 ? first : second);

type OnRecord = { readonly plans: readonly Plan[]; readonly notes: string };

/** Drafts and notes of the patient; notes in the question itself count as well. */
function* readRecord(scene: Scene, patient: Patient): Steps<OnRecord> {
  const wanted = ["treatment_plan_get", "visit_notes"].filter((tool) => scene.tools.has(tool));
  const outcomes =
    wanted.length === 0 ? [] : yield* askAll(...wanted.map((tool) => ({ tool, args: { patientId: patient.id } })));
  const given = (tool: string) => outcomes[wanted.indexOf(tool)] ?? { kind: "no_tool" as const };
  const visits = have(given("visit_notes"), VisitNotes)?.visitNotes ?? [];
  const { pasted } = requestIn(scene.now.question);
  return {
    plans: have(given("treatment_plan_get"), Plans)?.plans ?? [],
    notes: [pasted, ...visits.map(({ text }) => text)].filter((text) => text !== "").join("\n"),
  };
}

/** "Build a plan from these notes: 58F w …": the request, and the notes behind it. */
function requestIn(question: string): { readonly request: string; readonly pasted: string } {
  const [, request, pasted] = /^([^:\n]*\bnotes?\b[^:\n]*)[:\n]([\s\S]+)$/i.exec(question) ?? [];
  return { request: request ?? question, pasted: (pasted ?? "").trim() };
}

function extendedDraft(scene: Scene, drafts: readonly Plan[]): Plan | null {
  const onScreen = drafts.find(({ id }) => id === scene.now.context.planId);
  if (onScreen !== undefined) return onScreen;
  return EXTENDS.test(scene.now.question) ? (drafts[0] ?? null) : null;
}

function* candidates(scene: Scene, patient: Patient, notes: string): Steps<Candidates> {
  const { request } = requestIn(scene.now.question);
  const own = topicOf(request);
  const names = scene.follows === null ? own.names : topic(scene).names;
  const meant = names.filter((name) => !patient.name.toLowerCase().includes(name.toLowerCase().replace(/['’]s$/, "")));
  if (meant.length > 0)
    return { chosen: meant.slice(0, MOST_ITEMS).map((name) => ({ name, why: "You asked for it." })), leftOut: [] };
  const found = yield* fromRecord(scene, patient, own.purposes, notes);
  if (found.chosen.length > 0) return found;
  throw new PlanStopped(
    [
      `Neither the record of ${patient.name} nor the evidence index names a supplement. What should go into the plan?`,
      ...found.leftOut.map((each) => `I left out ${each}.`),
    ].join("\n\n"),
  );
}

function* products(
  scene: Scene,
  patient: Patient,
  { chosen }: Candidates,
  draft: Plan | null,
): Steps<readonly (Item | string)[]> {
  const searches = chosen.map(({ name }) => ({ tool: "product_search", args: { query: name, limit: 10 } }));
  const outcomes = yield* askAll(...searches);
  const wants = wishes(scene.now.question, patient, scene.now.context.preferences);
  const held = new Set((draft?.items ?? []).map(({ variantId }) => variantId));
  const taken = new Set<string>();
  return chosen.map(({ name, why }, at) => {
    const { products } = need(outcomes[at] ?? { kind: "no_tool" }, "product search", Products).data;
    const { literal, list } = naming(products, name);
    // A combination holds more than what was looked for: only when nothing else does.
    const single = list.filter(({ supplements }) => supplements?.length === 1);
    const { choices, leftOut } = [single, list].map((each) => pick(literal ? each : [], wants, 3)).reduce(orElse);
    const choice = choices.find(({ variantId }) => !held.has(variantId) && !taken.has(variantId));
    if (choice === undefined) {
      if (choices.length > 0) return `The plan holds ${name} already.`;
      return `I found no suitable product for ${name}${leftOut.length === 0 ? "" : ` (${andList(leftOut)})`}.`;
    }
    taken.add(choice.variantId);
    return { name, why, choice };
  });
}

/** Tests go with a plan only where they were asked for. */
function* labsFor(scene: Scene, items: readonly Item[]): Steps<{ readonly labs?: readonly string[] }> {
  if (!/\b(labs?|tests?|monitor\w*)\b/i.test(requestIn(scene.now.question).request) || !scene.tools.has("lab_tests"))
    return {};
  const outcomes = yield* askAll(...items.map(({ name }) => ({ tool: "lab_tests", args: { query: name, limit: 1 } })));
  const labs = [...new Set(outcomes.flatMap((outcome) => have(outcome, Labs)?.labs.map(({ id }) => id) ?? []))];
  return labs.length === 0 ? {} : { labs };
}
