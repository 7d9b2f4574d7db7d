import type { CardData } from "../../../machines/protocol/cards.ts";
import type { BlockView } from "../../view.ts";
import { AddToPlan } from "./add-to-plan.tsx";
import { ProductHead } from "./proposal-parts.tsx";

type Props = { readonly data: CardData<"recommend_supplements">; readonly block: BlockView };

/** Products with their dosing, the reason for each, and the way into a plan. */
export function Supplements({ data: { supplements, patient_id }, block: { block_id, finished } }: Props) {
  return (
    <ul class="items">
      {supplements.map((one) => (
        <li key={one.variant_id} class="item" data-testid="product">
          <ProductHead item={one} aside={undefined} />
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
          <AddToPlan blockId={block_id} item={one} patientId={patient_id} isOff={!finished} />
        </li>
      ))}
    </ul>
  );
}
