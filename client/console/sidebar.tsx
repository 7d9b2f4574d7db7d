import { useEffect, useRef, useState } from "preact/hooks";
import type { SessionSummary } from "../http.ts";
import { shortTime } from "./format.ts";
import { Icon } from "./icons.tsx";
import { Who } from "./who.tsx";

type Props = {
  readonly sessions: readonly SessionSummary[];
  readonly current: string | undefined;
  readonly onOpen: (session: string | undefined) => void;
  readonly onErase: (session: string) => Promise<void>;
};

/** The user's conversations, newest first. */
export function Sidebar({ sessions, current, onOpen, onErase }: Props) {
  const [doomed, setDoomed] = useState<SessionSummary>();
  return (
    <nav class="sidebar" aria-label="Conversations">
      <div class="sidebar-head">
        <img src={new URL("./icon.svg", import.meta.url).href} alt="" width="26" height="26" />
        <span class="brand">Assist</span>
      </div>
      <button type="button" class="new-session" data-testid="new-session" onClick={() => onOpen(undefined)}>
        <Icon name="plus" /> New conversation
      </button>
      <ul class="session-list" data-testid="session-list">
        {sessions.map((one) => (
          <li key={one.session_id} class={one.session_id === current ? "session current" : "session"}>
            <button
              type="button"
              class="session-open"
              data-testid="session-item"
              aria-current={one.session_id === current ? "page" : undefined}
              onClick={() => onOpen(one.session_id)}
            >
              <span class="session-title">{one.title ?? "New conversation"}</span>
              <span class="session-meta">
                <StatusDot status={one.status} />
                <time dateTime={one.updated_at}>{shortTime(one.updated_at, new Date())}</time>
              </span>
            </button>
            <button
              type="button"
              class="quiet session-erase"
              aria-label={`Delete “${one.title ?? "New conversation"}”`}
              onClick={() => setDoomed(one)}
            >
              <Icon name="trash" />
            </button>
          </li>
        ))}
        {sessions.length === 0 && <li class="muted empty-list">No conversations yet.</li>}
      </ul>
      <Who />
      {doomed && (
        <Confirm
          title={doomed.title ?? "New conversation"}
          onNo={() => setDoomed(undefined)}
          onYes={async () => {
            await onErase(doomed.session_id);
            setDoomed(undefined);
          }}
        />
      )}
    </nav>
  );
}

function StatusDot({ status }: { readonly status: SessionSummary["status"] }) {
  if (status === "turning") return <span class="status busy">answering</span>;
  if (status === "awaiting") return <span class="status asks">needs you</span>;
  return null;
}

type ConfirmProps = { readonly title: string; readonly onYes: () => Promise<void>; readonly onNo: () => void };

function Confirm({ title, onYes, onNo }: ConfirmProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [problem, setProblem] = useState<string>();
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="confirm" aria-labelledby="confirm-title" onClose={onNo}>
      <h2 id="confirm-title">Delete this conversation?</h2>
      <p class="confirm-what">{title}</p>
      <p class="muted">It is erased for good, with everything that was said in it.</p>
      {problem && <p class="problem">{problem}</p>}
      <div class="confirm-buttons">
        <button type="button" onClick={onNo}>
          Keep
        </button>
        <button
          type="button"
          class="danger"
          data-testid="confirm-delete"
          onClick={() => onYes().catch((error: Error) => setProblem(error.message))}
        >
          Delete
        </button>
      </div>
    </dialog>
  );
}
