import { describe, expect, test } from "vitest";
import { decide } from "./brain.ts";
import { kinds, loadSkill, patient, talk } from "./testing.ts";

/** Names that no list can hold: a rule that answers about them took them from the question and the results. */
function invented(seed: number) {
  let state = seed * 2654435761;
  const next = (count: number) => {
    state = (state * 1103515245 + 12345) & 0x7fffffff;
    return (state >> 8) % count;
  };
  const syllables = ["zo", "rva", "lim", "qua", "thre", "bix", "mor", "vel", "dra", "nup", "fyl", "gor"];
  const word = () => Array.from({ length: 3 + next(2) }, () => syllables[next(syllables.length)]).join("");
  const Cap = (text: string) => text.slice(0, 1).toUpperCase() + text.slice(1);
  return {
    drug: `${word()}ine`,
    herb: `${word()}root`,
    other: `${word()}wort`,
    person: `${Cap(word())} ${Cap(word())}`,
    text: `${word()} ${word()}`,
  };
}
const SEEDS = [1, 2, 3, 4, 5, 6, 7, 8];
describe("interactions", () => {
  test.each(SEEDS)(
    "loads the skill once, checks the user's names, and answers from the result alone (seed %i)",
    (seed) => {
      const { drug, herb, other, text } = invented(seed);
      const finding = {
        a: drug,
        b: herb,
        severity: "moderate",
        mechanism: `m ${text}`,
        effect: `e ${text}`,
        advice: `a ${text}`,
        sources: [{ title: `t ${text}`, year: 1999 }],
      };
      const chat = talk(
        {
          load_skill: loadSkill,
          interaction_check: () => ({
            findings: [finding],
            notRecorded: [{ a: drug, b: other, note: null }],
            unknown: [],
          }),
        },
        ["interaction-depletion-check"],
      );
      const first = chat.say(`is it ok to combine ${herb}, ${other} and ${drug}?`);
      expect(first.calls).toEqual([
        { tool: "load_skill", args: { name: "interaction-depletion-check" } },
        { tool: "interaction_check", args: { items: [herb, other, drug] } },
      ]);
      for (const part of ["moderate", `m ${text}`, `e ${text}`, `a ${text}`, `t ${text}, 1999`])
        expect(first.answer).toContain(part);
      expect(first.answer).toContain(`No interaction is recorded between ${drug} and ${other}.`);
      expect(first.answer).toContain("A missing record is not proof of safety.");
      expect(chat.say(`does ${herb} interact with ${other}?`).calls.map(({ tool }) => tool)).toEqual([
        "interaction_check",
      ]);
    },
  );

  test("names that were not recognised are said, and a name of several words is tried again word by word", () => {
    const seen: unknown[] = [];
    const chat = talk({
      interaction_check: ({ items }) => {
        seen.push(items);
        return {
          findings: [],
          notRecorded: [],
          unknown: (items as string[]).filter((item) => !["zorvane", "glimroot"].includes(item)),
        };
      },
    });
    const { answer } = chat.say("does zorvane interact with fresh glimroot leaf and mystwort?");
    expect(seen).toEqual([
      ["zorvane", "fresh glimroot leaf", "mystwort"],
      ["zorvane", "fresh", "glimroot", "leaf", "mystwort"],
    ]);
    expect(answer).toContain('I did not recognise "mystwort"');
    expect(answer).not.toContain("fresh");
  });

  test("a follow-up keeps the supplement, or the drug when it names another supplement", () => {
    const chat = talk({ interaction_check: kinds(["zorvane", "quaxine"]) });
    const items = (text: string) => chat.say(text).calls.map(({ args }) => args["items"]);
    expect(items("does glimroot interact with zorvane?")).toEqual([["glimroot", "zorvane"]]);
    expect(items("and with quaxine?")).toEqual([["glimroot", "quaxine"]]);
    expect(items("what about mystwort?")).toEqual([
      ["glimroot", "mystwort"],
      ["quaxine", "mystwort"],
    ]);
  });

  test.each(SEEDS)("takes a patient's medications from the record (seed %i)", (seed) => {
    const { drug, herb, person } = invented(seed);
    const record = patient("p-1", person, { medications: [{ name: drug }] });
    const { calls } = talk({
      patient_search: () => ({ patients: [record] }),
      interaction_check: kinds([drug]),
    }).say(`check interactions for patient ${person} with ${herb}`);
    expect(calls).toEqual([
      { tool: "patient_search", args: { query: person } },
      { tool: "interaction_check", args: { items: [drug, herb] } },
    ]);
  });

  test("a tool that fails is reported and not called again", () => {
    const { answer, calls } = talk({ interaction_check: () => new Error("the database is asleep") }).say(
      "does ginkgo interact with zorvane?",
    );
    expect([answer, calls.length]).toEqual([
      "The interaction check failed: the database is asleep. I did not get an answer, so I won't guess one.",
      1,
    ]);
  });

  test("a result that was shortened is read as far as it goes; one that can't be read is said to be", () => {
    const finding = (a: string) => ({ a, b: "glimroot", severity: "minor" });
    const whole = JSON.stringify({ findings: [finding("zorvane"), finding("quaxine"), finding("lost")] });
    const cut = `${whole.slice(0, whole.indexOf('"lost"'))}\n[… 900 characters left out …]`;
    const ask = (output: string) =>
      talk({ interaction_check: () => output }).say("is glimroot safe with zorvane and quaxine?").answer;
    expect(ask(cut)).toBe("**Zorvane and glimroot: minor interaction**\n\n**Quaxine and glimroot: minor interaction**");
    expect(ask("[too long]")).toBe(
      "The result of the interaction check was too long or not readable, so I can't answer from it.",
    );
  });
});

