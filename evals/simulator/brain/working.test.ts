import { describe, expect, test } from "vitest";
import { CONTEXT, callOf, chose, dosings, names, picked, resolved, scene } from "./testing/asked.ts";
import { PAUSES, talk } from "./testing.ts";

const found = {
  research_bundle_id: "b-1",
  sources: [
    { id: "e-1", title: "Limroot in glimache", year: 2001, finding: "It fell." },
    { id: "e-2", title: "More limroot", year: null, finding: "No difference." },
  ],
  planner_reflection: "The studies disagree.",
};
const ANSWER =
  "The research on limroot for sleep rests on 2 sources:\n\n- *Limroot in glimache* (2001) [e-1]: It fell.\n- *More limroot* [e-2]: No difference.\n\nThe studies disagree.";

describe("a research agent is there", () => {
  const chatOf = (spawn: () => unknown = () => found) =>
    talk(
      {
        load_skill: () => "# skill",
        evidence_search: () => ({ evidence: [{ id: "e-9", title: "T", finding: "F" }] }),
        cite_sources: () => "shown",
        spawn_research_agent: spawn,
      },
      ["research-evidence"],
    );

  test("a question about the evidence is its work; the answer cites what it chose and shows no second panel", () => {
    const chat = chatOf();
    const question = "What does the evidence say about limroot for sleep?";
    expect(chat.say(question)).toEqual({
      answer: ANSWER,
      calls: [
        { tool: "load_skill", args: { name: "research-evidence" } },
        { tool: "spawn_research_agent", args: { question } },
      ],
      steps: 3,
    });
    const follow = chat.say("and quathorn?");
    expect(follow.calls).toEqual([
      { tool: "spawn_research_agent", args: { question: "What does the evidence say about quathorn?" } },
    ]);
  });

  test("a small question is searched for at once; nothing found is said", () => {
    expect(names(chatOf().say("does limroot help with sleep?"))).toEqual([
      "load_skill",
      "evidence_search",
      "cite_sources",
    ]);
    const empty = chatOf(() => ({ ...found, sources: [], planner_reflection: "Nothing fits." }));
    expect(empty.say("what does the research say about limroot?").answer).toBe(
      "The research found nothing on limroot that answers the question. Nothing fits.",
    );
  });

  test("it gave no result: said, and the own search answers", () => {
    const { calls, answer } = chatOf(() => new Error("It was interrupted twice.")).say(
      "evidence on limroot for sleep?",
    );
    expect(calls.map(({ tool }) => tool)).toEqual([
      "load_skill",
      "spawn_research_agent",
      "evidence_search",
      "cite_sources",
    ]);
    expect(answer).toMatch(/^The deeper research did not work: It was interrupted twice\.\n\nThe closest records/);
  });
});

describe("a plan builder is there", () => {
  const items = [{ variant_id: "var-limroot", dosing: "2 servings daily", rationale: "The notes." }];
  const envelope = {
    next: "Call propose_plan.",
    propose_plan: { patient_id: "p-1", title: "From the notes", items, notes: "Space it." },
    warnings: ["zorvane and limroot: moderate."],
  };

  test("a plan from notes: the picker, the builder, then exactly its plan is proposed with what is to mind", () => {
    const chat = scene({ build_plan: () => envelope });
    expect(names(chat.say("Build a plan from these notes"))).toEqual(["load_skill", "ask_question"]);
    const told = chat.tell(CONTEXT, resolved(chat, "patient_picker", chose("p-1"), picked));
    expect(names(told)).toEqual(["patient_get", "build_plan", "propose_plan"]);
    expect(callOf(chat, "build_plan").args).toEqual({ patient_id: "p-1" });
    expect(callOf(chat, "propose_plan").args).toEqual({
      ...envelope.propose_plan,
      summary: "A plan for Orla Quensby from the notes, checked against chart and catalogue.",
    });
    expect(told.answer).toBe(
      "This is what I propose for Orla Quensby, built from the notes.\n\nTo mind:\n- zorvane and limroot: moderate.",
    );
  });

  test("pasted notes and names that the request adds go to it; a plan that is named needs no builder", () => {
    const chat = scene({ build_plan: () => envelope });
    chat.say("Build a plan from these notes: 58F, start limroot.", CONTEXT);
    expect(callOf(chat, "build_plan").args).toEqual({ patient_id: "p-1", notes: "58F, start limroot." });
    const named = scene({ build_plan: () => envelope });
    named.say("Draft a plan for Orla Quensby with limroot");
    expect(dosings(named)).toEqual(["var-limroot: 2 servings daily (200 mg)"]);
    expect(() => callOf(named, "build_plan")).toThrow("did not call");
  });

  const ASKED = "The notes start nothing. Should the plan hold limroot?";
  test("what it asks and the user answers goes to it again; a no ends it", () => {
    const asking = () => {
      const chat = scene({ build_plan: ({ goals }) => (goals === undefined ? PAUSES : envelope) });
      chat.say("Build a plan from the visit notes", CONTEXT);
      return chat;
    };
    const chat = asking();
    const closing = `[Interaction i-1, single_choice: ${JSON.stringify(ASKED)}. The user chose: Limroot (option-1).]`;
    const told = chat.tell(CONTEXT, closing);
    expect(names(told)).toEqual(["patient_get", "build_plan", "propose_plan"]);
    expect(callOf(chat, "build_plan").args).toEqual({ patient_id: "p-1", goals: `${ASKED} Limroot` });
    const none = asking().tell(closing.replace("Limroot (option-1)", "No supplement for now (option-2)"));
    expect(none.answer).toBe("Then I propose no plan with supplements for Orla Quensby. Nothing was saved.");
  });

  test("it asks in words; it fails: both are said, and after a failure the own way goes on", () => {
    const open = scene({ build_plan: () => ({ next: "n", needs_clarification: ["Which one?"] }) });
    expect(open.say("Build a plan from these notes", CONTEXT).answer).toBe(
      "The notes leave something open:\n- Which one?",
    );
    const broken = scene({ build_plan: () => new Error("It was interrupted twice.") });
    const { answer, calls } = broken.say("Build a plan from these notes", CONTEXT);
    expect(calls.at(-1)?.tool).toBe("propose_plan");
    expect(answer).toMatch(/^The plan builder did not work: It was interrupted twice\.\n\nThis is what I propose/);
  });
});
