import { andList, capital } from "../answers/phrases.ts";
import { Depletions, Interactions, Labs, nameOf, OnePatient, type Patient, Products, VisitNotes } from "../data.ts";
import { wishes } from "../pick.ts";
import type { Scene } from "../scene.ts";
import { ask, askAll, have, need, PlanStopped, type Rule, type Steps } from "../steps.ts";
import { chosen, inFavour, isMonitored, type Meant, NONE, recognised, shortName, wishesOf } from "./meant.ts";
import { clausesOf, type Stance, timingIn } from "./notes.ts";
import { best, budgetOf, type Serving } from "./plan-products.ts";
import { quotedIn } from "./whole.ts";

const MOST_NAMES = 30;
const NOTES_CHARACTERS = 1_500;
const TRIES = 4;

/** The plan builder: takes from the notes what they want given, finds products for it, checks, and mends what is refused. */
export const planAgent: Rule = {
  id: "a plan to build",
  fits: ({ tools }) => tools.has("finish_plan"),
  *steps(scene) {
    const task = scene.now.question;
    const { patient, note, date } = yield* read(task);
    const clauses = clausesOf(note);
    const goals = quotedIn(task, /Goals of the practitioner:/) ?? "";
    const meant = yield* recognised([...clauses, ...wishesOf(goals)], patient);
    const wanted = chosen(meant);
    const found = yield* products(scene, patient, wanted, meant);
    const { kept, warnings } = yield* checked(scene, patient, found);
    const fitting = within(kept, budgetOf(patient));
    if (fitting.length === 0) return yield* clarify(patient, meant);
    const left = leftOut(meant, fitting);
    return yield* finish(patient, {
      title: `Supplement plan from the notes${date === "" ? "" : ` of ${date}`}`,
      items: fitting,
      notes: left.join("\n").slice(0, NOTES_CHARACTERS),
      warnings,
      labs: yield* labsFor(scene, fitting),
      meant,
    });
  },
};

type Read = { readonly patient: Patient; readonly note: string; readonly date: string };

/** Chart and notes; of several notes the newest, which comes first. */
function* read(task: string): Steps<Read> {
  const id = quotedIn(task, /patient with the id/) ?? "";
  const given = quotedIn(task, /The notes:/);
  const calls = [
    { tool: "patient_get", args: { id } },
    ...(given === undefined ? [{ tool: "visit_notes", args: { patientId: id } }] : []),
  ];
  const [chart, visits] = yield* askAll(...calls);
  const { patient } = need(chart ?? { kind: "no_tool" }, "patient record", OnePatient).data;
  if (patient === null) throw new PlanStopped("There is no such patient.");
  const [newest] = (visits && have(visits, VisitNotes)?.visitNotes) ?? [];
  return { patient, note: given ?? newest?.text ?? "", date: given === undefined ? (newest?.date ?? "") : "" };
}

type Item = Serving & { readonly meant: Meant; readonly about: string; readonly why: string };

function* products(
  scene: Scene,
  patient: Patient,
  wanted: readonly Meant[],
  all: readonly Meant[],
): Steps<readonly Item[]> {
  const searches = wanted.map(({ id }) => ({
    tool: "product_search",
    args: { supplementId: id, inStock: true, limit: 20 },
  }));
  const outcomes = yield* askAll(...searches);
  const wants = wishes("", patient, scene.now.context.preferences);
  return wanted.flatMap((meant, at): readonly Item[] => {
    const list = outcomes[at] === undefined ? null : have(outcomes[at], Products);
    const about = inFavour(meant, all);
    const serving = best(list?.products ?? [], wants, about);
    if (serving === null) return [];
    return [{ ...serving, meant, about, why: `The notes say: “${meant.said[0]?.about.trim() ?? ""}”.` }];
  });
}

type Checked = { readonly kept: readonly Item[]; readonly warnings: readonly string[] };

/** The medication with what was chosen; what it lowers is a reason more. */
function* checked(scene: Scene, patient: Patient, items: readonly Item[]): Steps<Checked> {
  const medications = (patient.medications ?? []).map(({ name }) => name);
  if (items.length === 0 || medications.length === 0) return { kept: items, warnings: [] };
  const names = [...medications, ...items.map(({ meant }) => meant.name)].slice(0, MOST_NAMES);
  const tools = ["interaction_check", "depletion_check"].filter((tool) => scene.tools.has(tool));
  const outcomes = yield* askAll(
    { tool: "interaction_check", args: { items: names } },
    ...(tools.includes("depletion_check") ? [{ tool: "depletion_check", args: { medications } }] : []),
  );
  const check = outcomes[0] === undefined ? null : have(outcomes[0], Interactions);
  const lowered = outcomes[1] === undefined ? null : have(outcomes[1], Depletions);
  const major = (check?.findings ?? []).filter(({ severity }) => /^(major|severe|contraindicated)$/i.test(severity));
  const against = ({ meant }: Item) => major.filter(({ a, b }) => nameOf(a) === meant.name || nameOf(b) === meant.name);
  const reason = ({ meant, why }: Item) => {
    const found = (lowered?.depletions ?? []).find(({ nutrient }) => nameOf(nutrient) === meant.name);
    return found === undefined ? why : `${why} ${capital(nameOf(found.drug))} can lower ${meant.name}.`;
  };
  return {
    kept: items.filter((item) => against(item).length === 0).map((item) => ({ ...item, why: reason(item) })),
    warnings: items.flatMap((item) =>
      against(item).map(({ a, b, severity, advice }) =>
        `${item.meant.name} is left out: ${nameOf(a)} and ${nameOf(b)}: ${severity}. ${advice ?? ""}`
          .trim()
          .slice(0, 300),
      ),
    ),
  };
}

