import type { CardData } from "../../../machines/protocol/cards.ts";

export function Lifestyle({ data }: { readonly data: CardData<"recommend_lifestyle"> }) {
  return (
    <ul class="items">
      {data.recommendations.map((one) => (
        <li key={one.title} class="item">
          <p class="item-name">{one.title}</p>
          <p>{one.detail}</p>
        </li>
      ))}
    </ul>
  );
}

export function Labs({ data }: { readonly data: CardData<"recommend_labs"> }) {
  return (
    <ul class="items">
      {data.labs.map((one) => (
        <li key={one.id} class="item">
          <div class="item-head">
            <p class="item-name">{one.name}</p>
            {one.loinc && <span class="badge">LOINC {one.loinc}</span>}
          </div>
          {one.rationale && <p>{one.rationale}</p>}
          <dl>
            {one.specimen && (
              <>
                <dt>Specimen</dt>
                <dd>{one.specimen}</dd>
              </>
            )}
            {one.reference && (
              <>
                <dt>Reference</dt>
                <dd>{one.reference}</dd>
              </>
            )}
          </dl>
        </li>
      ))}
    </ul>
  );
}
