import { useState } from "preact/hooks";
import type { MessageCommand } from "../../machines/protocol/commands.ts";
import type { QueuedTurn } from "../../machines/protocol/turns.ts";
import { inputText } from "../words.ts";
import type { Outgoing as Message } from "./live.ts";

type OutgoingProps = {
  readonly message: Message;
  readonly onRetry: (command: MessageCommand) => void;
  readonly onDiscard: (id: string) => void;
};

/** A message that the server has not accepted yet, or would not. */
export function Outgoing({ message: { command, problem }, onRetry, onDiscard }: OutgoingProps) {
  return (
    <div class="said outgoing">
      <div class="bubble">{inputText(command)}</div>
      {problem === undefined ? (
        <p class="sending">Sending…</p>
      ) : (
        <p class="sending problem" role="alert">
          Not sent: {problem}
          <button type="button" class="link" onClick={() => onRetry(command)}>
            Send again
          </button>
          <button type="button" class="link" onClick={() => onDiscard(command.id)}>
            Discard
          </button>
        </p>
      )}
    </div>
  );
}

type QueueProps = { readonly waiting: readonly QueuedTurn[]; readonly onTakeBack: (turnId: string) => Promise<void> };

/** Accepted messages whose turn has not come. */
export function Queue({ waiting, onTakeBack }: QueueProps) {
  if (waiting.length === 0) return null;
  return (
    <div class="queue" data-testid="queue">
      <p>Waiting</p>
      <ol>
        {waiting.map(({ turn_id, text }) => (
          <Waiting key={turn_id} text={text} onTakeBack={() => onTakeBack(turn_id)} />
        ))}
      </ol>
    </div>
  );
}

type WaitingProps = { readonly text: string; readonly onTakeBack: () => Promise<void> };

function Waiting({ text, onTakeBack }: WaitingProps) {
  const [state, setState] = useState<"waits" | "going" | "failed">("waits");
  const words = text === "" ? "(attachment)" : text;
  const takeBack = () => {
    setState("going");
    onTakeBack().catch(() => setState("failed"));
  };
  return (
    <li data-testid="queued">
      <span class="queued-text">{words}</span>
      {state === "failed" && (
        <span class="problem" role="alert">
          Not taken back
        </span>
      )}
      <button
        type="button"
        class="link"
        data-testid="take-back"
        aria-label={`Take back “${words}”`}
        disabled={state === "going"}
        onClick={takeBack}
      >
        {state === "going" ? "Taking back…" : "Take back"}
      </button>
    </li>
  );
}
