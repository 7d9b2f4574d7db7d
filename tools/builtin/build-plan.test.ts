import { describe, expect, test } from "vitest";
import type { PlanResult } from "../subagents.ts";
import { buildPlan } from "./build-plan.ts";
import { working } from "./testing/working.ts";

const envelope: PlanResult = {
  kind: "plan_builder",
  outcome: "envelope",
  envelope: {
    ...{ patient_id: "p-1", patient_name: "Orla Quensby", title: "Sleep", notes: "Space it." },
    items: [
      {
        ...{ product_id: "prd-1", variant_id: "var-1", name: "Limroot", brand: "B", strength: "200 mg" },
        ...{ dosing: "1 daily", rationale: "The notes.", price: null, in_stock: true },
      },
    ],
    labs: [{ id: "ferritin", name: "Ferritin" }],
  },
  warnings: ["Space them."],
};
const questions = (...all: readonly { question: string; options: readonly string[] }[]): PlanResult => ({
  kind: "plan_builder",
  outcome: "needs_clarification",
  questions: all,
});
const run = (result: PlanResult, args: object = {}) =>
  working(buildPlan, { kind: "finished", result }).run({ patient_id: "p-1", ...args });

describe("build_plan", () => {
  test("an envelope comes as the arguments of propose_plan, with what must be told", async () => {
    const { tool, run: call, asked, news } = working(buildPlan, { kind: "finished", result: envelope });
    expect(tool.traits).toEqual({ readOnly: false, repeatable: true });
    const result = await call({ patient_id: "p-1", notes: " Start limroot. ", goals: "Sleep" });
    expect(result).toEqual({ kind: "ok", text: expect.any(String) });
    expect(JSON.parse(result.kind === "ok" ? result.text : "")).toEqual({
      next: expect.stringContaining("call propose_plan with exactly these arguments"),
      propose_plan: {
        ...{ patient_id: "p-1", title: "Sleep", labs: ["ferritin"], notes: "Space it." },
        items: [{ variant_id: "var-1", dosing: "1 daily", rationale: "The notes." }],
      },
      warnings: ["Space them."],
    });
    expect(asked.map(({ request }) => request)).toEqual([
      { kind: "plan_builder", patientId: "p-1", notes: "Start limroot.", goals: "Sleep" },
    ]);
    expect(news.map(({ kind, subagent }) => [kind, subagent])).toEqual([
      ["started", "plan_builder"],
      ["finished", "plan_builder"],
    ]);
  });

  test("a question with options is put to the user; one without is the model's to ask in words", async () => {
    expect(
      await run(questions({ question: "Which one?", options: ["Limroot", "None"] }, { question: "Why?", options: [] })),
    ).toEqual({
      kind: "pause",
      asked: {
        kind: "single_choice",
        prompt: "Which one?",
        options: [
          { id: "option-1", label: "Limroot" },
          { id: "option-2", label: "None" },
        ],
      },
    });
    const open = await run(
      questions({ question: "Which one?", options: ["Limroot"] }, { question: "Why?", options: [] }),
    );
    expect(JSON.parse(open.kind === "ok" ? open.text : "")).toEqual({
      next: expect.stringContaining("call build_plan again"),
      needs_clarification: ["Which one?", "Why?"],
    });
  });

  test("D-15 a failure says how to go on; arguments are bounded", async () => {
    const failing = working(buildPlan, { kind: "failed", code: "attempts_exhausted" });
    expect(await failing.run({ patient_id: "p-1" })).toEqual({
      kind: "error",
      reason: "unavailable",
      text: "The plan builder gave no result. It was interrupted twice (attempts_exhausted). Go on without it: build the plan yourself with the skill's own steps, and tell the user. Do not start it again in this turn.",
    });
    expect((await run(envelope, { notes: "x".repeat(20_001) })).kind).toBe("error");
    expect((await run(envelope, { patient_id: "" })).kind).toBe("error");
  });
});
