import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { forParent } from "../../tools/builtin/spawn-research.ts";
import { citation } from "../../tools/decorate.ts";
import { studiesIn } from "../../tools/evidence-memory.ts";
import { caller, contextOf, never } from "../../tools/mcp/testing/scene.ts";
import { readSubagentResult } from "../../tools/subagent-result.ts";
import type { PlanResult, ResearchResult } from "../../tools/subagents.ts";
import { type CheckedPlan, faultsOf, visitNotes } from "./testing/plan-checker.ts";
import { EVERY_FLAG, subagentScene } from "./testing/subagents.ts";

let scene: Awaited<ReturnType<typeof subagentScene>>;
beforeAll(async () => {
  scene = await subagentScene();
});
afterAll(async () => {
  await scene.close();
});

const planOf = (result: unknown): PlanResult => {
  const read = readSubagentResult("plan_builder", result);
  if (read?.kind !== "plan_builder") throw new TypeError("no plan and no question came of it");
  return read;
};

const line = (result: PlanResult): string =>
  result.outcome === "envelope"
    ? result.envelope.items.map(({ name, dosing }) => `${name}, ${dosing}`).join("; ")
    : `asks: ${result.questions[0]?.question} [${result.questions[0]?.options.join(" | ")}]`;

describe("the plan builder", () => {
  test.each(visitNotes.map((note, at) => [note.id, note, (at % 2) as 0 | 1] as const))(
    "[Show 2] %s comes to an envelope that holds by the data, or to a question",
    async (id, note, wire) => {
      const { ending, result, asked } = await scene.work(
        { kind: "plan_builder", patientId: note.patient_id },
        { wire },
      );
      expect(ending).toEqual({ outcome: "finished" });
      const plan = planOf(result);
      process.stdout.write(`${id}: ${line(plan)} (${asked.length} requests)\n`);
      if (plan.outcome === "envelope") {
        expect(plan.envelope.patient_id).toBe(note.patient_id);
        expect(faultsOf(plan.envelope, plan.warnings)).toEqual([]);
      } else {
        expect(plan.questions.length).toBeGreaterThan(0);
      }
    },
  );

  test("what the notes hold, decline or leave to others is in no plan; what they start is", async () => {
    const supplementsOf = async (id: string) => {
      const { result } = await scene.work({ kind: "plan_builder", patientId: id });
      const plan = planOf(result);
      return plan.outcome === "envelope"
        ? plan.envelope.items.map(({ name }) => name.toLowerCase()).join("; ")
        : "asks";
    };
    const expected: Readonly<Record<string, RegExp>> = {
      "pat-001": /^vitamin b12[^;]*$/,
      "pat-002": /^asks$/,
      "pat-003": /^iron[^;]*$/,
      "pat-004": /^magnesium glycinate[^;]*; vitamin d3[^;]*$/,
      "pat-005": /^vitamin d3[^;]*$/,
      "pat-006": /^coq10[^;]*$/,
      "pat-007": /^methylfolate[^;]*$/,
      "pat-008": /^magnesium glycinate 100 mg$/,
      "pat-009": /^magnesium citrate[^;]*; riboflavin[^;]*; [^;]*probiotic[^;]*; vitamin d3[^;]*$/,
      "pat-010": /^creatine[^;]*; vitamin d3[^;]*$/,
      "pat-011": /^psyllium[^;]*; calcium citrate[^;]*; magnesium citrate[^;]*$/,
      "pat-012": /^vitamin d3[^;]*$/,
    };
    for (const [id, pattern] of Object.entries(expected))
      expect([id, await supplementsOf(id)]).toEqual([id, expect.stringMatching(pattern)]);
  });

  test("pasted notes count instead of the record's; an answer to its question is taken up", async () => {
    const notes = "Plan: start zinc 15 mg daily with food.";
    const pasted = planOf((await scene.work({ kind: "plan_builder", patientId: "pat-010", notes })).result);
    expect(line(pasted)).toMatch(/^Zinc \S+ 15 mg, 1 serving daily with food \(capsule\)$/);
    const first = planOf((await scene.work({ kind: "plan_builder", patientId: "pat-002" })).result);
    if (first.outcome !== "needs_clarification") throw new TypeError("it did not ask");
    const [asked] = first.questions;
    expect(asked?.options).toEqual(["Glucosamine", "No supplement for now"]);
    const goals = `${asked?.question} Glucosamine`;
    const second = planOf((await scene.work({ kind: "plan_builder", patientId: "pat-002", goals })).result);
    if (second.outcome !== "envelope") throw new TypeError("it asked again");
    expect(second.envelope.items.map(({ name }) => name)).toEqual([expect.stringMatching(/Glucosamine/)]);
    expect(second.warnings.join("\n")).toContain("warfarin and Glucosamine: moderate");
  });

  test("without the interaction check the plan says that nothing was checked", async () => {
    const flags = EVERY_FLAG.filter((flag) => flag !== "interactions");
    const { result, asked } = await scene.work({ kind: "plan_builder", patientId: "pat-001" }, { flags });
    const plan = planOf(result);
    expect(plan.outcome === "envelope" && plan.warnings).toContain(
      "Interactions with the patient's medication were not checked.",
    );
    expect(asked.join("")).not.toContain("interaction_check");
  });

  test("the checker finds what is wrong", () => {
    const plan = (patient_id: string, variant_id: string, product_id: string, dosing: string): CheckedPlan => ({
      patient_id,
      items: [{ variant_id, product_id, dosing }],
    });
    const magnesium = ["var-700000", "prd-alderquill-magnesium-glycinate-200-mg"] as const;
    expect(faultsOf(plan("pat-010", ...magnesium, "1 serving daily"), [])).toEqual([]);
    expect(faultsOf(plan("pat-010", ...magnesium, "2 servings daily"), [])).toEqual([
      "400 mg of Magnesium a day is above 350",
    ]);
    expect(faultsOf(plan("pat-010", ...magnesium, "some"), [])).toEqual([
      "no dose can be read for Magnesium Glycinate 200 mg",
    ]);
    expect(faultsOf(plan("pat-010", "var-0", "prd-0", "1 serving daily"), [])).toEqual(["a product does not exist"]);
    const major = "alendronate and Magnesium: a major interaction that is not mentioned";
    expect(faultsOf(plan("pat-005", ...magnesium, "1 serving daily"), [])).toEqual([major]);
    expect(faultsOf(plan("pat-005", ...magnesium, "1 serving daily"), ["Alendronate and magnesium: apart."])).toEqual(
      [],
    );
  });
});

