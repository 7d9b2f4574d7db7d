import { useEffect, useRef, useState } from "preact/hooks";
import type { MessageCommand } from "../../machines/protocol/commands.ts";
import { message } from "../commands.ts";
import { usualLimits } from "../ledger.ts";
import { AttachButton, AttachmentList, useAttachments } from "./attachments.tsx";
import { Icon } from "./icons.tsx";
import { idOf, type Known, nameOf } from "./known.ts";

export type Picked = { readonly patient: string; readonly plan: string };

type Props = {
  readonly picked: Picked;
  readonly onPick: (picked: Picked) => void;
  readonly patients: readonly Known[];
  readonly plans: readonly Known[];
  readonly limit?: number;
  /** Bytes that a file may have. */
  readonly fileLimit?: number;
  /** Where files are uploaded to. */
  readonly session: () => Promise<string>;
  readonly running: boolean;
  /** The running answer was asked to stop. */
  readonly stopping?: boolean;
  /** A question waits for its answer: a message would withdraw it. */
  readonly asked?: boolean;
  readonly disabled?: boolean;
  readonly onSend: (command: MessageCommand) => void;
  readonly onStop: () => void;
};

/** The context that goes with a message, as the wire wants it. */
export function contextOf(picked: Picked, patients: readonly Known[], plans: readonly Known[]) {
  const patient_id = idOf(picked.patient, patients);
  const plan_id = idOf(picked.plan, plans);
  if (patient_id === undefined && plan_id === undefined) return {};
  return { context: { ...(patient_id !== undefined && { patient_id }), ...(plan_id !== undefined && { plan_id }) } };
}

const hint = (
  <>
    <span class="keys">Enter sends, Shift + Enter starts a new line. </span>Check every answer before you act on it.
  </>
);

const withdraws = "Answer the question above. A message instead of an answer withdraws it.";

const bytes = (text: string): number => new TextEncoder().encode(text).length;

/** Where a message is written: Enter sends, Shift+Enter makes a new line. */
export function Composer(props: Props) {
  const { picked, onPick, patients, plans, limit = usualLimits.text_bytes, running, disabled = false } = props;
  const { stopping = false, asked = false } = props;
  const { fileLimit = usualLimits.upload_bytes } = props;
  const [text, setText] = useState("");
  const [dropping, setDropping] = useState(false);
  const files = useAttachments(props.session, fileLimit);
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => field.current?.focus(), []);

  const used = bytes(text);
  const says = text.trim() !== "" || files.all.length > 0;
  const sendable = says && files.ids !== undefined && used <= limit && !disabled;
  const send = () => {
    if (!sendable) return;
    const attachments = files.ids !== undefined && files.ids.length > 0 ? { attachments: [...files.ids] } : {};
    props.onSend(message(text, { ...contextOf(picked, patients, plans), ...attachments }));
    setText("");
    files.clear();
    field.current?.focus();
  };

  return (
    <form
      class={dropping ? "composer dropping" : "composer"}
      onDragOver={(event) => {
        if (!event.dataTransfer?.types.includes("Files")) return;
        event.preventDefault();
        setDropping(true);
      }}
      onDragLeave={() => setDropping(false)}
      onDrop={(event) => {
        event.preventDefault();
        setDropping(false);
        files.add(event.dataTransfer?.files ?? []);
      }}
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <div class="picks">
        <Pick
          label="Patient"
          testId="patient-input"
          value={picked.patient}
          known={patients}
          onChange={(patient) => onPick({ ...picked, patient })}
        />
        <Pick
          label="Plan"
          testId="plan-input"
          value={picked.plan}
          known={plans}
          onChange={(plan) => onPick({ ...picked, plan })}
        />
      </div>
      <AttachmentList attachments={files} />
      <div class="write">
        <AttachButton disabled={disabled} limit={fileLimit} onFiles={files.add} />
        <textarea
          ref={field}
          data-testid="message-input"
          aria-label="Message"
          placeholder={
            asked ? "Answer above, or write something else…" : "Ask about a patient, a product, an interaction…"
          }
          rows={Math.min(8, text.split("\n").length)}
          value={text}
          disabled={disabled}
          onInput={(event) => setText(event.currentTarget.value)}
          onPaste={(event) => {
            const pasted = event.clipboardData?.files ?? [];
            if (pasted.length === 0) return;
            event.preventDefault();
            files.add(pasted);
          }}
          onKeyDown={(event) => {
            if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
            event.preventDefault();
            send();
          }}
        />
        {running && (
          <button
            type="button"
            class="round stop"
            data-testid="stop"
            aria-label={stopping ? "Stopping…" : "Stop the answer"}
            title="Stop (Esc)"
            disabled={stopping}
            onClick={props.onStop}
          >
            <Icon name="stop" />
          </button>
        )}
        <button type="submit" class="round send" data-testid="send" aria-label="Send" disabled={!sendable}>
          <Icon name="send" />
        </button>
      </div>
      <p class={used > limit ? "hint problem" : "hint"} aria-live={used > limit ? "polite" : "off"}>
        {used > limit * 0.8
          ? `${used.toLocaleString("en-US")} of ${limit.toLocaleString("en-US")} bytes${used > limit ? ": too long to send" : ""}`
          : asked
            ? withdraws
            : hint}
      </p>
    </form>
  );
}

type PickProps = {
  readonly label: string;
  readonly testId: string;
  readonly value: string;
  readonly known: readonly Known[];
  readonly onChange: (value: string) => void;
};

function Pick({ label, testId, value, known, onChange }: PickProps) {
  const list = `${testId}-known`;
  return (
    <div class={value === "" ? "pick" : "pick set"}>
      <label for={testId}>{label}</label>
      <input
        id={testId}
        data-testid={testId}
        list={list}
        value={value}
        placeholder={known.length > 0 ? "choose" : "id, if any"}
        autocomplete="off"
        spellcheck={false}
        maxLength={200}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
      <datalist id={list}>
        {known.map(({ id }) => (
          <option key={id} value={nameOf(id, known)}>
            {id}
          </option>
        ))}
      </datalist>
      {value !== "" && (
        <button type="button" class="quiet clear" aria-label={`No ${label.toLowerCase()}`} onClick={() => onChange("")}>
          <Icon name="cross" />
        </button>
      )}
    </div>
  );
}