/** As many as the budget pays for a month, the first before the later ones. */
function within(items: readonly Item[], budget: number): readonly Item[] {
  let spent = 0;
  return items.filter(({ cost }) => {
    if (spent + cost > budget) return false;
    spent += cost;
    return true;
  });
}

function leftOut(meant: readonly Meant[], items: readonly Item[]): readonly string[] {
  const others = meant.filter((each) => !items.some((item) => item.meant.id === each.id));
  const line = (word: string, stance: Stance) =>
    others
      .filter((each) => each.stance === stance)
      .map(({ name, said }) => `${word}: ${name} (“${said[0]?.about.trim().slice(0, 120) ?? ""}”)`);
  return [
    ...line("Not in the plan, the notes speak against it", "against"),
    ...line("Left open by the notes", "open"),
    ...line("Wanted by the notes and not in the plan", "wanted"),
  ];
}

function* labsFor(scene: Scene, items: readonly Item[]): Steps<readonly string[]> {
  const watched = items.filter(({ meant }) => isMonitored(meant));
  if (!scene.tools.has("lab_tests")) return [];
  const searches = watched.map(({ meant: { id, name } }) => ({
    tool: "lab_tests",
    args: { query: shortName(name), supplementId: id, limit: 1 },
  }));
  const outcomes = yield* askAll(...searches);
  return [...new Set(outcomes.flatMap((outcome) => have(outcome, Labs)?.labs.map(({ id }) => id) ?? []))];
}

type Draft = {
  readonly title: string;
  readonly items: readonly Item[];
  readonly notes: string;
  readonly warnings: readonly string[];
  readonly labs: readonly string[];
  readonly meant: readonly Meant[];
};

/** Gives the plan; what is refused is changed as the refusal says, a few times. */
function* finish(patient: Patient, { meant, labs, ...draft }: Draft): Steps<string> {
  let items = draft.items;
  const warnings = [...draft.warnings];
  for (let tries = 0; tries < TRIES && items.length > 0; tries += 1) {
    const outcome = yield* ask("finish_plan", {
      title: draft.title,
      items: items.map(itemArgs),
      ...(labs.length > 0 && { labs }),
      ...(draft.notes !== "" && { notes: draft.notes }),
      ...(warnings.length > 0 && { warnings: warnings.slice(0, 10) }),
    });
    if (outcome.kind !== "error") return "The plan is built.";
    const mended = items.flatMap((item) => mend(item, outcome.reason));
    if (mended.length === items.length && mended.every((item, at) => item === items[at]))
      throw new PlanStopped(`The plan was refused: ${outcome.reason}`);
    for (const item of items)
      if (!mended.some(({ meant: { id } }) => id === item.meant.id))
        warnings.push(`${item.meant.name} is left out: ${refusalOf(item, outcome.reason)}`.slice(0, 300));
    items = mended;
  }
  return yield* clarify(patient, meant);
}

function itemArgs({ variantId, units, product, about, why }: Item) {
  const timing = timingIn(about);
  const servings = `${units} serving${units === 1 ? "" : "s"} daily`;
  return {
    variant_id: variantId,
    dosing: [timing === "" ? servings : `${servings} ${timing}`, product.form ? `(${product.form})` : ""]
      .join(" ")
      .trim(),
    units_per_day: units,
    rationale: why.slice(0, 600),
  };
}

const namesIn = (text: string, { product, meant, variantId }: Item): boolean =>
  [product.name, meant.name, variantId].some((name) => text.includes(name));

const refusalOf = (item: Item, reason: string): string =>
  reason
    .split("\n")
    .find((line) => namesIn(line, item))
    ?.replace(/^- /, "") ?? "it was refused.";

/** A refused item with fewer servings, or gone. */
function mend(item: Item, reason: string): readonly Item[] {
  const lines = reason.split("\n").filter((line) => namesIn(line, item));
  if (lines.length === 0) return [item];
  const isDose = lines.every((line) => /\bcomes to\b/.test(line));
  return isDose && item.units > 1 ? [{ ...item, units: item.units - 1 }] : [];
}

/** Nothing that could go into a plan is left: the practitioner has to say what. */
function* clarify(patient: Patient, meant: readonly Meant[]): Steps<string> {
  const open = meant
    .filter(({ stance }) => stance === "open" || stance === "mentioned")
    .map(({ name }) => shortName(name));
  const options = open.slice(0, 5).map(capital);
  const question =
    options.length === 0
      ? `The notes want no supplement started for ${patient.name} that could be given. What should the plan hold?`
      : `The notes start no supplement for ${patient.name}. Should the plan hold ${andList(open.slice(0, 5)).replace(" and ", " or ")}?`;
  yield* ask("ask_clarification", {
    questions: [{ question: question.slice(0, 300), ...(options.length > 0 && { options: [...options, NONE] }) }],
  });
  return "I asked what the plan should hold.";
}
