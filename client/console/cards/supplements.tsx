import type { CardData } from "../../../machines/protocol/cards.ts";
import { price } from "../../words.ts";

/** Products with their dosing and the reason for each. */
export function Supplements({ data }: { readonly data: CardData<"recommend_supplements"> }) {
  return (
    <ul class="items">
      {data.supplements.map((one) => (
        <li key={one.variant_id} class="item" data-testid="product">
          <div class="item-head">
            <div>
              <p class="item-name">{one.name}</p>
              <p class="muted">{[one.brand, one.strength].filter((part) => part !== "").join(" · ")}</p>
            </div>
            <div class="item-side">
              {one.price && <span class="price">{price(one.price)}</span>}
              <span class={one.in_stock ? "badge good" : "badge"}>{one.in_stock ? "In stock" : "Out of stock"}</span>
            </div>
          </div>
          <dl>
            <dt>Dosing</dt>
            <dd>{one.dosing}</dd>
            {one.rationale !== "" && (
              <>
                <dt>Why</dt>
                <dd>{one.rationale}</dd>
              </>
            )}
          </dl>
        </li>
      ))}
    </ul>
  );
}
