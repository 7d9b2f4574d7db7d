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

/** Lab tests; a reason that all of them share is said once. */
export function Labs({ data: { labs } }: { readonly data: CardData<"recommend_labs"> }) {
  const shared = labs.length > 1 && labs.every(({ rationale }) => rationale === labs[0]?.rationale);
  return (
    <ul class="items">
      {shared && labs[0]?.rationale && <li class="item muted">{labs[0].rationale}</li>}
      {labs.map((one) => (
        <li key={one.id} class="item">
          <div class="item-head">
            <p class="item-name">{one.name}</p>
            {one.loinc && <span class="badge">LOINC {one.loinc}</span>}
          </div>
          {!shared && one.rationale && <p>{one.rationale}</p>}
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
