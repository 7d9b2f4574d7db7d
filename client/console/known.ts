import { readCard } from "../card.ts";
import { type BlockView, blockText, type View } from "../view.ts";
import { nameAndBirth } from "./cards/matching.ts";

/** Something that was named before and may be picked again. */
export type Known = { readonly id: string; readonly label?: string };

const ID = { patient: /\bpat-[a-z0-9-]*[a-z0-9]/g, plan: /\bplan-[a-z0-9-]*[a-z0-9]/g };

/** Patients known from elsewhere, and the patients and plans of this conversation: its contexts, cards, actions, text. */
export function knownIn(
  view: View,
  others: readonly Known[] = [],
): { readonly patients: readonly Known[]; readonly plans: readonly Known[] } {
  const patients = new Map(others.map((one) => [one.id, one]));
  const plans = new Map<string, Known>();
  const add = (to: Map<string, Known>, id: unknown, label?: unknown) => {
    if (typeof id !== "string" || id === "") return;
    if (typeof label === "string") to.set(id, { id, label });
    else if (!to.has(id)) to.set(id, { id });
  };

  for (const turn of view.turns) {
    if ("text" in turn.input) {
      add(patients, turn.input.context?.patient_id);
      add(plans, turn.input.context?.plan_id);
    }
    for (const block of turn.blocks) {
      const text = block.type === "text" && block.finished ? blockText(block) : "";
      for (const [id] of text.matchAll(ID.patient)) add(patients, id);
      for (const [id] of text.matchAll(ID.plan)) add(plans, id);
      const named = namedBy(block);
      for (const { id, label } of named.patients) add(patients, id, label);
      for (const { id, label } of named.plans) add(plans, id, label);
    }
  }
  for (const { plan } of view.actions) {
    const { plan_id, title } = (plan ?? {}) as Readonly<Record<string, unknown>>;
    add(plans, plan_id, title);
  }
  return { patients: [...patients.values()], plans: [...plans.values()] };
}

/** Whom and what a card names. */
function namedBy(block: BlockView): { readonly patients: readonly Known[]; readonly plans: readonly Known[] } {
  const card = ASKING_OR_STORING.has(block.type) ? readCard(block) : undefined;
  if (card?.kind === "treatment_plan") {
    const { plan_id, title, patient_id, patient_name } = card.data;
    return { patients: [known(patient_id, patient_name)], plans: [known(plan_id, title)] };
  }
  if (card?.kind !== "interaction_request") return { patients: [], plans: [] };
  const { kind, options = [], proposal } = card.data;
  const listed = kind === "patient_picker" ? options.map((one) => known(one.id, nameAndBirth(one).name)) : [];
  const proposed = proposal === undefined ? [] : [known(proposal.patient_id, proposal.patient_name)];
  return { patients: [...listed, ...proposed], plans: [] };
}

const ASKING_OR_STORING: ReadonlySet<string> = new Set(["interaction_request", "treatment_plan"]);
const known = (id: string, label: string | null): Known => (label === null ? { id } : { id, label });

/** What was typed as an id: a known name stands for its id, unless two have it. */
export function idOf(typed: string, known: readonly Known[]): string | undefined {
  const text = typed.trim();
  const named = bearersOf(text, known);
  if (text === "") return undefined;
  return named.length === 1 ? named[0]?.id : text;
}

/** What stands for an id: its name if it is known and nobody else has it. */
export function nameOf(id: string, known: readonly Known[]): string {
  const label = known.find((one) => one.id === id)?.label;
  return label !== undefined && bearersOf(label, known).length === 1 ? label : id;
}

const bearersOf = (name: string, known: readonly Known[]) =>
  known.filter(({ label }) => label?.toLowerCase() === name.toLowerCase());
