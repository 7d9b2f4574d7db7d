import type { ComponentChildren, Ref } from "preact";

type Props = {
  readonly kind: string;
  readonly title: string;
  /** Beside the title: how something stands. */
  readonly aside?: ComponentChildren;
  /** How the card stands, for its looks. */
  readonly state?: string;
  readonly box?: Ref<HTMLElement>;
  readonly children: ComponentChildren;
};

/** A card: its title, what stands beside it, and what is in it. */
export function Frame({ kind, title, aside, state, box, children }: Props) {
  return (
    <section
      {...(box !== undefined && { ref: box, tabIndex: -1 })}
      class={`card card-${kind}`}
      data-testid={`card-${kind}`}
      data-state={state}
      aria-label={title}
    >
      <header class="card-head">
        <h3 class="card-title">{title}</h3>
        {aside}
      </header>
      {children}
    </section>
  );
}
