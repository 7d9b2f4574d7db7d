import { z } from "zod";
import { type InteractionId, interactionId, isUuid } from "../../machines/ids.ts";
import type { Proposal } from "../../machines/protocol/interactions.ts";
import { type Draft, draftsIn } from "../plan-writing.ts";
import type { ToolContext } from "../tool.ts";
import { expiresInMinutes } from "./ask-question.ts";
import { productItem, productsOf } from "./catalog.ts";
import { showingTool } from "./define.ts";
import { labsOf } from "./labs.ts";
import { badArguments, type Failed, type Lookup, lookUp, namedIds, unknownIds } from "./lookup.ts";

const MINUTE_MS = 60_000;
const id = z.string().min(1).max(100);

/** Proposes a treatment plan and ends the turn. The user accepts, edits or dismisses it; the system writes it, never the model. */
export const proposePlan = showingTool({
  name: "propose_plan",
  title: "Proposing a plan",
  description:
    "Propose a treatment plan to the user and stop: they accept, edit or dismiss it, and the system stores what they accept. Their decision comes with the next turn. Call it alone, as the last call, once a turn, after the safety checks. The card shows everything: do not repeat it in your text.",
  input: z.object({
    patient_id: id.describe("Id of the patient, e.g. from the context or patient_search."),
    title: z
      .string()
      .trim()
      .min(1)
      .max(200)
      .describe("Plain title. With plan_id: the draft's own, unless it should change."),
    items: z
      .array(
        z.object({
          variant_id: id.describe("availableOrMasterVariant.id of a product_search result."),
          dosing: z.string().trim().min(1).max(300).describe('How to take it, e.g. "1 capsule with dinner".'),
          rationale: z.string().trim().min(1).max(600).describe("Why this one for this patient, one or two sentences."),
        }),
      )
      .min(1)
      .max(12),
    lifestyle: z
      .array(z.object({ title: z.string().trim().min(1).max(120), detail: z.string().trim().min(1).max(600) }))
      .max(10)
      .optional(),
    labs: z.array(id).max(12).optional().describe("Ids of lab_tests results."),
    notes: z.string().trim().max(3_000).optional().describe("Spacing, monitoring, what was not checked."),
    plan_id: id.optional().describe("Extends this draft of the patient (treatment_plan_get) instead of a new plan."),
    revises: z
      .string()
      .optional()
      .describe("Id of the earlier proposal that this one replaces, as in [Interaction <id>, plan_proposal: …]."),
    summary: z.string().trim().min(1).max(500).describe("One sentence above the proposal: what it is for."),
    expires_in_minutes: expiresInMinutes,
  }),
  async run({ items, plan_id, revises, expires_in_minutes, summary, ...given }, context) {
    const variantIds = items.map(({ variant_id }) => variant_id);
    const twice = variantIds.filter((one, at) => variantIds.indexOf(one) !== at);
    if (twice.length > 0)
      return nothing(
        `variant_id ${namedIds([...new Set(twice)])} occurs twice. One item a product, with its whole dosing.`,
      );
    const earlier = revises === undefined ? undefined : proposalId(revises);
    if (earlier === "unreadable")
      return nothing(`revises ${namedIds([revises ?? ""])} is no id of a proposal. Leave it out for a new one.`);

    const patient = await patientOf(context, given.patient_id);
    if ("failed" in patient) return patient.failed;
    const products = await productsOf(context, variantIds);
    if ("failed" in products) return products.failed;
    const labs = await labsOf(context, given.labs ?? []);
    if ("failed" in labs) return labs.failed;
    const draft = plan_id === undefined ? { found: undefined } : await draftNamed(context, plan_id, given.patient_id);
    if ("failed" in draft) return draft.failed;
    const held = variantIds.filter((one) => draft.found?.held(one) !== undefined);
    if (held.length > 0)
      return nothing(`the draft holds ${namedIds(held)} already. Leave it out, or propose a plan without plan_id.`);

    const proposal: Proposal = {
      patient_id: given.patient_id,
      patient_name: patient.found.name,
      ...(plan_id !== undefined && { plan_id }),
      title: given.title,
      items: items.flatMap((one, at) => {
        const found = products.found[at];
        return found === undefined ? [] : [productItem(found, one)];
      }),
      ...(given.lifestyle && given.lifestyle.length > 0 && { lifestyle: given.lifestyle }),
      ...(labs.found.length > 0 && { labs: [...labs.found] }),
      ...(given.notes !== undefined && given.notes !== "" && { notes: given.notes }),
    };
    return {
      kind: "pause",
      asked: {
        kind: "plan_proposal",
        prompt: summary,
        proposal,
        ...(expires_in_minutes !== undefined && { expiresInMs: expires_in_minutes * MINUTE_MS }),
      },
      ...(earlier !== undefined && { revises: earlier }),
    };
  },
});

const nothing = (why: string): Failed => badArguments(`Nothing was proposed: ${why}`);

function proposalId(text: string): InteractionId | "unreadable" {
  const plain = text.trim().toLowerCase();
  return isUuid(plain) ? interactionId(plain) : "unreadable";
}

const patientResult = z.object({ patient: z.object({ id: z.string(), name: z.string() }).nullish() });

async function patientOf(context: ToolContext, patientId: string): Lookup<{ readonly name: string }> {
  const looked = await lookUp(context, "patient_get", { id: patientId }, patientResult);
  if ("failed" in looked) return looked;
  const { patient } = looked.found;
  return patient == null ? { failed: unknownIds("patient_id", [patientId], "patient_search") } : { found: patient };
}

async function draftNamed(context: ToolContext, planId: string, patientId: string): Lookup<Draft> {
  const looked = await lookUp(context, "treatment_plan_get", { id: planId }, z.unknown());
  if ("failed" in looked) return looked;
  const draft = draftsIn(looked.found).find((one) => one.id === planId && one.patientId === patientId);
  if (draft !== undefined) return { found: draft };
  return {
    failed: nothing(
      `plan_id ${namedIds([planId])} is no draft of this patient. Use an id that treatment_plan_get returned, or leave it out for a new plan.`,
    ),
  };
}
