import { describe, expect, test } from "vitest";
import { decide } from "../brain.ts";
import type { Message } from "../conversation.ts";
import { type FakeTool, patient, product, talk } from "../testing.ts";

const orla = patient("p-1", "Orla Quensby", {
  preferences: { forms: ["capsule"], diet: "omnivore", budgetUsdMonth: 40 },
});
const NAMES = ["limroot", "quathorn", "vexaroot"];
const catalog = NAMES.map((name) =>
  product(name, name, {
    ...{ supplements: [{ id: name, name }], servingsPerContainer: 30, price: { amount: 10, currency: "USD" } },
    typicalAdultDose: { min: 200, max: 300, unit: "mg" },
  }),
);
const check: FakeTool = ({ items }) => ({
  findings: [],
  matched: (items as string[]).flatMap((input) =>
    NAMES.filter((name) => input.includes(name)).map((name) => ({ input, kind: "supplement", id: name, name })),
  ),
});

function builder(note: string, over: Readonly<Record<string, FakeTool>> = {}) {
  const chat = talk({
    patient_get: () => ({ patient: orla }),
    visit_notes: () => ({
      visitNotes: [
        { date: "2020-01-01", text: note },
        { date: "2019-01-01", text: "Start vexaroot." },
      ],
    }),
    product_search: ({ supplementId }) => ({
      products: catalog.filter(({ supplements }) => supplements.some(({ id }) => id === supplementId)),
    }),
    interaction_check: check,
    depletion_check: () => ({ depletions: [{ drug: "zorvane", nutrient: "limroot" }] }),
    lab_tests: ({ supplementId }) => ({ labs: [{ id: `lab-${supplementId}`, name: "L" }] }),
    finish_plan: () => "The plan is finished.",
    ask_clarification: () => "The practitioner will be asked.",
    ...over,
  });
  const run = (
    task = 'Build a plan for the patient with the id "p-1".\nThe notes are the newest ones of visit_notes.',
  ) => chat.say(task).calls;
  return { chat, run };
}
const last = (calls: readonly { readonly tool: string; readonly args: Readonly<Record<string, unknown>> }[]) =>
  calls.at(-1);
const itemsOf = (args: Readonly<Record<string, unknown>> | undefined) =>
  args?.["items"] as { variant_id: string; dosing: string; units_per_day: number }[];

/** What it calls when, after the first results of `tool`, only its finishing tools are left. */
function atItsEnd(messages: readonly Message[], tool: string, finishing: readonly string[]): readonly string[] {
  const at = messages.findIndex(
    (message) => message.from === "user" && message.parts.some((part) => part.kind === "result" && part.tool === tool),
  );
  const said: Message = { from: "user", parts: [{ kind: "text", text: "Your budget is spent. Finish now." }] };
  return decide({ system: "", tools: finishing, messages: [...messages.slice(0, at + 1), said] }).calls.map(
    (call) => call.tool,
  );
}

