import type { MessageCommand } from "../../machines/protocol/commands.ts";
import type { QueuedTurn } from "../../machines/protocol/turns.ts";
import { inputText } from "../words.ts";
import { Icon } from "./icons.tsx";
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

type QueueProps = { readonly waiting: readonly QueuedTurn[]; readonly onTakeBack: (turnId: string) => void };

/** Accepted messages whose turn has not come. */
export function Queue({ waiting, onTakeBack }: QueueProps) {
  if (waiting.length === 0) return null;
  return (
    <div class="queue" data-testid="queue">
      <p>Next</p>
      <ol>
        {waiting.map(({ turn_id, text }) => (
          <li key={turn_id}>
            <span>{text}</span>
            <button type="button" class="quiet" aria-label={`Take back “${text}”`} onClick={() => onTakeBack(turn_id)}>
              <Icon name="cross" />
            </button>
          </li>
        ))}
      </ol>
    </div>
  );
}
