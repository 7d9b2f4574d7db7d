import { expect, test } from "vitest";
import { pendingInteraction } from "../../machines/protocol/interactions.ts";
import { proposePlan } from "./propose-plan.ts";
import { away, besides, type Given } from "./testing/besides.ts";

const product = (variant: string, name: string) => ({
  ...{ id: `prd-${variant}`, name, brand: "Alderquill", form: "capsule", inStock: true, exceedsUpperLimit: [] },
  supplements: [{ id: "s", name }],
  ingredients: [{ supplementId: "s", amount: 200, unit: "mg" }],
  ...{ price: { amount: 24, currency: "USD" }, availableOrMasterVariant: { id: variant } },
});
const catalog = [product("var-1", "Magnesium"), product("var-2", "Zinc")];
const plan = (over: object = {}) => ({
  ...{ id: "plan-1", patientId: "pat-1", patientName: "Ada Example", status: "draft", title: "Sleep" },
  items: [{ id: "i", productId: "prd-var-1", variantId: "var-1", name: "Magnesium", brand: "Alderquill", dosing: "1" }],
  lifestyle: [{ title: "Sleep", detail: null }],
  labs: [{ id: "ferritin", name: "Ferritin" }],
  notes: "Old note.",
  ...over,
});
const platform = (plans: readonly object[] = [plan()]): Record<string, Given> => ({
  patient_get: ({ id }) => ({ data: { patient: id === "pat-1" ? { id, name: "Ada Example" } : null } }),
  product_search: ({ variantIds }) => ({
    data: {
      products: catalog.filter(({ availableOrMasterVariant: { id } }) => (variantIds as string[]).includes(id)),
    },
  }),
  lab_tests: () => ({
    data: {
      labs: [
        { id: "ferritin", name: "Ferritin", specimen: "Serum" },
        { id: "tsh", name: "TSH" },
      ],
    },
  }),
  treatment_plan_get: () => ({ data: { plans } }),
});
const chosen = (variant_id: string) => ({ variant_id, dosing: "1 at night", rationale: "Low intake." });
const args = { patient_id: "pat-1", title: "Sleep", summary: "Magnesium for sleep.", items: [chosen("var-1")] };
const propose = (over: object, given = platform()) => besides(proposePlan, given).run({ ...args, ...over });
const item = (variant: string, name: string) => ({
  ...{ product_id: `prd-${variant}`, variant_id: variant, name, brand: "Alderquill", strength: "200 mg" },
  ...{ dosing: "1 at night", rationale: "Low intake.", price: { amount: 24, currency: "USD" }, in_stock: true },
});
const refused = (text: string) => ({ kind: "error", reason: "invalid_arguments", text });

test("a proposal: what the model chose in its order, everything else the platform's word", async () => {
  const { run, calls } = besides(proposePlan, platform());
  const lifestyle = [{ title: "Light", detail: "Dark room." }];
  const result = await run({
    ...{ ...args, items: [chosen("var-2"), chosen("var-1")], lifestyle, labs: ["tsh", "tsh"], notes: "Space it." },
    ...{ expires_in_minutes: 60, revises: "0A000000-0000-4000-8000-000000000009" },
  });
  expect(result).toEqual({
    kind: "pause",
    asked: {
      kind: "plan_proposal",
      prompt: "Magnesium for sleep.",
      proposal: {
        ...{ patient_id: "pat-1", patient_name: "Ada Example", title: "Sleep" },
        items: [item("var-2", "Zinc"), item("var-1", "Magnesium")],
        ...{ lifestyle, labs: [{ id: "tsh", name: "TSH" }], notes: "Space it." },
      },
      expiresInMs: 3_600_000,
    },
    revises: "0a000000-0000-4000-8000-000000000009",
  });
  expect(calls).toEqual([
    'patient_get {"id":"pat-1"}',
    'product_search {"variantIds":["var-2","var-1"],"limit":2}',
    'lab_tests {"limit":50}',
  ]);
  const { proposal } = result.kind === "pause" ? result.asked : {};
  expect(pendingInteraction.shape.proposal.parse(proposal)).toEqual(proposal);
});

