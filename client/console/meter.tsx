import { useId, useState } from "preact/hooks";
import type { View } from "../view.ts";

type Budget = NonNullable<View["budget"]>;

const AROUND = 2 * Math.PI * 8;
const count = (n: number): string => n.toLocaleString("en-US");

const PARTS: readonly (readonly [keyof Budget["parts"], string])[] = [
  ["system", "Instructions"],
  ["skills", "Skills"],
  ["tools", "Tools"],
  ["summary", "Summary of earlier"],
  ["tail", "Conversation"],
];

type Props = { readonly budget: Budget; readonly compacting: boolean };

/** How full the model's context is; what fills it, while the pointer or the focus is on it. */
export function ContextMeter({ budget, compacting }: Props) {
  const [open, setOpen] = useState(false);
  const parts = useId();
  const { used, window, threshold } = budget;
  const share = Math.min(1, used / Math.max(1, window));
  const percent = Math.round(share * 100);
  const tone = used >= threshold ? "warn" : "";
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the button inside has the focus, this only widens where the pointer may be
    <div class="meter" onMouseEnter={() => setOpen(true)} onMouseLeave={() => setOpen(false)}>
      <button
        type="button"
        class="meter-button"
        data-testid="context-meter"
        aria-label={compacting ? "Context is being condensed" : `Context ${percent} % full`}
        aria-describedby={open ? parts : undefined}
        onFocus={() => setOpen(true)}
        onBlur={() => setOpen(false)}
        onKeyDown={(event) => {
          if (event.key !== "Escape" || !open) return;
          event.preventDefault();
          setOpen(false);
        }}
      >
        <svg class={`ring ${tone}`} viewBox="0 0 20 20" aria-hidden="true" focusable="false">
          <circle cx="10" cy="10" r="8" />
          <circle class="filled" cx="10" cy="10" r="8" stroke-dasharray={`${share * AROUND} ${AROUND}`} />
        </svg>
        <span>{compacting ? "Condensing…" : `${percent} %`}</span>
      </button>
      {open && (
        <div id={parts} class="meter-parts" role="tooltip" data-testid="context-parts">
          <p>
            <strong>{count(used)}</strong> of {count(window)} tokens of context
          </p>
          <dl>
            {PARTS.map(([part, name]) => (
              <div key={part}>
                <dt>{name}</dt>
                <dd>{count(budget.parts[part])}</dd>
              </div>
            ))}
          </dl>
          <p class="muted">
            {compacting
              ? "Earlier parts are being condensed now."
              : `Earlier parts are condensed from ${count(threshold)} on.`}
          </p>
        </div>
      )}
    </div>
  );
}
