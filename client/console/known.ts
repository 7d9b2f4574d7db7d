import { blockText, type View } from "../view.ts";

/** Something that was named before and may be picked again. */
export type Known = { readonly id: string; readonly label?: string };

const ID = { patient: /\bpat-[a-z0-9-]*[a-z0-9]/g, plan: /\bplan-[a-z0-9-]*[a-z0-9]/g };

/** Patients known from elsewhere, and the patients and plans of this conversation: its contexts, questions, actions, text. */
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
    }
  }
  for (const { plan } of view.actions) {
    const { id, title, patientId, patientName } = (plan ?? {}) as Readonly<Record<string, unknown>>;
    add(plans, id, title);
    add(patients, patientId, patientName);
  }
  if (view.pending?.kind === "patient_picker")
    for (const option of view.pending.options ?? []) add(patients, option.id, option.label);
  return { patients: [...patients.values()], plans: [...plans.values()] };
}

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
