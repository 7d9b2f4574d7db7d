import type { Status } from "../connection.ts";
import { endingWords } from "../connection.ts";
import { Icon } from "./icons.tsx";

type Props = {
  readonly title: string;
  readonly status?: Status;
  readonly menu: boolean;
  readonly onMenu: () => void;
};

/** The line above a conversation: what it is about, and whether we are connected. */
export function Header({ title, status, menu, onMenu }: Props) {
  return (
    <header class="header">
      <button type="button" class="quiet menu-button" aria-label="Conversations" aria-expanded={menu} onClick={onMenu}>
        <Icon name="menu" />
      </button>
      <h1>{title}</h1>
      {status && <ConnectionState status={status} />}
    </header>
  );
}

function ConnectionState({ status }: { readonly status: Status }) {
  const [tone, words] = describe(status);
  return (
    <span class={`connection ${tone}`} data-testid="connection-state" role="status" title={words}>
      <span class="connection-words">{words}</span>
    </span>
  );
}

function describe(status: Status): ["good" | "wait" | "bad", string] {
  if (status.kind === "open") return ["good", "Connected"];
  if (status.kind === "ended") return ["bad", sentence(endingWords(status.reason))];
  if (status.kind === "connecting" && status.attempt === 0) return ["wait", "Connecting…"];
  return ["wait", "Reconnecting…"];
}

const sentence = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** What anyone must know before they believe an answer. */
export function SimulatedBanner() {
  return (
    <p class="banner" data-testid="banner-simulated">
      <Icon name="alert" />
      <span>
        <strong>Simulated model.</strong> Answers are put together by rules from fictional data. Not for care.
      </span>
    </p>
  );
}
