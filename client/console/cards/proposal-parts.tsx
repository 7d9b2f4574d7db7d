import type { Proposal, ProposalItem } from "../../../machines/protocol/interactions.ts";
import { price } from "../../words.ts";
import { useDesk } from "../desk.ts";
import { nameOf } from "../known.ts";

/** Whom a proposal is for, and what accepting it does. */
export function ProposalFor({ proposal: { patient_id, patient_name, plan_id } }: { readonly proposal: Proposal }) {
  const { plans } = useDesk();
  const title = plan_id === undefined ? undefined : nameOf(plan_id, plans);
  return (
    <p class="proposal-for">
      <span title={patient_id}>
        <span class="muted">For</span> <strong>{patient_name}</strong>
      </span>
      <span class="badge" data-testid="proposal-target" title={plan_id}>
        {title === undefined
          ? "New draft plan"
          : title === plan_id
            ? "Adds to a draft"
            : `Adds to the draft “${title}”`}
      </span>
    </p>
  );
}

type HeadProps = {
  readonly item: Pick<ProposalItem, "name" | "brand" | "strength" | "price" | "in_stock">;
  /** Instead of price and stock. */
  readonly aside: string | undefined;
};

/** A product: its name, who makes it, what it costs, whether it can be had. */
export function ProductHead({ item: { name, brand, strength, price: cost, in_stock }, aside }: HeadProps) {
  return (
    <div class="item-head">
      <div>
        <p class="item-name">{name}</p>
        <p class="muted">{[brand, strength].filter((part) => part !== "").join(" · ")}</p>
      </div>
      <div class="item-side">
        {aside === undefined ? (
          <>
            {cost && <span class="price">{price(cost)}</span>}
            <Stock in_stock={in_stock} />
          </>
        ) : (
          <span class="badge">{aside}</span>
        )}
      </div>
    </div>
  );
}

export function Stock({ in_stock }: Pick<ProposalItem, "in_stock">) {
  return <span class={in_stock ? "badge good" : "badge warn"}>{in_stock ? "In stock" : "Out of stock"}</span>;
}

/** What goes with the items and is not edited here: advice and lab tests. */
export function ProposalBasis({ proposal: { lifestyle = [], labs = [] } }: { readonly proposal: Proposal }) {
  return (
    <>
      {lifestyle.length > 0 && (
        <div class="part">
          <h4>Lifestyle</h4>
          <ul class="bullets">
            {lifestyle.map(({ title, detail }) => (
              <li key={title}>
                <strong>{title}</strong> {detail}
              </li>
            ))}
          </ul>
        </div>
      )}
      {labs.length > 0 && (
        <div class="part">
          <h4>Lab tests</h4>
          <ul class="chips">
            {labs.map(({ id, name }) => (
              <li key={id} class="chip">
                {name}
              </li>
            ))}
          </ul>
        </div>
      )}
    </>
  );
}
