import { expect, test } from "vitest";
import patientsJson from "../../tools/platform/data/patients.json?raw";
import { applySignal } from "../reducer.ts";
import { plan } from "../testing/samples.ts";
import { numbered, plain, uuid } from "../testing/signals.ts";
import { emptyView } from "../view.ts";
import { demoPatients } from "./demo.ts";
import { shortTime } from "./format.ts";
import { idOf, knownIn, nameOf } from "./known.ts";

test("patients and plans are found in contexts, cards, actions and text, each once, a name when one was said", () => {
  const block = {
    block_id: uuid(5),
    idx: 0,
    type: "text",
    content: { text: "**pat-001**, pat-002, plan-7." },
    attempt: 1,
  };
  const pick = {
    interaction_id: uuid(8),
    revision: 1,
    kind: "patient_picker",
    prompt: "Who?",
    options: [{ id: "pat-004", label: "Bo Lee, born 1970-01-02" }],
  };
  const asked = { block_id: uuid(6), idx: 1, type: "interaction_request", content: pick, attempt: 1 };
  const content = {
    ...plan,
    plan_id: "plan-8",
    title: null,
    patient_id: "pat-001",
    patient_name: "Marisol Vantreight",
  };
  const stored = { block_id: uuid(7), idx: 2, type: "treatment_plan", content, attempt: 1 };
  const context = { patient_id: "pat-002", plan_id: "draft 9" };
  const turn = { turn_id: uuid(3), n: 1, cause: "message" as const, input: { text: "", context } };
  const state = { status: "resting" as const, pending_interaction: null, queue: [] };
  const view = [
    plain("resync", {
      from_turn: 1,
      turns: [{ ...turn, outcome: "completed" as const, blocks: [block, asked, stored] }],
      state,
      seq: 1,
    }),
    numbered("action_done", 2, {
      block_id: uuid(5),
      action: "add_to_plan",
      item: {},
      result: "done",
      plan: { plan_id: "plan-7", title: "Sleep" },
    }),
  ].reduce(applySignal, emptyView);
  expect(knownIn(view)).toEqual({
    patients: [{ id: "pat-002" }, { id: "pat-001", label: "Marisol Vantreight" }, { id: "pat-004", label: "Bo Lee" }],
    plans: [{ id: "draft 9" }, { id: "plan-7", label: "Sleep" }, { id: "plan-8" }],
  });
});

test("a known name stands for its id, anything else for itself", () => {
  const known = [{ id: "pat-001", label: "Marisol Vantreight" }];
  expect([" marisol vantreight ", "pat-9", "  "].map((typed) => idOf(typed, known))).toEqual([
    "pat-001",
    "pat-9",
    undefined,
  ]);
});

test("a name that two have stands for neither, so that nobody picks the wrong patient", () => {
  const known = [
    { id: "pat-001", label: "Ann Lee" },
    { id: "pat-002", label: "Ann Lee" },
    { id: "pat-003", label: "Bo Lee" },
  ];
  expect([idOf("Ann Lee", known), ...known.map(({ id }) => nameOf(id, known)), nameOf("pat-9", known)]).toEqual([
    "Ann Lee",
    "pat-001",
    "pat-002",
    "Bo Lee",
    "pat-9",
  ]);
});

test("the patients offered with the demo login are those of its data", () => {
  const { records } = JSON.parse(patientsJson) as { records: { id: string; name: string }[] };
  expect(demoPatients).toEqual(records.map(({ id, name }) => ({ id, label: name })));
});

test("times are as short as a list needs them", () => {
  const now = new Date(2026, 7, 12, 15, 0, 0);
  const ago = (minutes: number) => shortTime(new Date(now.getTime() - minutes * 60_000).toISOString(), now);
  expect([ago(0), ago(5), shortTime("never", now)]).toEqual(["now", "5 min", ""]);
});
