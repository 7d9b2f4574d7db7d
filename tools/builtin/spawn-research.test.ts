import { describe, expect, test } from "vitest";
import { readSubagentResult } from "../subagent-result.ts";
import { failureSentence } from "../subagent-words.ts";
import type { ResearchResult, ResearchSource } from "../subagents.ts";
import { forParent, PARENT_BYTES, spawnResearchAgent } from "./spawn-research.ts";
import { working } from "./testing/working.ts";

const BUNDLE = "00000000-0000-4000-8000-0000000000b1";
const source = (id: string, over: Partial<ResearchSource> = {}): ResearchSource => ({
  ...{
    id,
    title: `Title of ${id}`,
    year: 2012,
    journal: "J",
    url: `https://e.example/${id}`,
    finding: `Finding of ${id}.`,
  },
  ...over,
});
const result = (sources: readonly ResearchSource[], reflection = "Some support."): ResearchResult => ({
  ...{ kind: "research", bundleId: BUNDLE, sources, reflection },
  searched: { queries: 4, found: 20, characters: 30_000 },
});
const question = "Does magnesium help with sleep?";

describe("spawn_research_agent", () => {
  test("the parent reads sources, their beginnings and the reflection; the panel shows the whole findings", async () => {
    const long = "word ".repeat(100).trim();
    const found = result([source("ev-1"), source("ev-2", { finding: long, year: null })]);
    const steps = [{ phase: "waiting" }, { phase: "searching", n: 3, of: 8 }, { phase: "new_code", n: 2 }];
    const { tool, run, asked, news, context } = working(spawnResearchAgent, { kind: "finished", result: found }, steps);
    expect(tool.traits).toEqual({ readOnly: false, repeatable: true });
    expect(await run({ question: ` ${question} ` })).toEqual({
      kind: "ok",
      text: JSON.stringify({
        research_bundle_id: BUNDLE,
        sources: [
          { id: "ev-1", title: "Title of ev-1", year: 2012, finding: "Finding of ev-1." },
          { id: "ev-2", title: "Title of ev-2", year: null, finding: `${"word ".repeat(39).trim()}…` },
        ],
        planner_reflection: "Some support.",
      }),
      card: { kind: "citations", data: { bundle_id: BUNDLE, sources: found.sources } },
    });
    const { sessionId, turnId, callId, principal, credential } = context;
    expect(asked).toEqual([
      { call: { sessionId, turnId, callId, principal, credential }, request: { kind: "research", question } },
    ]);
    expect(news).toEqual([
      { kind: "started", subagent: "research", label: "Researching the evidence" },
      { kind: "progress", subagent: "research", label: "Waiting for a free worker" },
      { kind: "progress", subagent: "research", label: "Searching the evidence (3 of 8)" },
      { kind: "progress", subagent: "research", label: "Working (2)" },
      { kind: "finished", subagent: "research", outcome: "ok" },
    ]);
  });

  test("nothing found shows no panel", async () => {
    const { run } = working(spawnResearchAgent, { kind: "finished", result: result([]) });
    expect(await run({ question })).toEqual({
      kind: "ok",
      text: `{"research_bundle_id":"${BUNDLE}","sources":[],"planner_reflection":"Some support."}`,
    });
  });

  test("D-15 whatever a sub-agent gives, its parent's history grows by less than 4 KB", () => {
    for (const letter of ["a ", "ж ", "研 ", "😀 ", '" ', "\n "]) {
      const full = letter.repeat(1_000).slice(0, 2_000);
      const eight = Array.from({ length: 8 }, (_, at) => source(`ev-${at}`, { title: full, finding: full }));
      const text = forParent(result(eight, letter.repeat(400).slice(0, 800)));
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(PARENT_BYTES);
      const read = JSON.parse(text) as { sources: { id: string }[] };
      expect(read.sources.map(({ id }) => id)).toEqual(eight.map(({ id }) => id));
    }
  });

  test.each([
    ["deadline", "timeout"],
    ["time_budget", "timeout"],
    ["jobs_unavailable", "unavailable"],
    ["auth_required", "unavailable"],
    ["overloaded", "unavailable"],
  ])("D-15 failed as %s: an error that the model can act on", async (code, reason) => {
    const { run, news } = working(spawnResearchAgent, { kind: "failed", code });
    expect(await run({ question })).toEqual({
      kind: "error",
      reason,
      text: `The research agent gave no result. ${failureSentence(code)} Go on without it: search with evidence_search yourself, and tell the user that the deeper research did not work. Do not start it again in this turn.`,
    });
    expect(news.at(-1)).toEqual({ kind: "finished", subagent: "research", outcome: code });
  });

  test("D-15 a Stop cancels it: the news end, and the call throws", async () => {
    const { run, news, stop } = working(
      spawnResearchAgent,
      (signal) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    );
    const ended = run({ question });
    stop.abort(new Error("stopped"));
    await expect(ended).rejects.toThrow("stopped");
    expect(news.at(-1)).toEqual({ kind: "finished", subagent: "research", outcome: "cancelled" });
  });

  test("D-15 a result of another kind, malformed or far too large is none", async () => {
    const plan = {
      kind: "plan_builder",
      outcome: "needs_clarification",
      questions: [{ question: "Q", options: [] }],
    } as const;
    const { run } = working(spawnResearchAgent, { kind: "finished", result: plan });
    expect((await run({ question })).kind).toBe("error");
    const good = result([source("ev-1")]);
    expect(readSubagentResult("research", good)).toEqual(good);
    expect(readSubagentResult("plan_builder", plan)).toEqual(plan);
    const huge = source("ev-1", { finding: "x".repeat(2 ** 21) });
    const many = Array.from({ length: 9 }, (_, at) => source(`ev-${at}`));
    for (const bad of [undefined, "{}", {}, plan, result([huge]), result(many), { ...good, bundleId: "b" }])
      expect(readSubagentResult("research", bad)).toBeUndefined();
    const envelope = { patient_id: "p", patient_name: "P", title: "T", items: [], notes: "x".repeat(200_000) };
    for (const bad of [
      good,
      { ...plan, questions: [] },
      { kind: "plan_builder", outcome: "envelope", envelope, warnings: [] },
    ])
      expect(readSubagentResult("plan_builder", bad)).toBeUndefined();
  });
});
