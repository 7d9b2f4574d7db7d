import { expect, test } from "vitest";
import { assist } from "../assist.config.ts";
import { editedProposal } from "../machines/conversation/interactions.ts";
import { cards } from "../machines/protocol/cards.ts";
import type { Proposal } from "../machines/protocol/interactions.ts";
import {
  addCall,
  addedText,
  draftOf,
  draftsIn,
  notStoredText,
  planCardOf,
  proposalCall,
  storedText,
} from "./plan-writing.ts";

const tools = { ...assist.planTools, create: "plan_new", update: "plan_change" };
const item = (at: number) => ({
  ...{ product_id: `prd-${at}`, variant_id: `var-${at}`, name: `Name ${at}`, brand: "Alderquill", strength: "200 mg" },
  ...{ dosing: "1 a day", rationale: "Why.", price: null, in_stock: true },
});
const proposal: Proposal = {
  patient_id: "pat-1",
  patient_name: "Ada Example",
  title: "Sleep",
  items: [item(1), item(2)],
};
const input = (at: number, dosing = "1 a day") => ({ productId: `prd-${at}`, variantId: `var-${at}`, dosing });
const stored = {
  ...{ id: "plan-1", patientId: "pat-1", patientName: "Ada Example", status: "draft", title: "Sleep", revision: 2 },
  items: [
    { id: "i-1", productId: "prd-1", variantId: "var-1", name: "Name 1", brand: "Alderquill", dosing: "1 a day" },
    { id: "i-2", productId: "prd-2", variantId: "var-2", name: "Name 2", brand: null, dosing: "2 at\nnight" },
  ],
  lifestyle: [{ title: "Light", detail: null }],
  labs: [],
  notes: null,
};

test("an accepted proposal is a new draft, with the person's edits in it", () => {
  expect(proposalCall(tools, proposal)).toEqual({
    name: "plan_new",
    args: { patientId: "pat-1", title: "Sleep", items: [input(1), input(2)] },
  });
  const edits = { title: "Nights", notes: "", items: [{ variant_id: "var-2", dosing: "2 at night" }] };
  const more = {
    ...proposal,
    lifestyle: [{ title: "Light", detail: "Dark room." }],
    labs: [{ id: "tsh", name: "TSH" }],
    notes: "Old",
  };
  expect(proposalCall(tools, editedProposal(more, edits))).toEqual({
    name: "plan_new",
    args: {
      ...{ patientId: "pat-1", title: "Nights", items: [input(2, "2 at night")], notes: "", labs: ["tsh"] },
      lifestyle: [{ title: "Light", detail: "Dark room." }],
    },
  });
});

test("a proposal for a draft adds to it and names no patient", () => {
  expect(proposalCall(tools, { ...proposal, plan_id: "plan-1" })).toEqual({
    name: "plan_change",
    args: { id: "plan-1", addItems: [input(1), input(2)], title: "Sleep" },
  });
});

test("one item of a card goes into the plan, or begins one", () => {
  const add = { product_id: "prd-1", variant_id: "var-1", dosing: "1 a day" };
  expect(addCall(tools, { item: add, planId: "plan-1", patientId: "pat-1" })).toEqual({
    name: "plan_change",
    args: { id: "plan-1", addItems: [input(1)] },
  });
  expect(addCall(tools, { item: add, planId: undefined, patientId: "pat-1" })).toEqual({
    name: "plan_new",
    args: { patientId: "pat-1", items: [input(1)] },
  });
});

test("what a plan tool gave is a card; what is no plan is none", () => {
  const card = planCardOf({ plan: stored }, "updated");
  expect(card).toEqual({
    ...{ change: "updated", plan_id: "plan-1", title: "Sleep", patient_id: "pat-1", patient_name: "Ada Example" },
    items: [
      {
        ...{ item_id: "i-1", product_id: "prd-1", variant_id: "var-1", name: "Name 1", brand: "Alderquill" },
        dosing: "1 a day",
      },
      {
        ...{ item_id: "i-2", product_id: "prd-2", variant_id: "var-2", name: "Name 2", brand: null },
        dosing: "2 at\nnight",
      },
    ],
  });
  expect(cards.treatment_plan.parse(card)).toEqual(card);
  const bare = { id: "plan-1", patientId: "pat-1", items: [] };
  expect(planCardOf({ plan: bare }, "created")).toEqual({
    ...{ change: "created", plan_id: "plan-1", title: null, patient_id: "pat-1", patient_name: null, items: [] },
  });
  for (const data of [undefined, null, "x", {}, { plan: null }, { plan: { ...stored, items: undefined } }, stored])
    expect(planCardOf(data, "created")).toBe(undefined);
});

test("the newest draft of what was read, and what it holds", () => {
  const older = { ...stored, id: "plan-0", items: [] };
  const sent = { ...stored, id: "plan-2", status: "sent" };
  const draft = draftOf({ plans: [sent, stored, older] });
  expect(draft).toEqual({
    ...{ id: "plan-1", title: "Sleep", patientId: "pat-1", patientName: "Ada Example", notes: null, labs: [] },
    lifestyle: [{ title: "Light", detail: "" }],
    holds: expect.any(Function),
  });
  expect(["var-1", "var-2", "var-3"].map((variant) => draft?.holds(variant))).toEqual([true, true, false]);
  expect(draftsIn({ plans: [sent, stored, older] }).map(({ id }) => id)).toEqual(["plan-1", "plan-0"]);
  expect([draftOf({ plans: [sent] }), draftOf({ plans: [] }), draftOf(undefined), draftOf({ plan: stored })]).toEqual(
    Array(4).fill(undefined),
  );
});

test("what the model reads: one line in brackets, whatever a title or an error says", () => {
  const card = planCardOf({ plan: { ...stored, title: 'So "called"' } }, "created");
  if (card === undefined) throw new TypeError("no card");
  expect(storedText(card)).toBe(
    '[The system created draft plan plan-1 "So \\"called\\"" for Ada Example: Name 1, 1 a day; Name 2, 2 at night.]',
  );
  expect(storedText({ ...card, change: "updated", title: null, patient_name: null, items: [] })).toBe(
    '[The system updated draft plan plan-1 "" for pat-1: no items.]',
  );
  expect(notStoredText("The platform is away")).toBe(
    "[The system could not store the plan: The platform is away. Nothing was saved. You may propose it again.]",
  );
  expect(notStoredText("No answer\nin time.", true)).toBe(
    "[The system could not store the plan: No answer in time. It may have been saved all the same: read the patient's plans before you propose it again.]",
  );
  expect(addedText({ name: "Zinc", dosing: "1 with\nfood" }, { plan_id: "plan-1", title: "Sleep" })).toBe(
    '[The user pressed "add to plan" on a card: Zinc, 1 with food. The system added it to draft plan plan-1 (Sleep).]',
  );
});
