import { describe, expect, test } from "vitest";
import { absent, CONTEXT, callOf, chose, dosings, named, names, picked, resolved, scene } from "./testing/asked.ts";

describe("a plan is proposed", () => {
  test("nobody named: the skill, then a picker; after the choice it goes on with the request", () => {
    const chat = scene();
    const asked = chat.say("Build a plan from these notes");
    expect(asked.calls).toEqual([
      { tool: "load_skill", args: { name: "propose-plan" } },
      { tool: "ask_question", args: { question: "For which patient is the plan?", kind: "patient_picker" } },
    ]);
    const told = chat.tell(CONTEXT, resolved(chat, "patient_picker", chose("p-1"), picked));
    expect(names(told)).toEqual([
      "patient_get",
      "treatment_plan_get",
      "visit_notes",
      "depletion_check",
      "evidence_search",
      "product_search",
      "product_search",
      "interaction_check",
      "propose_plan",
    ]);
    expect(callOf(chat, "interaction_check").args).toEqual({ items: ["zorvane", "limroot", "quathorn"] });
    expect(callOf(chat, "propose_plan").args).toEqual({
      patient_id: "p-1",
      title: "Plan for Orla Quensby",
      summary: "Limroot and quathorn for Orla Quensby, to review.",
      items: [
        {
          variant_id: "var-limroot",
          dosing: "2 servings daily (200 mg)",
          rationale:
            "zorvane can lower limroot. Replace it. Chosen: a capsule, the form the patient prefers and a single ingredient.",
        },
        {
          variant_id: "var-quathorn",
          dosing: "2 servings daily (200 mg)",
          rationale:
            "The one record in the evidence index for glimache names it. Chosen: a capsule, the form the patient prefers and a single ingredient.",
        },
      ],
    });
    expect(told.answer).toBe("This is what I propose for Orla Quensby, from the chart.");
  });

  test("the button does the same, with the skill that came with it; an answer counts without a context block too", () => {
    const chat = scene();
    const asked = chat.tell(
      '<skill name="propose-plan" version="1a">\nSteps.\n</skill>',
      "[The user chose: build_plan]",
    );
    expect(names(asked)).toEqual(["ask_question"]);
    expect(names(chat.tell(resolved(chat, "patient_picker", chose("p-2"), picked))).at(-1)).toBe("propose_plan");
    expect(callOf(chat, "propose_plan").args["patient_id"]).toBe("p-2");
  });

  test("a patient on the screen or in the request is not asked for; what is named goes in, within the time asked for", () => {
    const open = scene();
    expect(names(open.say("build a plan", CONTEXT))).not.toContain("ask_question");
    const chat = scene();
    chat.say("Draft a plan for Orla Quensby with limroot and vexaroot within 2 hours");
    const { items, ...rest } = callOf(chat, "propose_plan").args;
    expect((items as { variant_id: string }[]).map(({ variant_id }) => variant_id)).toEqual([
      "var-limroot",
      "var-vexaroot",
    ]);
    expect(rest["expires_in_minutes"]).toBe(120);
  });

  test("a name that is nobody's is said, and the picker asks", () => {
    const chat = scene({ patient_search: () => ({ patients: [] }) });
    chat.say("Build a plan for Zelda");
    expect(callOf(chat, "ask_question").args).toEqual({
      question: 'I found no patient called "Zelda". For which patient is the plan?',
      kind: "patient_picker",
    });
    const told = chat.tell(CONTEXT, resolved(chat, "patient_picker", chose("p-1"), picked));
    expect(names(told)).not.toContain("patient_search");
    expect(callOf(chat, "propose_plan").args["patient_id"]).toBe("p-1");
  });

  test("a major interaction is left out and said; a moderate one and unknown names go into the notes", () => {
    const findings = [
      { a: "zorvane", b: "limroot", severity: "major", advice: "Never." },
      { a: "zorvane", b: "quathorn", severity: "moderate", advice: "Space them." },
    ];
    const chat = scene({ interaction_check: () => ({ findings, unknown: ["oddity"] }) });
    const { answer } = chat.say("Build a plan for Orla Quensby");
    expect(answer).toBe(
      "This is what I propose for Orla Quensby, from the chart.\n\nI left out limroot. zorvane and limroot: major. Never.",
    );
    const { items, notes } = callOf(chat, "propose_plan").args;
    expect((items as { variant_id: string }[]).map(({ variant_id }) => variant_id)).toEqual(["var-quathorn"]);
    expect(notes).toBe(
      'zorvane and quathorn: moderate. Space them.\nI did not recognise "oddity", so nothing was checked for it.',
    );
    const both = scene({
      interaction_check: () => ({ findings: findings.map((each) => ({ ...each, severity: "major" })) }),
    }).say("Build a plan for Orla Quensby");
    expect(names(both)).not.toContain("propose_plan");
    expect(both.answer).toMatch(/^I propose no plan for Orla Quensby: nothing suitable is left\./);
  });

  test("the notes weigh in: what they speak against stays out, what they mention comes first", () => {
    const text = "Tired. Consider quathorn in spring. Avoid limroot for now.";
    const chat = scene({ visit_notes: () => ({ visitNotes: [{ date: "2020-01-01", text }] }) });
    const { answer } = chat.say("Build a plan for Orla Quensby");
    expect(dosings(chat)).toEqual(["var-quathorn: 2 servings daily (200 mg)"]);
    expect(answer).toContain("I left out limroot, because a note says: “Avoid limroot for now”.");
    const noted = scene({ visit_notes: () => ({ visitNotes: [{ date: "2020-01-01", text: "Asks for quathorn." }] }) });
    noted.say("Build a plan for Orla Quensby");
    expect(dosings(noted)).toEqual(["quathorn", "limroot"].map((name) => `var-${name}: 2 servings daily (200 mg)`));
    const pasted = scene();
    pasted.say(`Build a plan from these notes: ${text}`, CONTEXT);
    expect(dosings(pasted)).toEqual(["var-quathorn: 2 servings daily (200 mg)"]);
  });

  test("one record among several is no reason, a combination is taken only when nothing else holds the thing", () => {
    const evidence = ["quathorn", "vexaroot"].map((name) => ({ id: name, title: "T", supplements: [name] }));
    const mixed = { ...named("Limroot mix", "mix"), supplements: [{ name: "limroot" }, { name: "glim" }] };
    const offered = (products: readonly object[]) => {
      const chat = scene({ evidence_search: () => ({ evidence }), product_search: () => ({ products }) });
      const { calls } = chat.say("Build a plan for Orla Quensby");
      const searched = calls.filter(({ tool }) => tool === "product_search").map(({ args }) => args["query"]);
      expect(searched).toEqual(["limroot"]);
      return dosings(chat);
    };
    expect(offered([mixed, named("Limroot", "plain")])).toEqual(["var-plain: 2 servings daily (200 mg)"]);
    expect(offered([mixed])).toEqual(["var-mix: 2 servings daily (200 mg)"]);
  });

  test("a draft is extended when it is meant, with what it does not hold yet", () => {
    const plans = [
      {
        id: "plan-3",
        status: "draft",
        title: "Old",
        patientId: "p-1",
        items: [{ variantId: "var-limroot", name: "Limroot" }],
      },
    ];
    const chat = scene({ treatment_plan_get: () => ({ plans }) });
    chat.say("Extend the existing plan for Orla Quensby");
    const { plan_id, title } = callOf(chat, "propose_plan").args;
    expect([plan_id, title]).toEqual(["plan-3", "Old"]);
    expect(dosings(chat)).toEqual(["var-quathorn: 2 servings daily (200 mg)"]);
    const fresh = scene({ treatment_plan_get: () => ({ plans }) });
    fresh.say("Build a plan for Orla Quensby");
    expect(Object.keys(callOf(fresh, "propose_plan").args)).not.toContain("plan_id");
  });

  test("an explicit add is written at once; without the tool it is as before", () => {
    expect(names(scene().say("Add limroot to a draft plan for Orla Quensby")).at(-1)).toBe("treatment_plan_create");
    const both = "Create and add limroot to a plan for Orla Quensby";
    expect(names(scene().say(both)).at(-1)).toBe("treatment_plan_create");
    const before = scene({ propose_plan: absent, ask_question: absent });
    expect(before.say("Build a plan from these notes").answer).toBe(
      "Which patient do you mean? Give me the name, or open the patient first.",
    );
    const off = scene({ propose_plan: absent, treatment_plan_create: absent }).say("Build a plan for Orla Quensby");
    expect(off.answer).toContain("not available in this session");
  });

  test("an error of the tool is told, and it is not called again", () => {
    const chat = scene({ propose_plan: () => new Error("another question is open.") });
    const { answer, calls } = chat.say("Build a plan for Orla Quensby");
    expect(answer).toBe("I could not propose the plan: another question is open. Nothing was saved.");
    expect(calls.filter(({ tool }) => tool === "propose_plan")).toHaveLength(1);
  });
});
