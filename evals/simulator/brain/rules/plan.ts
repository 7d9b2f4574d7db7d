import { planAnswer } from "../answers/plans.ts";
import { OnePlan, type Patient, type Plan, Plans, Products } from "../data.ts";
import { whichPatient } from "../patient.ts";
import { dosing, naming, pick, wishes } from "../pick.ts";
import type { Scene } from "../scene.ts";
import { ask, loadSkill, need, PlanStopped, pastResult, type Rule, type Steps } from "../steps.ts";
import { topic } from "../topic.ts";
import { chosen } from "./chosen.ts";

type Item = { readonly productId: string; readonly variantId: string; readonly dosing: string };

/** "Add it to a draft plan for <patient>", "put magnesium in her plan" */
export const plan: Rule = {
  id: "plan",
  fits: ({ now: { question } }) =>
    /\b(plan|draft)\b/i.test(question) &&
    /\b(add|put|create|make|save|include|start|build|draft|write|move|insert|prepare)\b/i.test(question) &&
    !/^\W*(what|which|how)\b/i.test(question),
  *steps(scene) {
    if (!scene.tools.has("treatment_plan_create") && scene.tools.size > 0) {
      throw new PlanStopped(
        "Creating or changing treatment plans is not available in this session, so I did not write anything.",
      );
    }
    yield* loadSkill(scene, "propose-plan");
    const about = topic(scene);
    const patient = yield* whichPatient(scene, about.person.kind === "nobody" ? { kind: "shown" } : about.person, true);
    if (patient === null) throw new PlanStopped("For which patient is the plan? I did not find one by that name.");
    const items = yield* itemsFor(scene, patient);
    const draft = yield* draftFor(scene, patient);
    const present = new Set(draft?.items?.map(({ variantId }) => variantId));
    const missing = items.filter(({ variantId }) => !present.has(variantId));
    if (draft !== null && missing.length === 0)
      return `The draft already holds that; I changed nothing.\n\n${planAnswer(draft)}`;
    if (draft !== null && addsToDraft(scene, draft) && scene.tools.has("treatment_plan_update")) {
      const outcome = yield* ask("treatment_plan_update", { id: draft.id, addItems: missing });
      return `I added it to the draft plan.\n\n${planAnswer(need(outcome, "plan update", OnePlan).data.plan)}`;
    }
    const outcome = yield* ask("treatment_plan_create", {
      patientId: patient.id,
      title: `Plan for ${patient.name}`,
      items,
    });
    return `I created a draft plan.\n\n${planAnswer(need(outcome, "plan creation", OnePlan).data.plan)}`;
  },
};

/** What "it" is: named products first, then what was recommended last. */
function* itemsFor(scene: Scene, patient: Patient): Steps<readonly Item[]> {
  const picked = chosen(scene);
  if (picked.length > 0) {
    const lost = picked.filter(({ product }) => product === null).map(({ variantId }) => variantId);
    const again =
      lost.length === 0
        ? []
        : need(yield* ask("product_search", { variantIds: lost }), "product search", Products).data.products;
    return picked.flatMap(({ variantId, dosing: amount, product }) => {
      const known = product ?? again.find((each) => each.availableOrMasterVariant?.id === variantId);
      return known === undefined ? [] : [{ productId: known.id, variantId, dosing: amount }];
    });
  }
  const { names } = topic(scene);
  if (names.length === 0) throw new PlanStopped("What should go into the plan? Name a product or a supplement.");
  const items: Item[] = [];
  for (const name of names.slice(0, 4)) {
    const { products } = need(
      yield* ask("product_search", { query: name, limit: 10 }),
      "product search",
      Products,
    ).data;
    const { literal, list } = naming(products, name);
    const closest = list[0];
    if (!literal && closest !== undefined) {
      throw new PlanStopped(
        `No product is called ${name}; the closest is “${closest.name}”. Name it if you want it in the plan. I wrote nothing.`,
      );
    }
    const best = pick(list, wishes(scene.now.question, patient, scene.now.context.preferences), 1).choices[0];
    if (best === undefined)
      throw new PlanStopped(`I found no suitable product in stock for ${name}, so I did not write a plan.`);
    items.push({ productId: best.product.id, variantId: best.variantId, dosing: dosing(best.product) });
  }
  return items;
}

/** The patient's draft: one that this conversation made, else the newest on the platform. */
function* draftFor(scene: Scene, patient: Patient): Steps<Plan | null> {
  if (!scene.tools.has("treatment_plan_get")) return ownDraft(scene, patient);
  // Without this look-up a second draft could be made: then nothing is written.
  const found = need(yield* ask("treatment_plan_get", { patientId: patient.id }), "plan look-up", Plans).data.plans;
  const drafts = found.filter(({ status }) => status === "draft" || status == null);
  const meant = [scene.now.context.planId, ownDraft(scene, patient)?.id];
  return drafts.find(({ id }) => meant.includes(id)) ?? drafts[0] ?? null;
}

function ownDraft(scene: Scene, patient: Patient): Plan | null {
  const made = pastResult(scene, ["treatment_plan_create", "treatment_plan_update"], OnePlan)?.data.plan;
  return made !== undefined && made.patientId === patient.id ? made : null;
}

/** "A draft plan" is a new one, unless this conversation already made it or the plan is open on the screen. */
function addsToDraft(scene: Scene, draft: Plan): boolean {
  const { question, context } = scene.now;
  if (/\b(new|another|separate|fresh)\b[^.]*\b(plan|draft)\b/i.test(question)) return false;
  if (context.planId === draft.id) return true;
  const made = pastResult(scene, ["treatment_plan_create", "treatment_plan_update"], OnePlan)?.data.plan.id;
  return made === draft.id || !/\ba (draft|treatment )?(plan|draft)\b/i.test(question);
}
