import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Status } from "../connection.ts";
import { endingWords } from "../connection.ts";
import { sentence } from "../words.ts";
import { Icon } from "./icons.tsx";

type Props = {
  readonly title: string;
  readonly status?: Status;
  readonly onRetryNow?: () => void;
  readonly menu: boolean;
  readonly onMenu: () => void;
  readonly children?: ComponentChildren;
};

/** The line above a conversation: what it is about, and whether we are connected. */
export function Header({ title, status, onRetryNow, menu, onMenu, children }: Props) {
  return (
    <header class="header">
      <button type="button" class="quiet menu-button" aria-label="Conversations" aria-expanded={menu} onClick={onMenu}>
        <Icon name="menu" />
      </button>
      <h1>{title}</h1>
      {children}
      {status && <ConnectionState status={status} />}
      {status?.kind === "waiting" && onRetryNow && (
        <Wait key={status.attempt} delayMs={status.delay_ms} onRetryNow={onRetryNow} />
      )}
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

type WaitProps = { readonly delayMs: number; readonly onRetryNow: () => void };

/** How long until the next attempt; not announced, because it changes every second. */
function Wait({ delayMs, onRetryNow }: WaitProps) {
  const [until] = useState(() => Date.now() + delayMs);
  const [left, setLeft] = useState(delayMs);
  useEffect(() => {
    const timer = setInterval(() => setLeft(until - Date.now()), 250);
    return () => clearInterval(timer);
  }, [until]);
  return (
    <span class="wait">
      <span aria-hidden="true" data-testid="retry-in">
        in {Math.max(1, Math.ceil(left / 1000))} s
      </span>
      <button type="button" class="link" data-testid="retry-now" onClick={onRetryNow}>
        Retry now
      </button>
    </span>
  );
}

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
