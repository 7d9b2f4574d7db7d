import type { CardData } from "../../../machines/protocol/cards.ts";

type Data = CardData<"treatment_plan">;

export const planHeading = ({ change }: Pick<Data, "change">): string =>
  change === "created" ? "Draft plan created" : "Draft plan updated";

/** A draft as the platform holds it. */
export function StoredPlan({ data: { plan_id, title, patient_id, patient_name, items } }: { readonly data: Data }) {
  return (
    <>
      <div class="item stored-head">
        <p class="item-name" title={plan_id}>
          {title ?? plan_id}
        </p>
        <p class="muted">
          <span title={patient_id}>For {patient_name ?? patient_id}</span> ·{" "}
          {items.length === 1 ? "1 item" : `${items.length} items`}
        </p>
      </div>
      <ul class="items">
        {items.map(({ item_id, name, brand, dosing }) => (
          <li key={item_id} class="item" data-testid="plan-item">
            <p class="item-name">
              {name} {brand && <span class="muted">{brand}</span>}
            </p>
            <p data-testid="dosing">{dosing}</p>
          </li>
        ))}
      </ul>
    </>
  );
}
