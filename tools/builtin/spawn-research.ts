import { z } from "zod";
import type { CardSignal } from "../../machines/protocol/cards.ts";
import { excerpt } from "../bounds.ts";
import { MOST_SOURCES, type ResearchResult, type Subagents } from "../subagents.ts";
import type { Tool } from "../tool.ts";
import { showingTool } from "./define.ts";
import { failed, workedOut } from "./run-subagent.ts";

/** What a research result may cost the parent's history, in bytes of UTF-8. */
export const PARENT_BYTES = 4_000;
const TITLE_CHARACTERS = 140;
const FINDING_CHARACTERS = 200;
/** Shares of the texts that are tried until the result fits: other scripts take up to three bytes a character. */
const SHARES = [1, 0.85, 0.7, 0.5, 0.35, 0.2];

const INSTEAD =
  "Go on without it: search with evidence_search yourself, and tell the user that the deeper research did not work. Do not start it again in this turn.";

/** Lets a research agent read the evidence in a context of its own; its parent gets the sources it chose and a reflection. */
export function spawnResearchAgent(subagents: Subagents): Tool {
  return {
    ...showingTool({
      name: "spawn_research_agent",
      title: "Researching",
      description: `Let a research agent answer one question about the evidence: it searches many times, reads everything and returns at most ${MOST_SOURCES} sources with a planner_reflection. Takes up to a minute. The user sees the sources as a citation panel: do not cite them again with cite_sources.`,
      input: z.object({
        question: z
          .string()
          .trim()
          .min(3)
          .max(1_000)
          .describe("One full question: intervention, outcome, population. Nothing that names the patient."),
      }),
      async run({ question }, context, signal) {
        const end = await workedOut(subagents, { kind: "research", question }, context, signal);
        if ("code" in end) return failed("The research agent", end.code, INSTEAD);
        const { bundleId, sources } = end.result;
        const card: CardSignal = { kind: "citations", data: { bundle_id: bundleId, sources: [...sources] } };
        return { kind: "ok", text: forParent(end.result), ...(sources.length > 0 && { card }) };
      },
    }),
    // A sub-agent costs money and shows a panel: its intent is durable, and a repetition waits for the one that runs.
    traits: { readOnly: false, repeatable: true },
  };
}

/** The result as the parent's model reads it: whole sentences where there is room, shorter ones until it fits. */
export function forParent({ bundleId, sources, reflection }: Omit<ResearchResult, "kind" | "searched">): string {
  const [text, ...shorter] = SHARES.map((share) =>
    JSON.stringify({
      research_bundle_id: bundleId,
      sources: sources.map(({ id, title, year, finding }) => ({
        id,
        title: excerpt(title, Math.floor(TITLE_CHARACTERS * share)),
        year,
        finding: excerpt(finding, Math.floor(FINDING_CHARACTERS * share)),
      })),
      planner_reflection: excerpt(reflection, Math.max(200, Math.floor(reflection.length * share))),
    }),
  );
  const fits = (one: string) => Buffer.byteLength(one) <= PARENT_BYTES;
  return [text ?? "", ...shorter].find(fits) ?? shorter.at(-1) ?? "";
}
