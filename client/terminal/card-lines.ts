import { never } from "../../machines/failure.ts";
import type { CardSignal } from "../../machines/protocol/cards.ts";
import { bySeverity, price } from "../words.ts";
import { askedLines } from "./question.ts";

/** A card as lines of plain text: a title, then its items indented by two. */
export function cardLines(card: CardSignal): string[] {
  switch (card.kind) {
    case "recommend_supplements":
      return titled("Recommended supplements", card.data.supplements, (one) => [
        `${one.brand} ${one.name} (${one.strength})`,
        ["dosing", one.dosing],
        ["why", one.rationale],
        [
          "price",
          [one.price && price(one.price), one.in_stock ? "in stock" : "out of stock"].filter(Boolean).join(", "),
        ],
      ]);
    case "recommend_lifestyle":
      return titled("Lifestyle", card.data.recommendations, (one) => [one.title, ["", one.detail]]);
    case "recommend_labs":
      return titled("Lab tests", card.data.labs, (one) => [
        one.loinc === null ? one.name : `${one.name} (LOINC ${one.loinc})`,
        ["specimen", one.specimen],
        ["reference", one.reference],
        ["why", one.rationale],
      ]);
    case "interaction_check_results":
      if (card.data.findings.length === 0) return ["Interactions: none recorded"];
      return titled("Interactions", bySeverity(card.data.findings), (one) => [
        `${one.severity.toUpperCase()}: ${one.a} + ${one.b}`,
        ["mechanism", one.mechanism],
        ["advice", one.advice],
        ...one.sources.map((source): Line => ["source", `${source.title} ${source.url}`]),
      ]);
    case "citations":
      return titled("Sources", card.data.sources, (one) => [
        [one.title, one.journal, one.year].filter((part) => part !== null).join(", "),
        ["finding", one.finding],
        ["", one.url],
      ]);
    case "knowledge_base_results":
      return titled("Help articles", card.data.articles, (one) => [
        `${one.title} (${one.category})`,
        ["", one.excerpt],
      ]);
    case "treatment_plan": {
      const { change, title, plan_id, patient_name, patient_id, items } = card.data;
      const what = `Draft plan ${change}: ${title ?? plan_id} for ${patient_name ?? patient_id}`;
      return titled(what, items, (one) => [[one.brand, one.name].filter(Boolean).join(" "), ["dosing", one.dosing]]);
    }
    case "interaction_request":
      return askedLines(card.data);
    default:
      return never(card);
  }
}

type Line = readonly [label: string, value: string | null];

function titled<Item>(title: string, items: readonly Item[], lines: (item: Item) => [string, ...Line[]]): string[] {
  const listed = items.flatMap((item) => {
    const [head, ...rest] = lines(item);
    const details = rest.flatMap(([label, value]) =>
      value === null || value === "" ? [] : [`    ${label === "" ? "" : `${label}: `}${value.replaceAll(/\s+/g, " ")}`],
    );
    return [`  - ${head}`, ...details];
  });
  return [title, ...(listed.length === 0 ? ["  (none)"] : listed)];
}
