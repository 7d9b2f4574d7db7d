import type { z } from "zod";
import { Depletions, Evidence, nameOf, type Patient } from "./data.ts";
import type { Scene } from "./scene.ts";
import { askAll, have, type Steps } from "./steps.ts";

/** A supplement that may go into a plan, and why. */
export type Candidate = { readonly name: string; readonly why: string };
export type Candidates = { readonly chosen: readonly Candidate[]; readonly leftOut: readonly string[] };

const MOST = 3;
const CONDITIONS_ASKED = 3;
/** Beside which a name in a note is a "no". */
const AGAINST = /\b(hold|avoid|do not|don't|not|no|never|decline[ds]?|stop|out|contraindicated)\b/i;
/** Words that many names share, so that they name nothing alone. */
const SHARED = new Set(["vitamin", "acid", "oil", "extract", "root", "supplement", "b", "fish"]);

type Rated = Candidate & { readonly score: number };

/**
 * What the record of a patient speaks for: nutrients that the medications lower, and what the evidence index names for the complaints.
 * What the notes mention weighs more; what a note speaks against is left out.
 */
export function* fromRecord(
  scene: Scene,
  patient: Patient,
  purposes: readonly string[],
  notes: string,
): Steps<Candidates> {
  const medications = (patient.medications ?? []).map(({ name }) => name);
  const recorded = (patient.conditions ?? []).map((condition) => condition.replace(/\b(19|20)\d\d\b/g, "").trim());
  const complaints = (purposes.length > 0 ? purposes : recorded).slice(0, CONDITIONS_ASKED);
  const depletion = { tool: "depletion_check", args: { medications } };
  const asksDepletions = medications.length > 0 && purposes.length === 0 && scene.tools.has(depletion.tool);
  const searches = scene.tools.has("evidence_search")
    ? complaints.map((query) => ({ tool: "evidence_search", args: { query, limit: 10 } }))
    : [];
  const calls = [...(asksDepletions ? [depletion] : []), ...searches];
  const outcomes = calls.length === 0 ? [] : yield* askAll(...calls);
  const lowered = asksDepletions && outcomes[0] ? have(outcomes[0], Depletions) : null;
  const rest = asksDepletions ? outcomes.slice(1) : outcomes;
  const rated = [
    ...(lowered?.depletions ?? []).map(({ drug, nutrient, advice, effect }): Rated => {
      const why = `${nameOf(drug)} can lower ${nameOf(nutrient)}. ${advice ?? effect ?? ""}`.trim();
      // "Thiamin (vitamin B1)": a search wants one name.
      return { name: nameOf(nutrient).replace(/\s*\([^)]*\)/g, ""), why, score: 3 };
    }),
    ...rest.flatMap((outcome, at) => named(have(outcome, Evidence)?.evidence ?? [], complaints[at] ?? "")),
  ];
  return best(rated, notes);
}

/** The supplements that the records for one complaint name most. */
function named(records: z.infer<typeof Evidence>["evidence"], complaint: string): readonly Rated[] {
  const counts = new Map<string, number>();
  for (const name of records.flatMap(({ supplements }) => (supplements ?? []).map(nameOf)))
    counts.set(name, (counts.get(name) ?? 0) + 1);
  const [top] = [...counts].sort((a, b) => b[1] - a[1]);
  if (top === undefined) return [];
  const [name, count] = top;
  // One record among several is chance.
  if (count < 2 && records.length > 1) return [];
  const of = records.length === 1 ? "The one record" : `${count} of the ${records.length} records`;
  const why = `${of} in the evidence index for ${complaint} ${count === 1 ? "names" : "name"} it.`;
  return [{ name: name.replaceAll("-", " "), why, score: 1 + count / 20 }];
}

function best(rated: readonly Rated[], notes: string): Candidates {
  const clauses = notes.split(/[.;\n]/);
  const byName = new Map<string, Rated>();
  const leftOut = new Set<string>();
  for (const one of rated) {
    const said = clauses.filter((clause) => mentions(clause, one.name));
    const against = said.find((clause) => AGAINST.test(clause));
    if (against !== undefined) leftOut.add(`${one.name}, because a note says: “${against.trim()}”`);
    const known = byName.get(plain(one.name));
    if (against !== undefined || (known !== undefined && known.score >= one.score)) continue;
    const noted = said.length > 0;
    byName.set(plain(one.name), {
      ...one,
      why: noted ? `${one.why} The notes mention it.` : one.why,
      score: one.score + (noted ? 2 : 0),
    });
  }
  const chosen = [...byName.values()].sort((a, b) => b.score - a.score).slice(0, MOST);
  return { chosen: chosen.map(({ name, why }) => ({ name, why })), leftOut: [...leftOut] };
}

const plain = (name: string): string => name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");

function mentions(clause: string, name: string): boolean {
  const said = new Set(clause.toLowerCase().split(/[^\p{L}\p{N}]+/u));
  return name
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .some((word) => word.length > 1 && !SHARED.has(word) && said.has(word));
}
