import type { ComponentChildren } from "preact";
import { never } from "../../../machines/failure.ts";
import type { CardSignal } from "../../../machines/protocol/cards.ts";
import { readCard } from "../../card.ts";
import type { BlockView } from "../../view.ts";
import { sentence } from "../../words.ts";
import { Labs, Lifestyle } from "./advice.tsx";
import { Interactions } from "./interactions.tsx";
import { Articles, Citations } from "./sources.tsx";
import { Supplements } from "./supplements.tsx";

/** A block that is no text. One of a kind, or with data, that this version does not know is shown as it is. */
export function Card({ block }: { readonly block: BlockView }) {
  const card = readCard(block);
  if (card === undefined && !block.finished && Object.keys(block.content).length === 0)
    return <Frame kind={block.type} title={`${sentence(block.type)}…`} children={null} />;
  return (
    <Frame kind={block.type} title={card ? titles[card.kind] : sentence(block.type)}>
      {card ? inside(card) : <Unknown content={block.content} />}
    </Frame>
  );
}

const titles: Readonly<Record<CardSignal["kind"], string>> = {
  recommend_supplements: "Recommended supplements",
  recommend_lifestyle: "Lifestyle",
  recommend_labs: "Lab tests to consider",
  interaction_check_results: "Interaction check",
  citations: "Sources",
  knowledge_base_results: "Help articles",
};

function inside(card: CardSignal) {
  switch (card.kind) {
    case "recommend_supplements":
      return <Supplements data={card.data} />;
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
    default:
      return never(card);
  }
}

type FrameProps = { readonly kind: string; readonly title: string; readonly children: ComponentChildren };

function Frame({ kind, title, children }: FrameProps) {
  return (
    <section class={`card card-${kind}`} data-testid={`card-${kind}`} aria-label={title}>
      <h3 class="card-title">{title}</h3>
      {children}
    </section>
  );
}

function Unknown({ content }: { readonly content: Readonly<Record<string, unknown>> }) {
  return (
    <details class="unknown">
      <summary>This page does not know how to show this. See its data</summary>
      <pre>{JSON.stringify(content, null, 2)}</pre>
    </details>
  );
}
