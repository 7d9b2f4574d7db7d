import type { ActionDone } from "../../../machines/protocol/turns.ts";
import type { View } from "../../view.ts";

/** Where an item of a card stands by what was done with its button. */
export type ItemState =
  | { readonly kind: "free" }
  | { readonly kind: "there"; readonly title: string; readonly note?: string }
  | { readonly kind: "failed"; readonly problem: string };

/** The item of `variantId` on the card `blockId`. Once it is in a plan, a later failure says nothing against it. */
export function itemState(actions: readonly ActionDone[], blockId: string, variantId: string): ItemState {
  const mine = actions.filter(({ block_id, item }) => block_id === blockId && item["variant_id"] === variantId);
  const added = mine.findLast(({ result }) => result === "done" || result === "duplicate");
  if (added !== undefined) {
    const { message: note } = added;
    return { kind: "there", title: planTitle(added.plan), ...(note !== undefined && { note }) };
  }
  const last = mine.at(-1);
  return last === undefined ? { kind: "free" } : { kind: "failed", problem: last.message ?? "It could not be added." };
}

/** Title of the plan that an action names, else its id. */
export function planTitle(plan: unknown): string {
  const { title, plan_id } = (plan ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof title === "string" && title !== "") return title;
  return typeof plan_id === "string" && plan_id !== "" ? plan_id : "the plan";
}

/** Whose plan a card's items go into: the patient of the card or of its turn, else a plan that is chosen. */
export type Target =
  | { readonly kind: "patient" }
  | { readonly kind: "plan"; readonly plan_id: string }
  | { readonly kind: "nobody" };

/** A chosen plan counts only where no patient is known: it may be the plan of another one. */
export function targetOf(
  view: View,
  blockId: string,
  patientId: string | undefined,
  planId: string | undefined,
): Target {
  const turn = view.turns.find(({ blocks }) => blocks.some(({ block_id }) => block_id === blockId));
  const context = turn && "text" in turn.input ? turn.input.context : undefined;
  if ((patientId ?? context?.patient_id) !== undefined) return { kind: "patient" };
  const plan = context?.plan_id ?? planId;
  return plan === undefined ? { kind: "nobody" } : { kind: "plan", plan_id: plan };
}
