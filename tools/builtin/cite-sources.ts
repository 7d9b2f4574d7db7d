import { z } from "zod";
import { clipped } from "../bounds.ts";
import { citation } from "../decorate.ts";
import { type EvidenceMemory, studiesIn } from "../evidence-memory.ts";
import type { Tool, ToolContext, ToolResult } from "../tool.ts";
import { showingTool } from "./define.ts";
import { unknownIds } from "./lookup.ts";

const MOST_FOUND = 50;

/** Shows the studies that an answer rests on. They are looked up by id; the model cannot write a citation of its own. */
export function citeSources(memory: EvidenceMemory): Tool {
  return showingTool({
    name: "cite_sources",
    title: "Citing sources",
    description:
      "Show the studies your answer rests on as a citation panel. Takes ids of evidence_search results, most important first. Cite only what you used; do not write out titles or addresses in your text.",
    input: z.object({
      evidence_ids: z.array(z.string().min(1).max(100)).min(1).max(8).describe("Ids of evidence_search results."),
      query: z
        .string()
        .min(1)
        .max(300)
        .optional()
        .describe("The evidence_search query that gave the ids; helps when that was long ago."),
    }),
    async run({ evidence_ids, query }, context) {
      const ids = [...new Set(evidence_ids)];
      const missing = () => ids.filter((id) => memory.find(id) === undefined);
      // After a restart, or on another node, the memory is empty: ask for the query again, then for the ids themselves.
      const asks = [...(query === undefined ? [] : [query]), clipped(missing().join(" "), 300)];
      for (const ask of asks) {
        if (missing().length === 0) break;
        const failed = await search(memory, ask, context);
        if (failed !== undefined) return failed;
      }
      if (missing().length > 0) return unknownIds("evidence id", missing(), "evidence_search");

      const sources = ids.flatMap((id) => memory.find(id) ?? []).map(citation);
      return {
        kind: "ok",
        text: `The user sees a citation panel with: ${sources.map(({ id }) => id).join(", ")}.`,
        card: { kind: "citations", data: { sources } },
      };
    },
  });
}

async function search(memory: EvidenceMemory, query: string, context: ToolContext): Promise<ToolResult | undefined> {
  const result = await context.call("evidence_search", { query, limit: MOST_FOUND });
  if (result.kind === "ok") memory.note(studiesIn(result.data));
  else if (result.reason === "auth") return result;
  else return { kind: "error", reason: "unavailable", text: "Nothing was shown: evidence_search cannot be used now." };
  return undefined;
}
