import { useId } from "preact/hooks";
import type { ProposalItem } from "../../../machines/protocol/interactions.ts";
import { Icon } from "../icons.tsx";
import type { DraftItem } from "./edits.ts";
import { ProductHead } from "./proposal-parts.tsx";

type Props = {
  readonly item: ProposalItem;
  readonly draft: DraftItem | undefined;
  readonly problem: string | undefined;
  readonly isOff: boolean;
  /** The only item that is left: a plan of none can't be accepted. */
  readonly isLast: boolean;
  readonly onChange: (change: Partial<DraftItem>) => void;
};

/** A proposed product whose dosing can be changed, and which can be left out. */
export function ProposalItemField({ item, draft, problem, isOff, isLast, onChange }: Props) {
  const { name, rationale } = item;
  const wrong = useId();
  const dosing = draft?.dosing ?? item.dosing;
  if (draft?.removed)
    return (
      <li class="item removed" data-testid="proposal-item">
        <div class="item-head">
          <p class="item-name">{name}</p>
          <button
            type="button"
            class="link"
            data-testid="put-back"
            aria-label={`Put ${name} back`}
            disabled={isOff}
            onClick={() => onChange({ removed: false })}
          >
            Put back
          </button>
        </div>
      </li>
    );
  return (
    <li class="item" data-testid="proposal-item">
      <ProductHead item={item} aside={undefined} />
      {rationale !== "" && <p class="why">{rationale}</p>}
      <div class="dosing">
        <label class="field">
          <span>
            Dosing<span class="unseen"> of {name}</span>
          </span>
          <textarea
            class="edit"
            data-testid="dosing"
            rows={1}
            maxLength={500}
            value={dosing}
            disabled={isOff}
            aria-invalid={problem !== undefined}
            aria-describedby={problem === undefined ? undefined : wrong}
            onInput={(event) => onChange({ dosing: event.currentTarget.value })}
            onKeyDown={(event) => {
              // A dose is one line.
              if (event.key === "Enter" && !event.isComposing) event.preventDefault();
            }}
          />
        </label>
        <button
          type="button"
          class="quiet"
          data-testid="remove-item"
          aria-label={`Leave ${name} out`}
          title={isLast ? "A plan needs an item. Dismiss the proposal instead." : `Leave ${name} out`}
          disabled={isOff || isLast}
          onClick={() => onChange({ removed: true })}
        >
          <Icon name="trash" />
        </button>
      </div>
      {problem !== undefined && (
        <p id={wrong} class="field-problem">
          {problem}
        </p>
      )}
      {dosing.trim() !== item.dosing.trim() && problem === undefined && (
        <p class="muted proposed">Proposed: {item.dosing}</p>
      )}
    </li>
  );
}
