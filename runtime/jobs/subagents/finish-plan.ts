import { z } from "zod";
import type { Proposal } from "../../../machines/protocol/interactions.ts";
import { excerpt } from "../../../tools/bounds.ts";
import { catalogProduct, type Product, productItem, productsOf } from "../../../tools/builtin/catalog.ts";
import { showingTool } from "../../../tools/builtin/define.ts";
import { type Lab, labsOf } from "../../../tools/builtin/labs.ts";
import { badArguments, type Lookup, lookUp, namedIds } from "../../../tools/builtin/lookup.ts";
import type { PlanResult } from "../../../tools/subagents.ts";
import type { Tool, ToolContext } from "../../../tools/tool.ts";
import { type Dosed, doseVerdict, isSingle, type Limits, unitsInWords, withoutLimits } from "./plan-doses.ts";
import { interactionVerdict } from "./plan-interactions.ts";
import { conflicts, type PlanPatient, patientNamed } from "./plan-patient.ts";

export type Envelope = Extract<PlanResult, { outcome: "envelope" }>;

/** As `propose_plan` takes them. */
const NOTES_CHARACTERS = 3_000;
const OWN_NOTES_CHARACTERS = 1_500;
const MANY_PRODUCTS = 50;
const DAYS = 30;
const id = z.string().min(1).max(100);
const sentence = (max: number) => z.string().trim().min(1).max(max);

const input = z.object({
  title: sentence(200).describe("Plain title."),
  items: z
    .array(
      z.object({
        variant_id: id.describe("availableOrMasterVariant.id of a product_search result."),
        dosing: sentence(300).describe('How to take it, with amount, timing and food: "1 capsule daily with dinner".'),
        units_per_day: z.number().min(0.1).max(20).describe("Servings of the catalog a day; 0.5 is every other day."),
        rationale: sentence(600).describe("Why this one for this patient, tied to the notes or the chart."),
      }),
    )
    .min(1)
    .max(12),
  lifestyle: z
    .array(z.object({ title: sentence(120), detail: sentence(600) }))
    .max(10)
    .optional(),
  labs: z.array(id).max(12).optional().describe("Ids of lab_tests results."),
  notes: z.string().trim().max(OWN_NOTES_CHARACTERS).optional().describe("Spacing, monitoring, what was left out."),
  warnings: z.array(sentence(300)).max(10).optional().describe("What the practitioner must be told."),
});
type Plan = z.output<typeof input>;

/** Takes a plan when everything in it holds against chart and catalogue; else says all that has to change. */
export function finishPlan(
  patientId: string,
  checksInteractions: boolean,
  finished: (envelope: Envelope) => void,
): Tool {
  return showingTool({
    name: "finish_plan",
    title: "Checking the plan",
    description:
      "End with a plan. Products, allergies, diet, doses over all items and interactions with the patient's medication are checked; what does not hold is said, and nothing is finished until it is changed.",
    input,
    async run(plan, context) {
      const variantIds = plan.items.map(({ variant_id }) => variant_id);
      const twice = variantIds.filter((one, at) => variantIds.indexOf(one) !== at);
      if (twice.length > 0)
        return refused([`variant_id ${namedIds([...new Set(twice)])} occurs twice: one item a product.`]);
      const patient = await patientNamed(context, patientId);
      if ("failed" in patient) return patient.failed;
      const products = await productsOf(context, variantIds);
      if ("failed" in products) return products.failed;
      const labs = await labsOf(context, plan.labs ?? []);
      if ("failed" in labs) return labs.failed;
      const dosed = plan.items.flatMap(({ units_per_day }, at) => {
        const product = products.found[at];
        return product === undefined ? [] : [{ product, unitsPerDay: units_per_day }];
      });
      const limits = await limitsFor(context, dosed);
      if ("failed" in limits) return limits.failed;
      const interactions = await interactionVerdict(context, patient.found, products.found, checksInteractions);
      if ("failed" in interactions) return interactions.failed;

      const doses = doseVerdict(dosed, (supplement) => limits.found.get(supplement));
      const problems = [
        ...products.found.flatMap((product) => conflicts(product, patient.found)),
        ...disagreeing(plan),
        ...doses.problems,
        ...interactions.found.problems,
      ];
      if (problems.length > 0) return refused(problems);
      finished(
        envelopeOf(plan, patient.found, products.found, labs.found, {
          noted: [...interactions.found.warnings, ...doses.warnings],
          told: [...unavailable(products.found), ...overBudget(dosed, patient.found)],
        }),
      );
      return { kind: "ok", text: "The plan is finished." };
    },
  });
}

