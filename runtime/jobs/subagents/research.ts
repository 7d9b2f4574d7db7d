import { z } from "zod";
import type { SubagentBudget } from "../../../machines/subagent/subagent.rules.ts";
import { showingTool } from "../../../tools/builtin/define.ts";
import { badArguments, namedIds } from "../../../tools/builtin/lookup.ts";
import { citation } from "../../../tools/decorate.ts";
import { REFLECTION_CHARACTERS } from "../../../tools/subagent-result.ts";
import { MOST_SOURCES, type ResearchResult, type SubagentRequest } from "../../../tools/subagents.ts";
import type { Tool } from "../../../tools/tool.ts";
import { type Found, ResearchCollector } from "./collector.ts";
import { instructions, needed, type Subagent, type SubagentParts } from "./parts.ts";
import { callsOf } from "./principal-call.ts";

/** Three to six queries are asked for; two more for a second thought. */
export const MOST_QUERIES = 8;
/** Hits of one query: ten are about 8 KB, so that all queries of a step stay far below a small model's window. */
const HITS = 10;

/**
 * A search, a second one, and the choice are three or four steps; eight leaves room for mistakes. Each step reads everything again:
 * 60 KB of findings, 15k tokens, at most eight times. Wall time stays below the call's deadline, so that it ends by itself.
 */
export const RESEARCH_BUDGET: SubagentBudget = { steps: 8, tokens: 150_000, ms: 75_000, cost: 0.5 };

/** What research found, for the panel and for whoever looks later. */
export type ResearchBundle = {
  readonly question: string;
  readonly queries: readonly { readonly query: string; readonly found: number }[];
  /** The chosen studies as the index gave them, most important first. */
  readonly sources: readonly unknown[];
  /** Ids of everything else that came back. */
  readonly leftOut: readonly string[];
  readonly reflection: string;
};

/** Searches the evidence and chooses from it. What it reads stays in its own context; by id it says what its parent gets. */
export function research(
  request: Extract<SubagentRequest, { kind: "research" }>,
  parts: SubagentParts,
): Subagent<ResearchResult> {
  const collector = new ResearchCollector(MOST_QUERIES);
  let chosen: { readonly result: ResearchResult; readonly bundle: ResearchBundle } | undefined;
  const finish = finishResearch(collector, (sources, reflection) => {
    if (chosen !== undefined) return;
    const { queries, found, characters } = collector;
    chosen = {
      result: {
        kind: "research",
        bundleId: parts.chance.uuid(),
        sources: sources.map(({ study }) => citation(study)),
        reflection,
        searched: { queries: queries.length, found: found.length, characters },
      },
      bundle: {
        question: request.question,
        queries,
        sources: sources.map(({ record }) => record),
        leftOut: found.filter((one) => !sources.includes(one)).map(({ study }) => study.id),
        reflection,
      },
    };
  });
  return {
    system: instructions(parts, "research-agent"),
    task: `Research this question: ${JSON.stringify(request.question)}`,
    tools: [searchEvidence(needed(parts, "evidence_search"), collector, parts)],
    finishing: [finish],
    isFinished: () => chosen !== undefined,
    budget: RESEARCH_BUDGET,
    result: () => chosen?.result,
    bundle: () => chosen && { bundleId: chosen.result.bundleId, body: chosen.bundle },
  };
}

function searchEvidence(platform: Tool, collector: ResearchCollector, { onProgress }: SubagentParts): Tool {
  return showingTool({
    name: "search_evidence",
    title: platform.title,
    description: `Search the evidence index. One aspect a query, a few words: supplement, condition, outcome, population. Gives up to ${HITS} studies in full. At most ${MOST_QUERIES} queries in all; a query that was asked before gives nothing new.`,
    input: z.object({ query: z.string().trim().min(1).max(300).describe("e.g. magnesium insomnia older adults") }),
    async run({ query }, context, signal) {
      if (!collector.begin(query))
        return badArguments(`That was query ${MOST_QUERIES + 1}: search no more. Choose from what you have read.`);
      onProgress?.({ phase: "searching", n: collector.queries.length, of: MOST_QUERIES });
      const found = await callsOf([platform], context, signal)(platform.name, { query, limit: HITS });
      if (found.kind === "ok") collector.note(query, found.text, found.data);
      return found;
    },
  });
}

type Finished = (sources: readonly Found[], reflection: string) => void;

function finishResearch(collector: ResearchCollector, finished: Finished): Tool {
  return showingTool({
    name: "finish_research",
    title: "Choosing sources",
    description: `End the research. selected_ids: at most ${MOST_SOURCES} ids that search_evidence gave, most important first; none when nothing fits.`,
    input: z.object({
      selected_ids: z.array(z.string().min(1).max(100)).max(MOST_SOURCES),
      planner_reflection: z
        .string()
        .trim()
        .min(1)
        .max(REFLECTION_CHARACTERS)
        .describe("For the assistant: certainty, disagreement, indirect evidence, what was not found."),
    }),
    async run({ selected_ids: ids, planner_reflection }) {
      if (collector.queries.length === 0)
        return badArguments("Nothing was searched yet. Call search_evidence before you finish.");
      const unknown = ids.filter((id) => collector.find(id) === undefined);
      if (unknown.length > 0)
        return badArguments(
          `The research is not finished: search_evidence did not give ${namedIds(unknown)}. Choose only ids that it gave.`,
        );
      const twice = ids.filter((id, at) => ids.indexOf(id) !== at);
      if (twice.length > 0)
        return badArguments(`The research is not finished: ${namedIds([...new Set(twice)])} is named twice.`);
      finished(
        ids.flatMap((id) => collector.find(id) ?? []),
        planner_reflection,
      );
      return { kind: "ok", text: "The research is finished." };
    },
  });
}
