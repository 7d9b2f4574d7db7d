import type { CardData } from "../../../machines/protocol/cards.ts";
import { bySeverity, sentence } from "../../words.ts";
import { Out } from "./sources.tsx";

/** What was found, the gravest first. */
export function Interactions({ data }: { readonly data: CardData<"interaction_check_results"> }) {
  if (data.findings.length === 0)
    return <p class="none">No interaction is recorded for these. That is no proof that the combination is safe.</p>;
  return (
    <ul class="items">
      {bySeverity(data.findings).map((one) => (
        <li key={`${one.a} ${one.b}`} class={`item finding ${tone(one.severity)}`} data-testid="finding">
          <div class="item-head">
            <p class="item-name">
              {sentence(one.a)} <span class="muted">with</span> {one.b}
            </p>
            <span class={`badge ${tone(one.severity)}`} data-testid="severity">
              {sentence(one.severity)}
            </span>
          </div>
          <dl>
            <dt>Advice</dt>
            <dd>{one.advice}</dd>
            <dt>Mechanism</dt>
            <dd>{one.mechanism}</dd>
          </dl>
          {one.sources.length > 0 && (
            <details class="source-list">
              <summary>{one.sources.length === 1 ? "1 source" : `${one.sources.length} sources`}</summary>
              <ul>
                {one.sources.map((source) => (
                  <li key={source.url}>
                    <Out url={source.url}>{source.title}</Out>
                  </li>
                ))}
              </ul>
            </details>
          )}
        </li>
      ))}
    </ul>
  );
}

function tone(severity: string): "grave" | "warn" | "mild" {
  const known = severity.toLowerCase();
  return known === "minor" ? "mild" : known === "moderate" ? "warn" : "grave";
}
