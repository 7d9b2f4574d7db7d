import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { focusMessage } from "../focus.ts";
import { Icon } from "../icons.tsx";
import type { FormProps } from "./asked.tsx";

type Props = Pick<FormProps, "isOff" | "isSending" | "onGive" | "problem"> & {
  /** A dismissal is asked for its reason first. */
  readonly asksReason?: boolean;
  /** The button that answers, and others before the dismissal. */
  readonly children: ComponentChildren;
};

/** The foot of a card that can be answered: what is wrong, the button that answers, and the way out. */
export function AnswerRow({ isOff, isSending, onGive, problem, asksReason = false, children }: Props) {
  const [dismissing, setDismissing] = useState(false);
  const dismiss = (reason: string) => {
    onGive({ kind: "dismissed", ...(reason.trim() !== "" && { reason: reason.trim() }) });
    focusMessage();
  };
  return (
    <footer class="answer-row">
      {problem !== undefined && (
        <p class="answer-problem" role="alert" data-testid="answer-problem">
          <Icon name="alert" /> <span>{problem}</span>
        </p>
      )}
      {dismissing ? (
        <Reason isOff={isOff} onDismiss={dismiss} onKeep={() => setDismissing(false)} />
      ) : (
        <div class="buttons">
          {children}
          <button
            type="button"
            class="plain"
            data-testid="dismiss"
            disabled={isOff}
            onClick={() => (asksReason ? setDismissing(true) : dismiss(""))}
          >
            Dismiss
          </button>
          {isSending && (
            <span class="muted" role="status">
              <span class="spinner" aria-hidden="true" /> Sending…
            </span>
          )}
        </div>
      )}
    </footer>
  );
}

type ReasonProps = {
  readonly isOff: boolean;
  readonly onDismiss: (reason: string) => void;
  readonly onKeep: () => void;
};

function Reason({ isOff, onDismiss, onKeep }: ReasonProps) {
  const [reason, setReason] = useState("");
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  return (
    <div class="reason">
      <label>
        <span>Why? (optional)</span>
        <input
          ref={field}
          data-testid="dismiss-reason"
          value={reason}
          maxLength={500}
          placeholder="What should be different"
          disabled={isOff}
          onInput={(event) => setReason(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter" && !event.isComposing) onDismiss(reason);
            else if (event.key === "Escape") onKeep();
            else return;
            event.preventDefault();
          }}
        />
      </label>
      <div class="buttons">
        <button
          type="button"
          class="danger"
          data-testid="confirm-dismiss"
          disabled={isOff}
          onClick={() => onDismiss(reason)}
        >
          Dismiss
        </button>
        <button type="button" class="plain" disabled={isOff} onClick={onKeep}>
          Keep it
        </button>
      </div>
    </div>
  );
}
