import type { Proposal, ProposalEdits } from "../../../machines/protocol/interactions.ts";
import { acceptedItems } from "./edits.ts";
import { ProductHead, ProposalBasis, ProposalFor } from "./proposal-parts.tsx";

type Props = {
  readonly prompt: string;
  readonly proposal: Proposal;
  /** What was changed when it was accepted. */
  readonly edits: ProposalEdits | undefined;
};

/** A proposal that was decided: as it was accepted, with what it was before. */
export function DecidedProposal({ prompt, proposal, edits }: Props) {
  const notes = edits?.notes ?? proposal.notes ?? "";
  return (
    <>
      <p class="prompt">{prompt}</p>
      <ProposalFor proposal={proposal} />
      <p class="plan-title">{edits?.title ?? proposal.title}</p>
      <ul class="items">
        {acceptedItems(proposal, edits).map((item) => (
          <li key={item.variant_id} class={item.removed ? "item removed" : "item"} data-testid="proposal-item">
            <ProductHead item={item} aside={item.removed ? "Removed" : undefined} />
            {!item.removed && (
              <dl>
                <dt>Dosing</dt>
                <dd>
                  <span data-testid="dosing">{item.dosing}</span>
                  {item.before !== undefined && (
                    <>
                      {" "}
                      <del class="muted">
                        <span class="unseen">before: </span>
                        {item.before}
                      </del>
                    </>
                  )}
                </dd>
              </dl>
            )}
          </li>
        ))}
      </ul>
      <ProposalBasis proposal={proposal} />
      {notes !== "" && (
        <div class="part">
          <h4>Notes</h4>
          <p class="pre">{notes}</p>
        </div>
      )}
    </>
  );
}
