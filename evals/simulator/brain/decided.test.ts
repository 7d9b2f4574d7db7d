import { describe, expect, test } from "vitest";
import { closedText } from "../../../machines/conversation/interactions.ts";
import type { Resolution } from "../../../machines/protocol/commands.ts";
import type { InteractionOption } from "../../../machines/protocol/interactions.ts";
import { notStoredText } from "../../../tools/plan-writing.ts";
import {
  accepted,
  CONTEXT,
  callOf,
  chose,
  dosings,
  ID,
  named,
  names,
  pendingOf,
  resolved,
  scene,
  stored,
} from "./testing/asked.ts";
import { type FakeTool, patient, type Talk } from "./testing.ts";

const withdrawn = (chat: Talk) => closedText(pendingOf(chat, "plan_proposal"), "superseded");

describe("a proposal is decided", () => {
  const proposed = (items = "limroot and quathorn", over: Record<string, FakeTool> = {}) => {
    const chat = scene(over);
    chat.say(`Build a plan for Orla Quensby with ${items}`);
    return chat;
  };

  test("accepted and stored: from what the system reports", () => {
    const chat = proposed();
    const told = chat.tell(resolved(chat, "plan_proposal", accepted), stored("created"));
    expect([told.answer, told.calls]).toEqual([
      [
        "The plan “Plan for Orla Quensby” for Orla Quensby is stored as a new draft (plan-9).",
        "It holds: Limroot, 2 servings daily.",
        "It is a draft: review it before you share it.",
      ].join("\n"),
      [],
    ]);
    const edited = proposed();
    const edits: Resolution = { kind: "accepted", edits: { title: "Other" } };
    expect(edited.tell(resolved(edited, "plan_proposal", edits), stored("updated")).answer).toMatch(
      /is in the draft now \(plan-9\), with your changes\./,
    );
  });

  test("what is stored is no proposal any more; a decision is no question of the user's, and nothing follows it", () => {
    const patients = [patient("p-1", "Orla Quensby"), patient("p-2", "Bram Oster")];
    const decide = () => {
      const chat = proposed("limroot", {
        patient_search: ({ query }) => ({ patients: patients.filter(({ name }) => name === query) }),
      });
      chat.tell(resolved(chat, "plan_proposal", accepted), stored("created"));
      return chat;
    };
    expect(names(decide().say("make the limroot 300 mg"))).not.toContain("propose_plan");
    expect(decide().say("what did I just ask?").answer).toBe("You asked: “Build a plan for Orla Quensby with limroot”");
    const next = decide();
    next.say("and for Bram Oster");
    expect(callOf(next, "propose_plan").args["patient_id"]).toBe("p-2");
  });

  test("accepted and not stored: nothing is claimed; “propose it again” proposes the same as a new one", () => {
    const chat = proposed();
    const first = callOf(chat, "propose_plan").args;
    const { answer } = chat.tell(resolved(chat, "plan_proposal", accepted), notStoredText("The platform is away"));
    expect(answer).toBe(
      "You accepted the plan, but the system could not store it: The platform is away. Nothing was saved.\nSay “propose it again” and I put it to you once more.",
    );
    expect(names(chat.say("propose it again"))).toEqual(["propose_plan"]);
    expect(callOf(chat, "propose_plan").args).toEqual(first);
    const unknown = proposed();
    const lost = unknown.tell(resolved(unknown, "plan_proposal", accepted));
    expect([names(lost), lost.answer]).toEqual([
      ["treatment_plan_get"],
      "You accepted the plan. I have no report that it is stored.",
    ]);
  });

  test("dismissed: acknowledged; a reason that says what to change is taken up at once", () => {
    const plain = proposed();
    expect(plain.tell(resolved(plain, "plan_proposal", { kind: "dismissed" })).answer).toMatch(
      /^Understood: the plan is dropped and nothing was saved\.\nTell me what should be different/,
    );
    const unclear = proposed();
    const because: Resolution = { kind: "dismissed", reason: "too expensive" };
    expect(unclear.tell(resolved(unclear, "plan_proposal", because)).answer).toContain("Your reason: “too expensive”.");
    const chat = proposed();
    const why: Resolution = { kind: "dismissed", reason: "Without the limroot" };
    expect(names(chat.tell(resolved(chat, "plan_proposal", why)))).toEqual(["propose_plan"]);
    expect(callOf(chat, "propose_plan").args["revises"]).toBe(ID);
    expect(dosings(chat)).toEqual(["var-quathorn: 2 servings daily (200 mg)"]);
  });

  const changes: readonly [message: string, items: readonly string[]][] = [
    ["without the quathorn", ["var-limroot: 2 servings daily (200 mg)"]],
    ["Please drop limroot.", ["var-quathorn: 2 servings daily (200 mg)"]],
    ["make the limroot 300 mg", ["var-limroot: 3 servings daily (300 mg)", "var-quathorn: 2 servings daily (200 mg)"]],
    ["make it 150 mg for both", ["var-limroot: 150 mg daily", "var-quathorn: 150 mg daily"]],
    [
      "take the quathorn twice daily with food",
      ["var-limroot: 2 servings daily (200 mg)", "var-quathorn: twice daily with food"],
    ],
    [
      "replace limroot with vexaroot",
      ["var-quathorn: 2 servings daily (200 mg)", "var-vexaroot: 2 servings daily (200 mg)"],
    ],
    [
      "add vexaroot to the plan",
      [...["limroot", "quathorn", "vexaroot"].map((name) => `var-${name}: 2 servings daily (200 mg)`)],
    ],
  ];
  test.each(changes)("withdrawn by “%s”: proposed again, as a revision", (message, items) => {
    const chat = proposed();
    const told = chat.tell(withdrawn(chat), CONTEXT, message);
    expect(names(told).at(-1)).toBe("propose_plan");
    expect(callOf(chat, "propose_plan").args["revises"]).toBe(ID);
    expect(dosings(chat)).toEqual(items);
    expect(told.answer).toMatch(/^The proposal again: /);
  });

  test("what is new in it is checked first; a major interaction stands in its way", () => {
    const chat = proposed("limroot", {
      interaction_check: ({ items }) => ({
        findings: (items as string[]).includes("vexaroot")
          ? [{ a: "zorvane", b: "vexaroot", severity: "major", advice: "Never." }]
          : [],
      }),
    });
    const told = chat.tell(withdrawn(chat), "add vexaroot");
    expect(names(told)).toEqual(["product_search", "patient_get", "interaction_check"]);
    expect(told.answer).toBe(
      "I left out vexaroot. zorvane and vexaroot: major. Never.\n\nI did not change the proposal. Nothing was saved.",
    );
  });

  test("“make it 200 mg”: one item is meant, of two it asks which, above the upper limit nothing changes", () => {
    const one = proposed("limroot");
    one.tell(withdrawn(one), "make it 300 mg");
    expect(dosings(one)).toEqual(["var-limroot: 3 servings daily (300 mg)"]);

    const two = proposed();
    expect(names(two.tell(withdrawn(two), "make it 300 mg"))).toEqual(["ask_question"]);
    const options = callOf(two, "ask_question").args["options"] as InteractionOption[];
    expect(options).toEqual([
      { id: "var-limroot", label: "limroot" },
      { id: "var-quathorn", label: "quathorn" },
    ]);
    two.tell(resolved(two, "single_choice", chose("var-quathorn"), options));
    expect(dosings(two)).toEqual(["var-limroot: 2 servings daily (200 mg)", "var-quathorn: 3 servings daily (300 mg)"]);
    expect(callOf(two, "propose_plan").args["revises"]).toBe(ID);

    const limited = proposed("limroot", {
      product_search: ({ query }) => ({
        products: [{ ...named(String(query)), upperLimit: { value: 250, unit: "mg" } }],
      }),
    });
    const { answer, calls } = limited.tell(withdrawn(limited), "make it 300 mg");
    expect([calls, answer]).toEqual([
      [],
      "300 mg of limroot is above the upper limit of 250 mg a day, so I did not change the proposal. Nothing was saved.",
    ]);
  });

  test("withdrawn or expired by another message: only that is answered; a later change still finds the proposal", () => {
    for (const by of ["superseded", "expired"] as const) {
      const chat = proposed("limroot", {
        knowledge_base_search: () => ({ articles: [{ id: "a", title: "A", body: "B" }] }),
      });
      const question = "how long does shipping take?";
      const told = chat.tell(closedText(pendingOf(chat, "plan_proposal"), by), question);
      expect([names(told), told.answer]).toEqual([["knowledge_base_search"], "From the help article “A”:\n\nB"]);
      expect(chat.say("what did I just ask?").answer).toBe(`You asked: “${question}”`);
      expect(names(chat.say("now the plan again, but make it 300 mg"))).toEqual(["propose_plan"]);
      expect(callOf(chat, "propose_plan").args["revises"]).toBe(ID);
    }
  });

  test("a change that could not be made does not end the talk about the proposal", () => {
    const chat = proposed();
    const { answer } = chat.tell(withdrawn(chat), "without the vexaroot");
    expect(answer).toBe(
      "I don't see which item you mean by “without the vexaroot”. The proposal holds limroot and quathorn. Nothing was saved.",
    );
    chat.say("add vexaroot");
    expect(dosings(chat)).toHaveLength(3);
    expect(callOf(chat, "propose_plan").args["revises"]).toBe(ID);
  });

  test("questions with an amount or a product in them are no changes", () => {
    for (const question of [
      "can she take limroot without food?",
      "is 200 mg of limroot safe with zorvane?",
      "what does zorvane deplete?",
      "thanks",
    ]) {
      const chat = proposed();
      expect(names(chat.tell(withdrawn(chat), question))).not.toContain("propose_plan");
    }
  });
});