describe("the research agent", () => {
  test.each([0, 1] as const)(
    "[Show 1] wire %i: its parent reads under 4 KB of the more than 20 KB that it read itself; every source exists",
    async (wire) => {
      const question = "What does the evidence say about magnesium glycinate for sleep?";
      const { ending, result, bundle, progress, calls, asked } = await scene.work(
        { kind: "research", question },
        { wire },
      );
      expect(ending).toEqual({ outcome: "finished" });
      const read = researchOf(result);
      const parent = Buffer.byteLength(forParent(read));
      const child = Math.max(...asked.map((body) => Buffer.byteLength(body)));
      process.stdout.write(
        `research: ${parent} bytes for its parent; ${read.searched.characters} characters retrieved by ${read.searched.queries} queries, ${child} bytes in its last request, ${calls.length} model calls\n`,
      );
      expect(parent).toBeLessThan(4_096);
      expect(read.searched.characters).toBeGreaterThan(20_000);
      expect(child).toBeGreaterThan(20_000);
      expect(read.sources.length).toBeGreaterThan(0);
      expect(read.sources.length).toBeLessThanOrEqual(8);
      expect(read.searched.queries).toBeGreaterThanOrEqual(3);
      expect(read.searched.queries).toBeLessThanOrEqual(6);
      expect(progress.map(({ phase, n, of }) => [phase, n, of])).toEqual(
        Array.from({ length: read.searched.queries }, (_, at) => ["searching", at + 1, 8]),
      );
      expect(bundle?.bundleId).toBe(read.bundleId);
      expect(read.sources.map(({ title }) => title).join("\n")).toMatch(/magnesium/i);
    },
  );

  test("what it chose stands word for word in the index; of what is not there it finds nothing", async () => {
    const question = "Does CoQ10 help with statin muscle pain?";
    const { result, toolbox } = await scene.work({ kind: "research", question });
    const { sources } = researchOf(result);
    const search = toolbox.find("evidence_search");
    if (search === undefined) throw new TypeError("there is no search");
    const call = contextOf(caller("dr-rivera", scene.cookie));
    const again = await search.run({ query: sources.map(({ id }) => id).join(" "), limit: 8 }, call, never);
    const indexed = studiesIn(again.kind === "ok" ? again.data : undefined);
    expect(sources.length).toBeGreaterThan(0);
    for (const source of sources)
      expect(source).toEqual(citation(indexed.find(({ id }) => id === source.id) ?? missing()));
    const none = researchOf(
      (await scene.work({ kind: "research", question: "Evidence for flumphroot in gout?" })).result,
    );
    expect([none.sources, none.reflection]).toEqual([[], expect.stringContaining("Nothing in the index")]);
  });
});

const missing = (): never => {
  throw new TypeError("a source that is in no search");
};
const researchOf = (result: unknown): ResearchResult => {
  const read = readSubagentResult("research", result);
  if (read?.kind !== "research") throw new TypeError("no research came of it");
  return read;
};