describe("the plan builder's play", () => {
  test("reads, asks the platform what the notes name, finds products, checks, and ends with what the notes start", () => {
    const calls = builder("Plan: start limroot w dinner, recheck 8 wk. Avoid quathorn.").run();
    expect(calls.map(({ tool }) => tool)).toEqual([
      ...["patient_get", "visit_notes", "interaction_check", "product_search", "interaction_check", "depletion_check"],
      ...["lab_tests", "finish_plan"],
    ]);
    expect(last(calls)?.args).toEqual({
      title: "Supplement plan from the notes of 2020-01-01",
      items: [
        {
          variant_id: "var-limroot",
          dosing: "2 servings daily with dinner (capsule)",
          units_per_day: 2,
          rationale: "The notes say: “start limroot w dinner”. Zorvane can lower limroot.",
        },
      ],
      labs: ["lab-limroot"],
      notes: "Not in the plan, the notes speak against it: quathorn (“Avoid quathorn”)",
    });
  });

  test("an amount of the notes decides the servings; the budget the number of items; one at a time takes one", () => {
    const doses = (note: string) =>
      itemsOf(last(builder(note).run())?.args).map(({ variant_id, units_per_day }) => [variant_id, units_per_day]);
    expect(doses("Plan: limroot 300 mg daily.")).toEqual([["var-limroot", 3]]);
    expect(doses("Plan: limroot 0.1 g daily.")).toEqual([["var-limroot", 1]]);
    expect(doses("Plan: start limroot. Start quathorn. Start vexaroot.")).toEqual([
      ["var-limroot", 2],
      ["var-quathorn", 2],
    ]);
    expect(doses("Plan: trial limroot, quathorn, one at a time.")).toEqual([["var-limroot", 2]]);
  });

  test("pasted notes and goals of the task count; what the notes leave open is asked", () => {
    const pasted =
      'Build a plan for the patient with the id "p-1".\nThe notes: "Start quathorn \\"now\\"."\nGoals of the practitioner: "Which one? vexaroot"';
    const calls = builder("Plan: start limroot.").run(pasted);
    expect(calls.map(({ tool }) => tool)).not.toContain("visit_notes");
    expect(itemsOf(last(calls)?.args).map(({ variant_id }) => variant_id)).toEqual(["var-quathorn", "var-vexaroot"]);
    expect(last(builder("Plan: limroot optional. Avoid quathorn.").run())).toEqual({
      tool: "ask_clarification",
      args: {
        questions: [
          {
            question: "The notes start no supplement for Orla Quensby. Should the plan hold limroot?",
            options: ["Limroot", "No supplement for now"],
          },
        ],
      },
    });
    expect(last(builder("Plan: rest.").run())?.args).toEqual({
      questions: [
        {
          question:
            "The notes want no supplement started for Orla Quensby that could be given. What should the plan hold?",
        },
      ],
    });
  });

  test("a refusal is mended: fewer servings, or without what is refused; a major interaction is not even tried", () => {
    const refusals = [
      "The plan is not finished:\n- limroot comes to 200 mg a day over all items, above the upper limit of 150 mg: fewer units.",
      "The plan is not finished:\n- quathorn must go: zorvane and quathorn: major.",
    ];
    const asked: unknown[] = [];
    const calls = builder("Plan: start limroot. Start quathorn.", {
      finish_plan: ({ items }) => {
        asked.push(
          (items as { variant_id: string; units_per_day: number }[]).map((one) => [one.variant_id, one.units_per_day]),
        );
        const refusal = refusals.shift();
        return refusal === undefined ? "The plan is finished." : new Error(refusal);
      },
    }).run();
    expect(asked).toEqual([
      [
        ["var-limroot", 2],
        ["var-quathorn", 2],
      ],
      [
        ["var-limroot", 1],
        ["var-quathorn", 2],
      ],
      [["var-limroot", 1]],
    ]);
    expect(last(calls)?.args["warnings"]).toEqual([
      "quathorn is left out: quathorn must go: zorvane and quathorn: major.",
    ]);
    const major = { a: "zorvane", b: "limroot", severity: "major", advice: "Never." };
    const without = builder("Plan: start limroot. Start quathorn.", {
      interaction_check: (args) => ({ ...(check(args) as object), findings: [major] }),
    }).run();
    expect(itemsOf(last(without)?.args).map(({ variant_id }) => variant_id)).toEqual(["var-quathorn"]);
    expect(last(without)?.args["warnings"]).toEqual(["limroot is left out: zorvane and limroot: major. Never."]);
  });

  test("told that its budget is spent, it ends with what it has", () => {
    const { chat, run } = builder("Plan: start limroot.");
    run();
    expect(atItsEnd(chat.messages, "product_search", ["finish_plan", "ask_clarification"])).toEqual(["finish_plan"]);
    expect(atItsEnd(chat.messages, "visit_notes", ["finish_plan", "ask_clarification"])).toEqual(["ask_clarification"]);
  });
});

describe("the research agent's play", () => {
  const study = (id: string, title: string, over: object = {}) => ({
    ...{ id, title, supplements: ["limroot"], studyType: "RCT", outcome: "glimache score", population: "older adults" },
    ...{ finding: "It fell.", ...over },
  });
  const studies = [
    study("e-1", "Limroot for glimache"),
    study("e-2", "Limroot and glimache: a review", {
      studyType: "systematic review",
      finding: "No significant difference.",
    }),
    study("e-3", "Limroot and the liver", { outcome: "enzymes" }),
    study("e-4", "Quathorn for glimache", { supplements: ["quathorn"] }),
  ];
  const research = (question: string, found: readonly object[] = studies) => {
    const tools = { search_evidence: () => ({ evidence: found }), finish_research: () => "The research is finished." };
    return talk(tools).say(`Research this question: ${JSON.stringify(question)}`).calls;
  };

  test("three to six queries, refined with the studies' own words; reviews first, other things and other aims left out", () => {
    const calls = research("What does the evidence say about limroot for glimache?");
    const queries = calls.flatMap(({ tool, args }) => (tool === "search_evidence" ? [args["query"]] : []));
    expect(queries).toEqual([
      "limroot glimache",
      "limroot",
      "glimache",
      "limroot score enzymes",
      "limroot older",
      "limroot adverse safety",
    ]);
    expect(last(calls)).toEqual({
      tool: "finish_research",
      args: {
        selected_ids: ["e-2", "e-1"],
        planner_reflection: expect.stringContaining(
          "A missing effect, or none on some outcome: e-2; the studies disagree.",
        ),
      },
    });
  });

  test("never more than eight, and nothing where nothing fits", () => {
    const many = Array.from({ length: 12 }, (_, at) => study(`e-${at}`, "Limroot for glimache"));
    expect(last(research("limroot for glimache", many))?.args["selected_ids"]).toHaveLength(8);
    expect(last(research("evidence on limroot for glimache", []))?.args).toEqual({
      selected_ids: [],
      planner_reflection: expect.stringContaining("Nothing in the index answers limroot and glimache"),
    });
  });

  test("told that its budget is spent, it chooses from what it has read", () => {
    const chat = talk({ search_evidence: () => ({ evidence: studies }), finish_research: () => "done" });
    chat.say('Research this question: "limroot glimache"');
    expect(atItsEnd(chat.messages, "search_evidence", ["finish_research"])).toEqual(["finish_research"]);
  });
});
