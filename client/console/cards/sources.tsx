import type { ComponentChildren } from "preact";
import type { CardData } from "../../../machines/protocol/cards.ts";
import { sentence } from "../../words.ts";
import { safeUrl } from "../markdown.ts";

export function Citations({ data }: { readonly data: CardData<"citations"> }) {
  return (
    <ol class="items numbered">
      {data.sources.map((one) => (
        <li key={one.id} class="item">
          <p class="item-name">
            <Out url={one.url}>{one.title}</Out>
          </p>
          <p class="muted">{[one.journal, one.year].filter((part) => part !== null).join(", ")}</p>
          <p>{one.finding}</p>
        </li>
      ))}
    </ol>
  );
}

export function Articles({ data }: { readonly data: CardData<"knowledge_base_results"> }) {
  return (
    <ul class="items">
      {data.articles.map((one) => (
        <li key={one.id} class="item">
          <div class="item-head">
            <p class="item-name">{one.title}</p>
            <span class="badge">{sentence(one.category)}</span>
          </div>
          <p class="excerpt">{one.excerpt}</p>
        </li>
      ))}
    </ul>
  );
}

type OutProps = { readonly url: string | null; readonly children: ComponentChildren };

/** A link out of the page, if the address is one that may be followed. */
export function Out({ url, children }: OutProps) {
  const href = url === null ? undefined : safeUrl(url);
  if (href === undefined) return <span>{children}</span>;
  return (
    <a href={href} target="_blank" rel="noopener noreferrer">
      {children}
    </a>
  );
}
