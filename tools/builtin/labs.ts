import { z } from "zod";
import type { Proposal } from "../../machines/protocol/interactions.ts";
import type { ToolContext } from "../tool.ts";
import { type Lookup, lookUp, unknownIds } from "./lookup.ts";

/** More than the platform lists; without a query it gives all. */
const ALL_LABS = 50;

export type Lab = NonNullable<Proposal["labs"]>[number];
const labsResult = z.object({ labs: z.array(z.object({ id: z.string(), name: z.string() })) });

/** The tests of these ids, each once. */
export async function labsOf(context: ToolContext, ids: readonly string[]): Lookup<readonly Lab[]> {
  if (ids.length === 0) return { found: [] };
  const looked = await lookUp(context, "lab_tests", { limit: ALL_LABS }, labsResult);
  if ("failed" in looked) return looked;
  const byId = new Map(looked.found.labs.map((one) => [one.id, one]));
  const wanted = [...new Set(ids)];
  const unknown = wanted.filter((one) => !byId.has(one));
  if (unknown.length > 0) return { failed: unknownIds("lab id", unknown, "lab_tests") };
  return { found: wanted.flatMap((one) => byId.get(one) ?? []) };
}
