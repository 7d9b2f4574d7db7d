import { z } from "zod";
import type { AgentDefinition } from "../machines/agent.ts";
import type { CardData } from "../machines/protocol/cards.ts";
import type { ActionCommand } from "../machines/protocol/commands.ts";
import type { Proposal } from "../machines/protocol/interactions.ts";
import { DOUBT } from "./doubt.ts";

/** How plans are written for the user without a model: calls of the agent's plan tools, and what they came to. Pure. */

type PlanTools = AgentDefinition["planTools"];
export type PlanCall = { readonly name: string; readonly args: Readonly<Record<string, unknown>> };
export type PlanCard = CardData<"treatment_plan">;
export type PlanItem = PlanCard["items"][number];

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

/**
 * The call that puts into a draft what it lacks of a proposal; none when it lacks no item. The platform replaces lists
 * and notes as a whole: what the draft holds stays in front of what is new. Made anew after a write, it asks for nothing
 * that this write has done.
 */
export function extension(
  tools: PlanTools,
  { lifestyle = [], labs = [], notes = "", ...proposal }: Proposal,
  draft: Draft,
): { readonly call: PlanCall | undefined; readonly held: readonly PlanItem[] } {
  const held = proposal.items.flatMap(({ variant_id }) => draft.held(variant_id) ?? []);
  const items = proposal.items.filter(({ variant_id }) => draft.held(variant_id) === undefined);
  if (items.length === 0) return { call: undefined, held };
  const advice = lifestyle.filter(
    ({ title, detail }) => !draft.lifestyle.some((one) => one.title === title && one.detail === detail),
  );
  const ordered = labs.filter(({ id }) => !draft.labs.some((one) => one.id === id));
  const lacking: Proposal = {
    ...{ ...proposal, items },
    ...(advice.length > 0 && { lifestyle: [...draft.lifestyle, ...advice] }),
    ...(ordered.length > 0 && { labs: [...draft.labs, ...ordered] }),
    ...mergedNotes(draft.notes ?? "", notes),
  };
  return { call: proposalCall(tools, lacking), held };
}

function mergedNotes(held: string, notes: string): Pick<Proposal, "notes"> {
  if (notes === "" || `${PARAGRAPH}${held}`.endsWith(`${PARAGRAPH}${notes}`)) return {};
  // A proposal that was made with the draft's own in front.
  if (held === "" || notes.startsWith(`${held}${PARAGRAPH}`)) return { notes };
  return { notes: `${held}${PARAGRAPH}${notes}` };
}

const PARAGRAPH = "\n\n";

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
  return cardOf(read.data.plan, change);
}

function cardOf({ id, title, patientId, patientName, items }: z.infer<typeof plan>, change: PlanCard["change"]) {
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
  /** As it would be shown after a change. */
  readonly card: PlanCard;
  /** This variant as it holds it. */
  held(variantId: string): PlanItem | undefined;
};

/** The drafts in what the read tool gave, in its order: newest first. None when that is of another shape. */
export function draftsIn(data: unknown): readonly Draft[] {
  const read = listed.safeParse(data);
  const plans = read.success ? read.data.plans : [];
  return plans
    .filter(({ status }) => status === "draft" || status === null)
    .map((one) => {
      const { id, title, patientId, patientName, lifestyle, labs, notes } = one;
      const card = cardOf(one, "updated");
      return {
        ...{ id, title, patientId, patientName, notes, labs: labs ?? [], card },
        lifestyle: (lifestyle ?? []).map(({ title, detail }) => ({ title, detail: detail ?? "" })),
        held: (variantId) => card.items.find((item) => item.variant_id === variantId),
      };
    });
}

const oneLine = (words: string): string => words.replace(/\s+/g, " ").trim();
/** A title is the user's own words: quoted, so that it ends where it ends. */
const quoted = (words: string | null): string => JSON.stringify(oneLine(words ?? "").toWellFormed());
/** Why, as a sentence, without a doubt that the text tells of itself. */
function closed(why: string): string {
  const plain = oneLine(oneLine(why).replaceAll(DOUBT, ""));
  return /[.!?]$/.test(plain) ? plain : `${plain}.`;
}
const itemsText = (items: readonly Pick<PlanItem, "name" | "dosing">[]): string =>
  items.map(({ name, dosing }) => `${oneLine(name)}, ${oneLine(dosing)}`).join("; ");

/** What the model reads of an accepted proposal that was stored. `held`: left out, for the draft held it already. */
export function storedText(card: PlanCard, held: readonly PlanItem[] = []): string {
  const { change, plan_id, title, patient_id, patient_name, items } = card;
  const list = itemsText(items) || "no items";
  const left = held.length === 0 ? "" : ` Not added, as the draft held it already: ${itemsText(held)}.`;
  return `[The system ${change} draft plan ${plan_id} ${quoted(title)} for ${patient_name ?? patient_id}: ${list}.${left}]`;
}

/** What it reads of an accepted proposal whose items the draft holds already, all of them. */
export function allHeldText({ plan_id, title, patient_id, patient_name }: PlanCard, held: readonly PlanItem[]): string {
  const where = `draft plan ${plan_id} ${quoted(title)} for ${patient_name ?? patient_id}`;
  return `[The system changed nothing: ${where} holds all of that already: ${itemsText(held)}.]`;
}

const NOT_STORED = "[The system could not store the plan: ";
const MAYBE_SAVED = "It may have been saved all the same: read the patient's plans before you propose it again.";

/** What it reads when the write failed. `mayHaveHappened`: nobody knows whether it did. */
export function notStoredText(why: string, mayHaveHappened = false): string {
  const then = mayHaveHappened ? MAYBE_SAVED : "Nothing was saved. You may propose it again.";
  return `${NOT_STORED}${closed(why)} ${then}]`;
}

/** How an accepted proposal ended, by the text that tells the model of it. */
export function planEndOf(text: string): "stored" | "not_stored" | "unknown" {
  if (!text.startsWith(NOT_STORED)) return "stored";
  return text.endsWith(`${MAYBE_SAVED}]`) ? "unknown" : "not_stored";
}

/** What the model reads of an item that the user put into a draft with a card's button. */
export function addedText(
  item: { readonly name: string; readonly dosing: string },
  { plan_id, title }: Pick<PlanCard, "plan_id" | "title">,
): string {
  return `[${PRESSED} ${itemsText([item])}. The system added it to draft plan ${plan_id} (${oneLine(title ?? "untitled")}).]`;
}

/** What it reads of a button whose item the draft held before. `dosing`: the draft's own. */
export function heldText(
  { name, dosing }: Pick<PlanItem, "name" | "dosing">,
  { plan_id, title }: Pick<PlanCard, "plan_id" | "title">,
): string {
  const where = `draft plan ${plan_id} (${oneLine(title ?? "untitled")})`;
  return `[${PRESSED} ${oneLine(name)}. It was in ${where} already, as ${oneLine(dosing)}; nothing was changed.]`;
}

const PRESSED = 'The user pressed "add to plan" on a card:';

/** What the model reads of a button whose item could not be added. `mayHaveHappened`: nobody knows whether it was. */
export function notAddedText(
  item: { readonly name: string; readonly dosing: string },
  why: string,
  mayHaveHappened = false,
): string {
  const then = mayHaveHappened ? "It may have been added all the same." : "Nothing was added.";
  return `[${PRESSED} ${itemsText([item])}. The system could not add it: ${closed(why)} ${then}]`;
}
