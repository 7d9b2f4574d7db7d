import { describe, expect, test } from "vitest";
import { closedText } from "../../../machines/conversation/interactions.ts";
import type { Resolution } from "../../../machines/protocol/commands.ts";
import type { InteractionOption } from "../../../machines/protocol/interactions.ts";
import { addedText, allHeldText, heldText, type PlanCard, storedText } from "../../../tools/plan-writing.ts";
import { decide } from "./brain.ts";
import {
  absent,
  accepted,
  CONTEXT,
  callOf,
  chose,
  named,
  names,
  pendingOf,
  resolved,
  scene,
  stored,
} from "./testing/asked.ts";
import { patient } from "./testing.ts";

describe("what was in the draft before", () => {
  const item = {
    item_id: "i-1",
    product_id: "q-1",
    variant_id: "v-1",
    name: "Limroot",
    brand: null,
    dosing: "9, daily",
  };
  const card: PlanCard = {
    ...{ plan_id: "plan-9", title: "Sleep", patient_id: "p-1", patient_name: "Orla Quensby" },
    ...{ change: "updated", items: [item] },
  };
  const tells = (...told: string[]) => scene().tell(...told, "what did I add?").answer;

  test("is not told as added, and in the draft's own dosing", () => {
    const added = addedText({ name: "Quathorn", dosing: "1 daily" }, { plan_id: "plan-9", title: "Sleep" });
    const held = heldText({ name: "Limroot", dosing: "9, daily" }, { plan_id: "plan-9", title: "Sleep (new)" });
    expect(tells(added, held)).toBe(
      "This was done in our conversation:\n\n- You added Quathorn, 1 daily to the draft plan “Sleep” (plan-9).\n- Limroot was in the draft plan “Sleep (new)” (plan-9) before, as 9, daily; nothing was added.",
    );
    expect(tells(storedText(card, [item]))).toBe(
      "This was done in our conversation:\n\n- The system updated the draft plan “Sleep” (plan-9) for Orla Quensby: Limroot, 9, daily. Left as it was: Limroot, 9, daily.",
    );
  });

  test("an accepted proposal that had nothing to add says so", () => {
    const chat = scene();
    chat.say("Build a plan for Orla Quensby with limroot");
    expect(chat.tell(resolved(chat, "plan_proposal", accepted), allHeldText(card, [item])).answer).toBe(
      'You accepted the plan. Nothing was added: draft plan plan-9 "Sleep" for Orla Quensby held all of it before: Limroot, 9, daily.',
    );
  });
});

describe("what a button did", () => {
  const added = addedText({ name: "Limroot", dosing: "1 daily" }, { plan_id: "plan-9", title: "Sleep" });

  test("is told from the report, and read again where the whole plan is wanted", () => {
    const chat = scene({
      treatment_plan_get: ({ id }) => ({
        plans: [{ id, status: "draft", title: "Sleep", items: [{ name: "Limroot" }] }],
      }),
    });
    chat.say("recommend limroot for Orla Quensby");
    const told = chat.tell(added, CONTEXT, "what did I add?");
    expect([told.answer, told.calls]).toEqual([
      "This was done in our conversation:\n\n- You added Limroot, 1 daily to the draft plan “Sleep” (plan-9).",
      [],
    ]);
    const plan = chat.say("what's in my plan?");
    expect([plan.calls, plan.answer]).toEqual([
      [{ tool: "treatment_plan_get", args: { id: "plan-9" } }],
      "**Sleep** (draft, plan-9)\n- Limroot",
    ]);
    const alone = scene({ treatment_plan_get: absent });
    expect(alone.tell(added, "what’s in my plan?").answer).toBe(told.answer);
  });

  test("is no question of the user's, in whatever words it is reported", () => {
    const chat = scene();
    chat.say("what does zorvane deplete?");
    const other = "[The user added Quathorn to draft plan plan-9 with a card's button.]";
    chat.tell(added, other, "hello");
    expect(chat.say("what was my first question?").answer).toBe("You asked: “what does zorvane deplete?”");
    expect(chat.say("what did I just ask?").answer).toBe("You asked: “what was my first question?”");
  });
});

