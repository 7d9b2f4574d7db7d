import { expect, test } from "vitest";
import { uuid } from "../../testing/signals.ts";
import { emptyView, type View } from "../../view.ts";
import { itemState, planTitle, targetOf } from "./in-plan.ts";

const block = uuid(10);
const done = (result: string, more: object = {}, variant = "var-1", block_id = block) => ({
  block_id,
  action: "add_to_plan",
  item: { variant_id: variant },
  result,
  ...more,
});
const plan = { plan_id: "plan-1", title: "Sleep" };

test("an item is free until something was done with it on its own card", () => {
  expect(itemState([], block, "var-1")).toEqual({ kind: "free" });
  const others = [done("done", { plan }, "var-2"), done("done", { plan }, "var-1", uuid(11))];
  expect(itemState(others, block, "var-1")).toEqual({ kind: "free" });
});

test("added, or found there, it is in the plan, whatever failed before or after", () => {
  const there = { kind: "there", title: "Sleep" };
  expect(itemState([done("failed"), done("done", { plan })], block, "var-1")).toEqual(there);
  expect(itemState([done("duplicate", { plan }), done("failed")], block, "var-1")).toEqual(there);
});

test("found there in another dosing, it says so", () => {
  const message = "It was in the plan already, as “1 at night”. Nothing was changed.";
  expect(itemState([done("duplicate", { plan, message })], block, "var-1")).toEqual({
    ...{ kind: "there", title: "Sleep", note: message },
  });
});

test("a failure says why", () => {
  expect(itemState([done("failed", { message: "Not now." })], block, "var-1")).toEqual({
    kind: "failed",
    problem: "Not now.",
  });
  expect(itemState([done("failed")], block, "var-1")).toEqual({ kind: "failed", problem: "It could not be added." });
});

test("a plan without a title is named by its id", () => {
  const named = [plan, { plan_id: "plan-1", title: null }, {}, undefined].map(planTitle);
  expect(named).toEqual(["Sleep", "plan-1", "the plan", "the plan"]);
});

const asked = (context?: { patient_id?: string; plan_id?: string }): View => ({
  ...emptyView,
  turns: [
    {
      turn_id: uuid(2),
      n: 1,
      cause: "message",
      input: { text: "which?", ...(context && { context }) },
      blocks: [{ block_id: block, idx: 0, type: "recommend_supplements", content: {}, attempt: 1, finished: true }],
      activity: [],
      skills: [],
      actions: [],
    },
  ],
});

test("items go to the patient of the card or of its question, never into another patient's chosen plan", () => {
  expect(targetOf(asked(), block, "pat-1", "plan-9")).toEqual({ kind: "patient" });
  expect(targetOf(asked({ patient_id: "pat-1" }), block, undefined, "plan-9")).toEqual({ kind: "patient" });
});

test("without a patient a plan is needed: that of the question, else the chosen one", () => {
  expect(targetOf(asked({ plan_id: "plan-2" }), block, undefined, "plan-9")).toEqual({
    kind: "plan",
    plan_id: "plan-2",
  });
  expect(targetOf(asked(), block, undefined, "plan-9")).toEqual({ kind: "plan", plan_id: "plan-9" });
  expect(targetOf(asked(), block, undefined, undefined)).toEqual({ kind: "nobody" });
});