test("an extension proposes what is new: the system puts it behind what the draft holds when it is stored", async () => {
  const given = { plan_id: "plan-1", items: [chosen("var-2")] };
  const proposal = async (over: object) => {
    const result = await propose({ ...given, ...over });
    return result.kind === "pause" ? result.asked.proposal : result;
  };
  const bare = {
    ...{ patient_id: "pat-1", patient_name: "Ada Example", plan_id: "plan-1", title: "Sleep" },
    items: [item("var-2", "Zinc")],
  };
  expect(await proposal({})).toEqual(bare);
  const lifestyle = [{ title: "Light", detail: "Dark room." }];
  expect(await proposal({ lifestyle, labs: ["tsh"], notes: "New." })).toEqual({
    ...bare,
    ...{ lifestyle, labs: [{ id: "tsh", name: "TSH" }], notes: "New." },
  });
});

test("unknown ids are named, and nothing is proposed", async () => {
  const unknown = (kind: string, id: string, source: string) => ({
    ...{ kind: "error", reason: "tool" },
    text: `Nothing was shown: unknown ${kind} "${id}". Use only ids that ${source} returned.`,
  });
  expect(await propose({ items: [chosen("var-1"), chosen("var-9")] })).toEqual(
    unknown("variant_id", "var-9", "product_search"),
  );
  expect(await propose({ patient_id: "pat-9" })).toEqual(unknown("patient_id", "pat-9", "patient_search"));
  expect(await propose({ labs: ["tsh", "nope"] })).toEqual(unknown("lab id", "nope", "lab_tests"));
  expect(await propose({}, { ...platform(), patient_get: () => away })).toEqual({
    ...{ kind: "error", reason: "unavailable", text: "Nothing was shown: patient_get cannot be used now." },
  });
});

test("a plan that is not a draft of this patient, or holds the item already, is not extended", async () => {
  const foreign = refused(
    'Nothing was proposed: plan_id "plan-1" is no draft of this patient. Use an id that treatment_plan_get returned, or leave it out for a new plan.',
  );
  const extend = (plans: readonly object[]) =>
    propose({ plan_id: "plan-1", items: [chosen("var-2")] }, platform(plans));
  expect(await extend([])).toEqual(foreign);
  expect(await extend([plan({ patientId: "pat-2" })])).toEqual(foreign);
  expect(await extend([plan({ status: "sent" })])).toEqual(foreign);
  expect(await extend([plan({ id: "plan-2" })])).toEqual(foreign);
  expect(await propose({ plan_id: "plan-1" })).toEqual(
    refused('Nothing was proposed: the draft holds "var-1" already. Leave it out, or propose a plan without plan_id.'),
  );
});

test("arguments that make no proposal are refused", async () => {
  expect(await propose({ items: [chosen("var-1"), chosen("var-1")] })).toEqual(
    refused('Nothing was proposed: variant_id "var-1" occurs twice. One item a product, with its whole dosing.'),
  );
  expect(await propose({ revises: "int-1" })).toEqual(
    refused('Nothing was proposed: revises "int-1" is no id of a proposal. Leave it out for a new one.'),
  );
  const wrong = [
    { items: [] },
    { items: Array.from({ length: 13 }, (_, at) => chosen(`var-${at}`)) },
    { items: [{ ...chosen("var-1"), dosing: "" }] },
    { title: " " },
    { summary: undefined },
    { patient_id: "" },
    { expires_in_minutes: 10_081 },
  ];
  for (const over of wrong) {
    const result = await propose(over);
    expect([result.kind, result.kind === "error" && result.reason]).toEqual(["error", "invalid_arguments"]);
  }
});