const refused = (problems: readonly string[]) =>
  badArguments(
    `The plan is not finished. Change this and call finish_plan again:\n${problems.map((one) => `- ${one}`).join("\n")}`,
  );

/** What is taken is what the words say, so the words have to say what was checked. */
function disagreeing({ items }: Plan): readonly string[] {
  return items.flatMap(({ variant_id, dosing, units_per_day }) => {
    const said = unitsInWords(dosing);
    if (said === undefined || Math.abs(said - units_per_day) < 0.01) return [];
    return [
      `the dosing of ${namedIds([variant_id])} says ${said} a day, units_per_day ${units_per_day}: make them agree.`,
    ];
  });
}

/** Limits by supplement: from the items themselves; for what is only in combinations, from a product of that supplement alone. */
async function limitsFor(context: ToolContext, items: readonly Dosed[]): Lookup<ReadonlyMap<string, Limits>> {
  const limits = new Map<string, Limits>();
  const note = (product: Product) => {
    const [only] = product.supplements;
    if (isSingle(product) && only !== undefined && !limits.has(only.id)) limits.set(only.id, product);
  };
  for (const { product } of items) note(product);
  for (const supplementId of withoutLimits(items)) {
    const schema = z.object({ products: z.array(catalogProduct) });
    const looked = await lookUp(context, "product_search", { supplementId, limit: MANY_PRODUCTS }, schema);
    if ("failed" in looked) return looked;
    for (const product of looked.found.products) note(product);
  }
  return { found: limits };
}

const unavailable = (products: readonly Product[]): readonly string[] =>
  products.filter(({ inStock }) => !inStock).map(({ name }) => `${name} is out of stock.`);

/** What a month of all items costs; a container, where nothing tells how long it lasts. */
function overBudget(items: readonly Dosed[], { preferences }: PlanPatient): readonly string[] {
  const cost = items.reduce((sum, { product: { price, servingsPerContainer }, unitsPerDay }) => {
    const containers = servingsPerContainer ? (unitsPerDay * DAYS) / servingsPerContainer : 1;
    return sum + (price?.amount ?? 0) * containers;
  }, 0);
  const budget = preferences?.budgetUsdMonth ?? undefined;
  return budget === undefined || cost <= budget
    ? []
    : [`A month of it costs ${cost.toFixed(2)}, above the patient's budget of ${budget}.`];
}

function envelopeOf(
  { title, items, lifestyle = [], notes = "", warnings = [] }: Plan,
  patient: PlanPatient,
  products: readonly Product[],
  labs: readonly Lab[],
  { noted, told }: { readonly noted: readonly string[]; readonly told: readonly string[] },
): Envelope {
  const all = [...new Set([notes, ...noted])].filter((text) => text !== "").join("\n");
  const envelope: Proposal = {
    patient_id: patient.id,
    patient_name: patient.name,
    title,
    items: items.flatMap((one, at) => {
      const found = products[at];
      return found === undefined ? [] : [productItem(found, one)];
    }),
    ...(lifestyle.length > 0 && { lifestyle }),
    ...(labs.length > 0 && { labs: [...labs] }),
    ...(all !== "" && { notes: excerpt(all, NOTES_CHARACTERS) }),
  };
  return {
    kind: "plan_builder",
    outcome: "envelope",
    envelope,
    warnings: [...new Set([...warnings, ...noted, ...told])],
  };
}
