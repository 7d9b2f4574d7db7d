import { z } from "zod";
import type { AgentDefinition } from "../machines/agent.ts";
import type { CardData } from "../machines/protocol/cards.ts";
import type { ActionCommand } from "../machines/protocol/commands.ts";
import type { Proposal } from "../machines/protocol/interactions.ts";

/** How plans are written for the user without a model: calls of the agent's plan tools, and what they came to. Pure. */

type PlanTools = AgentDefinition["planTools"];
export type PlanCall = { readonly name: string; readonly args: Readonly<Record<string, unknown>> };
export type PlanCard = CardData<"treatment_plan">;

/** The call that stores an accepted proposal, edits already in it: a new draft, or more items in the draft it names. */
export function proposalCall(tools: PlanTools, proposal: Proposal): PlanCall {
  const items = proposal.items.map(({ product_id, variant_id, dosing }) => itemInput(product_id, variant_id, dosing));
  const contents = {
    title: proposal.title,
    ...(proposal.lifestyle && { lifestyle: proposal.lifestyle }),
    ...(proposal.labs && { labs: proposal.labs.map(({ id }) => id) }),
    ...(proposal.notes !== undefined && { notes: proposal.notes }),
  };
  return proposal.plan_id === undefined
    ? { name: tools.create, args: { patientId: proposal.patient_id, items, ...contents } }
    : { name: tools.update, args: { id: proposal.plan_id, addItems: items, ...contents } };
}

/** The call that adds one item of a card: to that plan, or as a new draft of the patient. */
export function addCall(
  tools: PlanTools,
  {
    item,
    planId,
    patientId,
  }: { readonly item: ActionCommand["item"]; readonly planId: string | undefined; readonly patientId: string },
): PlanCall {
  const items = [itemInput(item.product_id, item.variant_id, item.dosing)];
  return planId === undefined
    ? { name: tools.create, args: { patientId, items } }
    : { name: tools.update, args: { id: planId, addItems: items } };
}

const itemInput = (productId: string, variantId: string, dosing: string) => ({ productId, variantId, dosing });

const text = z
  .string()
  .nullish()
  .transform((value) => value ?? null);
const planItem = z.object({
  id: z.string(),
  productId: z.string(),
  variantId: z.string(),
  name: z.string(),
  brand: text,
  dosing: z.string(),
});
const plan = z.object({
  id: z.string(),
  patientId: z.string(),
  patientName: text,
  title: text,
  status: text,
  items: z.array(planItem),
  lifestyle: z.array(z.object({ title: z.string(), detail: text })).nullish(),
  labs: z.array(z.object({ id: z.string(), name: z.string() })).nullish(),
  notes: text,
});
const written = z.object({ plan });
const listed = z.object({ plans: z.array(plan) });

/** The card of what a plan tool gave back; undefined when that is no plan. */
export function planCardOf(data: unknown, change: PlanCard["change"]): PlanCard | undefined {
  const read = written.safeParse(data);
  if (!read.success) return undefined;
  const { id, title, patientId, patientName, items } = read.data.plan;
  return {
    change,
    plan_id: id,
    title,
    patient_id: patientId,
    patient_name: patientName,
    items: items.map(({ id: item_id, productId, variantId, name, brand, dosing }) => ({
      ...{ item_id, product_id: productId, variant_id: variantId, name, brand, dosing },
    })),
  };
}

/** A draft plan as the platform holds it now. */
export type Draft = {
  readonly id: string;
  readonly title: string | null;
  readonly patientId: string;
  readonly patientName: string | null;
  readonly lifestyle: NonNullable<Proposal["lifestyle"]>;
  readonly labs: NonNullable<Proposal["labs"]>;
  readonly notes: string | null;
  /** Whether it holds this variant already. */
  holds(variantId: string): boolean;
};

/** The drafts in what the read tool gave, in its order: newest first. None when that is of another shape. */
export function draftsIn(data: unknown): readonly Draft[] {
  const read = listed.safeParse(data);
  const plans = read.success ? read.data.plans : [];
  return plans
    .filter(({ status }) => status === "draft" || status === null)
    .map(({ id, title, patientId, patientName, lifestyle, labs, notes, items }) => ({
      ...{ id, title, patientId, patientName, notes, labs: labs ?? [] },
      lifestyle: (lifestyle ?? []).map((one) => ({ title: one.title, detail: one.detail ?? "" })),
      holds: (variantId) => items.some((item) => item.variantId === variantId),
    }));
}

/** The newest draft in what the read tool gave for a patient. */
export const draftOf = (data: unknown): Draft | undefined => draftsIn(data)[0];

const oneLine = (words: string): string => words.replace(/\s+/g, " ").trim();
/** A title is the user's own words: quoted, so that it ends where it ends. */
const quoted = (words: string | null): string => JSON.stringify(oneLine(words ?? "").toWellFormed());
const closed = (why: string): string => (/[.!?]$/.test(oneLine(why)) ? oneLine(why) : `${oneLine(why)}.`);

/** What the model reads of an accepted proposal that was stored. */
export function storedText({ change, plan_id, title, patient_id, patient_name, items }: PlanCard): string {
  const list = items.map(({ name, dosing }) => `${oneLine(name)}, ${oneLine(dosing)}`).join("; ");
  return `[The system ${change} draft plan ${plan_id} ${quoted(title)} for ${patient_name ?? patient_id}: ${list || "no items"}.]`;
}

/** What it reads when the write failed. `mayHaveHappened`: nobody knows whether it did. */
export function notStoredText(why: string, mayHaveHappened = false): string {
  const then = mayHaveHappened
    ? "It may have been saved all the same: read the patient's plans before you propose it again."
    : "Nothing was saved. You may propose it again.";
  return `[The system could not store the plan: ${closed(why)} ${then}]`;
}

/** What the model reads of an item that the user put into a draft with a card's button. */
export function addedText(
  item: { readonly name: string; readonly dosing: string },
  { plan_id, title }: Pick<PlanCard, "plan_id" | "title">,
): string {
  const what = `${oneLine(item.name)}, ${oneLine(item.dosing)}`;
  return `[The user pressed "add to plan" on a card: ${what}. The system added it to draft plan ${plan_id} (${oneLine(title ?? "untitled")}).]`;
}

/** What the model reads of a button whose item could not be added. `mayHaveHappened`: nobody knows whether it was. */
export function notAddedText(
  item: { readonly name: string; readonly dosing: string },
  why: string,
  mayHaveHappened = false,
): string {
  const what = `${oneLine(item.name)}, ${oneLine(item.dosing)}`;
  const then = mayHaveHappened ? "It may have been added all the same." : "Nothing was added.";
  return `[The user pressed "add to plan" on a card: ${what}. The system could not add it: ${closed(why)} ${then}]`;
}
