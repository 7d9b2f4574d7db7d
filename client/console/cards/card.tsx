import { never } from "../../../machines/failure.ts";
import type { CardSignal } from "../../../machines/protocol/cards.ts";
import { readCard } from "../../card.ts";
import type { BlockView } from "../../view.ts";
import { sentence } from "../../words.ts";
import { Labs, Lifestyle } from "./advice.tsx";
import { Asked } from "./asked.tsx";
import { Frame } from "./frame.tsx";
import { Interactions } from "./interactions.tsx";
import { planHeading, StoredPlan } from "./plan.tsx";
import { Articles, Citations } from "./sources.tsx";
import { Supplements } from "./supplements.tsx";

/** A block that is no text. One of a kind, or with data, that this version does not know is shown as it is. */
export function Card({ block }: { readonly block: BlockView }) {
  const card = readCard(block);
  if (card === undefined && !block.finished && Object.keys(block.content).length === 0)
    return <Frame kind={block.type} title={`${sentence(block.type)}…`} children={null} />;
  if (card === undefined)
    return (
      <Frame kind={block.type} title={sentence(block.type)}>
        <Unknown content={block.content} />
      </Frame>
    );
  if (card.kind === "interaction_request") return <Asked data={card.data} />;
  return (
    <Frame kind={block.type} title={titleOf(card)}>
      {inside(card, block)}
    </Frame>
  );
}

type Shown = Exclude<CardSignal, { kind: "interaction_request" }>;

const titles: Readonly<Record<Exclude<Shown["kind"], "treatment_plan">, string>> = {
  recommend_supplements: "Recommended supplements",
  recommend_lifestyle: "Lifestyle",
  recommend_labs: "Lab tests to consider",
  interaction_check_results: "Interaction check",
  citations: "Sources",
  knowledge_base_results: "Help articles",
};

const titleOf = (card: Shown): string => (card.kind === "treatment_plan" ? planHeading(card.data) : titles[card.kind]);

function inside(card: Shown, block: BlockView) {
  switch (card.kind) {
    case "recommend_supplements":
      return <Supplements data={card.data} block={block} />;
    case "recommend_lifestyle":
      return <Lifestyle data={card.data} />;
    case "recommend_labs":
      return <Labs data={card.data} />;
    case "interaction_check_results":
      return <Interactions data={card.data} />;
    case "citations":
      return <Citations data={card.data} />;
    case "knowledge_base_results":
      return <Articles data={card.data} />;
    case "treatment_plan":
      return <StoredPlan data={card.data} />;
    default:
      return never(card);
  }
}

function Unknown({ content }: { readonly content: Readonly<Record<string, unknown>> }) {
  return (
    <details class="unknown">
      <summary>This page does not know how to show this. See its data</summary>
      <pre>{JSON.stringify(content, null, 2)}</pre>
    </details>
  );
}
