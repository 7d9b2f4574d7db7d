import { expect, test } from "vitest";
import { assist } from "../assist.config.ts";
import { editedProposal } from "../machines/conversation/interactions.ts";
import { cards } from "../machines/protocol/cards.ts";
import type { Proposal } from "../machines/protocol/interactions.ts";
import { DOUBT } from "./doubt.ts";
import {
  addCall,
  addedText,
  allHeldText,
  draftsIn,
  extension,
  heldText,
  notAddedText,
  notStoredText,
  planCardOf,
  planEndOf,
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

const [held] = draftsIn({ plans: [{ ...stored, labs: [{ id: "tsh", name: "TSH" }], notes: "Old." }] });
const draft = () => {
  if (held === undefined) throw new TypeError("no draft");
  return held;
};

test("the drafts of what was read, newest first, and what they hold in which dosing", () => {
  const older = { ...stored, id: "plan-0", items: [] };
  const sent = { ...stored, id: "plan-2", status: "sent" };
  const [first, ...others] = draftsIn({ plans: [sent, stored, older] });
  const card = planCardOf({ plan: stored }, "updated");
  expect(first).toEqual({
    ...{ id: "plan-1", title: "Sleep", patientId: "pat-1", patientName: "Ada Example", notes: null, labs: [] },
    ...{ lifestyle: [{ title: "Light", detail: "" }], card, held: expect.any(Function) },
  });
  const dosings = ["var-1", "var-2", "var-3"].map((variant) => first?.held(variant)?.dosing);
  expect(dosings).toEqual(["1 a day", "2 at\nnight", undefined]);
  expect(others.map(({ id }) => id)).toEqual(["plan-0"]);
  expect([{ plans: [sent] }, { plans: [] }, undefined, { plan: stored }].map(draftsIn)).toEqual(Array(4).fill([]));
});

test("a draft is given what it lacks of a proposal; its lists and notes stay in front", () => {
  const more = {
    ...{ ...proposal, plan_id: "plan-1", items: [item(2), item(3)] },
    lifestyle: [
      { title: "Light", detail: "" },
      { title: "Walk", detail: "Daily." },
    ],
    labs: [
      { id: "tsh", name: "TSH" },
      { id: "b12", name: "B12" },
    ],
    notes: "New.",
  };
  const args = {
    ...{ id: "plan-1", addItems: [input(3)], title: "Sleep", labs: ["tsh", "b12"], notes: "Old.\n\nNew." },
    lifestyle: [
      { title: "Light", detail: "" },
      { title: "Walk", detail: "Daily." },
    ],
  };
  const left = [draft().held("var-2")];
  expect(extension(tools, more, draft())).toEqual({ call: { name: "plan_change", args }, held: left });
  // A proposal that has the draft's own notes in front says them once.
  expect(extension(tools, { ...more, notes: "Old.\n\nNew." }, draft())).toEqual({
    call: { name: "plan_change", args },
    held: left,
  });
  const known = { ...more, lifestyle: [{ title: "Light", detail: "" }], labs: [{ id: "tsh", name: "TSH" }] };
  for (const notes of ["", "Old."])
    expect(extension(tools, { ...known, notes }, draft())).toEqual({
      call: { name: "plan_change", args: { id: "plan-1", addItems: [input(3)], title: "Sleep" } },
      held: left,
    });
  expect(extension(tools, { ...more, items: [item(2)] }, draft())).toEqual({ call: undefined, held: left });
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
  expect(heldText({ name: "Zinc", dosing: "1 at\nnight" }, { plan_id: "plan-1", title: null })).toBe(
    '[The user pressed "add to plan" on a card: Zinc. It was in draft plan plan-1 (untitled) already, as 1 at night; nothing was changed.]',
  );
  const { items } = card;
  expect(storedText({ ...card, change: "updated" }, items.slice(1))).toBe(
    '[The system updated draft plan plan-1 "So \\"called\\"" for Ada Example: Name 1, 1 a day; Name 2, 2 at night. Not added, as the draft held it already: Name 2, 2 at night.]',
  );
  expect(allHeldText(card, items.slice(0, 1))).toBe(
    '[The system changed nothing: draft plan plan-1 "So \\"called\\"" for Ada Example holds all of that already: Name 1, 1 a day.]',
  );
});

test("a doubt is told once, in the words of what was to be done", () => {
  const why = `plan_new gave no answer within 30 s. ${DOUBT}`;
  expect([notStoredText(why, true), notAddedText({ name: "Zinc", dosing: "1" }, why, true)]).toEqual([
    "[The system could not store the plan: plan_new gave no answer within 30 s. It may have been saved all the same: read the patient's plans before you propose it again.]",
    '[The user pressed "add to plan" on a card: Zinc, 1. The system could not add it: plan_new gave no answer within 30 s. It may have been added all the same.]',
  ]);
});

test("how an accepted proposal ended can be read from what the model is told", () => {
  const card = planCardOf({ plan: stored }, "created");
  if (card === undefined) throw new TypeError("no card");
  const texts = [storedText(card), allHeldText(card, []), notStoredText("No."), notStoredText("No.", true)];
  expect(texts.map(planEndOf)).toEqual(["stored", "stored", "not_stored", "unknown"]);
});
