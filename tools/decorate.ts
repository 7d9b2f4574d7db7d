import { z } from "zod";
import type { CardData, CardSignal } from "../machines/protocol/cards.ts";
import { excerpt } from "./bounds.ts";
import type { Study } from "./evidence-memory.ts";
import { planCardOf } from "./plan-writing.ts";

/** What the agent adds to a discovered tool: words for the user while it runs, and a card made of its result. */
export type Decoration = { readonly title: string; readonly card?: (data: unknown) => CardSignal | undefined };

const MOST_ITEMS = 50;
const FIELD_CHARACTERS = 2_000;

const field = z.string().transform((text) => excerpt(text, FIELD_CHARACTERS));
const source = z.object({ title: field, url: field });
const finding = z.object({
  a: field,
  b: field,
  severity: field,
  mechanism: field,
  advice: field,
  sources: z.array(source).transform((all) => all.slice(0, 10)),
});
const findings = z.object({ findings: z.array(finding) });
const article = z.object({ id: field, title: field, category: field, body: z.string() });
const articles = z.object({ articles: z.array(article) });

/** By a tool's public name. A tool without one works all the same. */
export const decorations: Readonly<Record<string, Decoration>> = {
  interaction_check: {
    title: "Checking interactions",
    card(data) {
      const found = some(findings.safeParse(data).data?.findings);
      return found && { kind: "interaction_check_results", data: { findings: found } };
    },
  },
  knowledge_base_search: {
    title: "Searching the help articles",
    card(data) {
      const found = some(articles.safeParse(data).data?.articles.map(shortened));
      return found && { kind: "knowledge_base_results", data: { articles: found } };
    },
  },
  // What a search finds is not what an answer rests on: cite_sources shows that.
  evidence_search: { title: "Searching the evidence" },
  depletion_check: { title: "Checking nutrient depletions" },
  product_search: { title: "Searching the catalog" },
  patient_search: { title: "Looking for the patient" },
  patient_get: { title: "Reading the chart" },
  visit_notes: { title: "Reading visit notes" },
  lab_tests: { title: "Looking up lab tests" },
  treatment_plan_get: { title: "Reading the plan" },
  treatment_plan_create: { title: "Creating the plan", card: (data) => planCard(data, "created") },
  treatment_plan_update: { title: "Changing the plan", card: (data) => planCard(data, "updated") },
};

function planCard(data: unknown, change: "created" | "updated"): CardSignal | undefined {
  const card = planCardOf(data, change);
  return card && { kind: "treatment_plan", data: card };
}

/** A study as the citations card shows it. */
export function citation({ id, title, year, journal, url, finding }: Study): CardData<"citations">["sources"][number] {
  return {
    id,
    title: excerpt(title, FIELD_CHARACTERS),
    year: year ?? null,
    journal: journal ?? null,
    url: url ?? null,
    finding: excerpt(finding, FIELD_CHARACTERS),
  };
}

const shortened = ({ body, ...rest }: z.infer<typeof article>) => ({ ...rest, excerpt: excerpt(body, 280) });

/** The first items of a list; undefined when there is nothing to show. */
function some<T>(items: readonly T[] | undefined): T[] | undefined {
  return items === undefined || items.length === 0 ? undefined : items.slice(0, MOST_ITEMS);
}