describe("questions", () => {
  test("two patients of one name: asked with both as options; the answer is not searched for again", () => {
    const twins = [patient("p-1", "Orla Quensby"), patient("p-2", "Orla Quensley", { dob: null })];
    const chat = scene({ patient_search: () => ({ patients: twins }) });
    const asked = chat.say("recommend limroot for patient Orla within 30 minutes");
    const options = [
      { id: "p-1", label: "Orla Quensby, born 1970-01-01" },
      { id: "p-2", label: "Orla Quensley" },
    ];
    expect(asked.calls.at(-1)).toEqual({
      tool: "ask_question",
      args: {
        question: 'Several patients match "Orla". Which one do you mean?',
        kind: "single_choice",
        options,
        expires_in_minutes: 30,
      },
    });
    const told = chat.tell(resolved(chat, "single_choice", chose("p-1"), options));
    expect(told.calls[0]).toEqual({ tool: "patient_get", args: { id: "p-1" } });
    expect(names(told)).toEqual(["patient_get", "product_search", "interaction_check", "recommend_supplements"]);
    expect(told.answer).toMatch(/^For Orla Quensby I suggest 1 product/);
    const inText = scene({ patient_search: () => ({ patients: twins }), ask_question: absent });
    expect(inText.say("recommend limroot for patient Orla").answer).toBe(
      'Several patients match "Orla". Which one do you mean?\n\n- Orla Quensby, born 1970-01-01\n- Orla Quensley',
    );
  });

  const asks: readonly [string, Readonly<Record<string, unknown>>][] = [
    [
      "Ask me whether capsules or powder",
      { question: "Capsules or powder?", kind: "single_choice", options: [{ label: "Capsules" }, { label: "Powder" }] },
    ],
    [
      "ask me which form: capsules, tablets or powder, within 1 hour",
      {
        ...{ question: "Which form?", kind: "single_choice", expires_in_minutes: 60 },
        options: [{ label: "Capsules" }, { label: "Tablets" }, { label: "Powder" }],
      },
    ],
    [
      "Please ask me which ones I want: limroot, quathorn and vexaroot.",
      {
        ...{ question: "Which ones I want?", kind: "multi_choice" },
        options: [{ label: "Limroot" }, { label: "Quathorn" }, { label: "Vexaroot" }],
      },
    ],
    ["ask me which patient", { question: "Which patient do you mean?", kind: "patient_picker" }],
  ];
  test.each(asks)("%s", (text, args) => {
    const chat = scene();
    expect(chat.say(text).calls).toEqual([{ tool: "ask_question", args }]);
  });

  const forms: readonly InteractionOption[] = [
    { id: "option-1", label: "Capsules" },
    { id: "option-2", label: "Powder" },
  ];
  test("the answer is confirmed, with the user's own words; or the rest of the request goes on with it", () => {
    const alone = scene();
    alone.say("Ask me whether capsules or powder");
    const answer: Resolution = { kind: "answered", selected: ["option-2"], text: "small (ones)" };
    expect(alone.tell(resolved(alone, "single_choice", answer, forms)).answer).toBe(
      "You chose Powder. You added: “small (ones)”",
    );
    const both = scene();
    both.say("Ask me which ones: capsules or powder");
    expect(both.tell(resolved(both, "multi_choice", chose("option-1", "option-2"), forms)).answer).toBe(
      "You chose Capsules and Powder.",
    );
    const chat = scene({
      product_search: () => ({ products: [named("Limroot", "a"), { ...named("Limroot", "b"), form: "powder" }] }),
    });
    chat.say("Recommend limroot for Orla Quensby, but ask me whether capsules or powder first.");
    const told = chat.tell(resolved(chat, "single_choice", chose("option-2"), forms));
    const [best] = callOf(chat, "recommend_supplements").args["supplements"] as { variant_id: string }[];
    expect([best?.variant_id, told.answer.includes("a powder, as asked")]).toEqual(["var-b", true]);
  });

  test("dismissed or unanswered: nothing is done on it", () => {
    const chat = scene();
    chat.say("Build a plan from these notes");
    const told = chat.tell(resolved(chat, "patient_picker", { kind: "dismissed", reason: "later" }));
    expect([told.calls, told.answer]).toEqual([
      [],
      "Understood, I leave that open (“later”). I did not go on with “Build a plan from these notes”. Tell me when you want to.",
    ]);
    const late = scene();
    late.say("Build a plan from these notes");
    const closed = closedText(pendingOf(late, "patient_picker"), "expired");
    expect(late.tell(closed, "what does zorvane deplete?").calls.at(-1)?.tool).toBe("depletion_check");
  });

  test("the picker passed over, the patient named in words: the request goes on with that one", () => {
    for (const words of ["Orla Quensby", "for Orla Quensby"]) {
      const chat = scene();
      chat.say("Build a plan from these notes");
      const told = chat.tell(closedText(pendingOf(chat, "patient_picker"), "superseded"), words);
      expect([names(told)[0], names(told).at(-1)]).toEqual(["patient_search", "propose_plan"]);
    }
  });

  test("an error of the tool: asked in words", () => {
    const chat = scene({ ask_question: () => new Error("another question is open") });
    expect(chat.say("Build a plan from these notes").answer).toBe("For which patient is the plan?");
  });

  test("without tools the decisions are summed up", () => {
    const chat = scene();
    chat.say("Build a plan for Orla Quensby with limroot");
    chat.tell(resolved(chat, "plan_proposal", accepted), stored("created"));
    const messages = [...chat.messages, { from: "user" as const, parts: [{ kind: "text" as const, text: "Sum up." }] }];
    expect(decide({ system: "", tools: [], messages }).text).toContain(
      "Reported: The system created the draft plan “Plan for Orla Quensby” (plan-9) for Orla Quensby: Limroot, 2 servings daily.\nThe user accepted “Limroot for Orla Quensby, to review.”",
    );
  });
});