describe("other questions", () => {
  test.each(SEEDS)("depletions, evidence, labs and help are looked up with the user's words (seed %i)", (seed) => {
    const { drug, herb, text } = invented(seed);
    const chat = talk(
      {
        load_skill: loadSkill,
        depletion_check: () => ({ depletions: [{ drug, nutrient: herb, effect: text }] }),
        evidence_search: () => ({
          evidence: [{ id: `ev-${seed}`, title: `T ${text}`, year: 2001, finding: `F ${text}` }],
        }),
        cite_sources: () => "shown",
        lab_tests: () => ({ labs: [{ id: "l", name: `L ${text}`, loinc: "1-2" }] }),
        knowledge_base_search: () => ({ articles: [{ id: "a", title: "A", body: `B ${text}` }] }),
      },
      ["research-evidence", "knowledge-base-answering", "interaction-depletion-check"],
    );
    const told = (question: string) => {
      const { calls, answer } = chat.say(question);
      return [calls.map(({ tool, args }) => `${tool} ${Object.values(args)[0]}`), answer.includes(text)];
    };
    expect(told(`what does ${drug} deplete?`)).toEqual([
      ["load_skill interaction-depletion-check", `depletion_check ${drug}`],
      true,
    ]);
    expect(told(`what does the evidence say about ${herb} for sleep?`)).toEqual([
      ["load_skill research-evidence", `evidence_search ${herb} sleep`, `cite_sources ev-${seed}`],
      true,
    ]);
    expect(told(`which lab test for ${herb} / ${drug} status?`)).toEqual([
      [`lab_tests ${herb}`, `lab_tests ${drug}`],
      true,
    ]);
    expect(told(`how does a patient order ${herb}?`)).toEqual([
      ["load_skill knowledge-base-answering", `knowledge_base_search patient order ${herb}`],
      true,
    ]);
  });

  test("the past is told from the request: last and first question, last answer, last recommendation", () => {
    const chat = talk({ depletion_check: () => ({ depletions: [] }) });
    chat.say("what does zorvane deplete?");
    chat.say("what does quaxine deplete?");
    expect(chat.say("What did I just ask?").answer).toBe("You asked: “what does quaxine deplete?”");
    expect(chat.say("what was my first question?").answer).toBe("You asked: “what does zorvane deplete?”");
    expect(talk({}).say("x").answer).not.toBe("");
    expect(talk({ depletion_check: () => ({}) }).say("what did I just ask?").answer).toBe(
      "This is the first message of the conversation that I can see.",
    );
  });

  test("says what it can do with these tools only, and that it did not understand", () => {
    const chat = talk({ lab_tests: () => ({ labs: [] }) });
    expect(chat.say("hello").answer).toBe(
      "Hello. I am a simulated assistant that answers from its tools only. I can:\n\n- find lab tests",
    );
    expect(chat.say("flumph grumph").answer).toBe("I did not understand that. I can:\n\n- find lab tests");
  });

  test("without tools it sums up; with results but no further calls it says what it has", () => {
    const chat = talk({ depletion_check: () => ({ depletions: [{ drug: "zorvane", nutrient: "glim" }] }) });
    chat.say("what does zorvane deplete?");
    const summed = talk({});
    summed.messages.push(...chat.messages);
    expect(summed.say("Summarise the conversation so far.").answer).toContain(
      "The user asked: what does zorvane deplete?\nFound: zorvane can lower glim\nThe assistant answered:",
    );
  });

  test("the same request gets the same reply", () => {
    const request = {
      system: "",
      tools: ["lab_tests"],
      messages: [{ from: "user", parts: [{ kind: "text", text: "lab test for zorvane" }] }],
    } as const;
    expect(decide(request)).toEqual(decide(request));
    expect(decide(request).calls).toEqual([{ tool: "lab_tests", args: { query: "zorvane", limit: 5 } }]);
  });

  test("when tools are taken away in the middle it tells what the finished calls found", () => {
    const messages = [
      { from: "user", parts: [{ kind: "text", text: "recommend glimroot for Orla Quensby" }] },
      { from: "model", text: "", calls: [{ tool: "patient_search", args: { query: "Orla Quensby" } }] },
      {
        from: "user",
        parts: [
          {
            kind: "result",
            tool: "patient_search",
            output: { patients: [patient("p-1", "Orla Quensby")] },
            error: null,
          },
        ],
      },
    ] as const;
    expect(decide({ system: "", tools: [], messages }).text).toBe(
      "I can't look anything further up now. This is what I found so far:\n\n- patient_search: Orla Quensby (p-1)",
    );
  });

  test("a question that follows tool results in one user turn is a new question", () => {
    const messages = [
      { from: "user", parts: [{ kind: "text", text: "what does zorvane deplete?" }] },
      { from: "model", text: "", calls: [{ tool: "depletion_check", args: { medications: ["zorvane"] } }] },
      {
        from: "user",
        parts: [
          { kind: "result", tool: "depletion_check", output: null, error: "stopped by the user" },
          { kind: "text", text: "what did I just ask?" },
        ],
      },
    ] as const;
    expect(decide({ system: "", tools: ["depletion_check"], messages }).text).toBe(
      "You asked: “what does zorvane deplete?”",
    );
  });
});
