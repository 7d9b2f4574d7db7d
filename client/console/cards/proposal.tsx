import { useId, useState } from "preact/hooks";
import type { Proposal } from "../../../machines/protocol/interactions.ts";
import { focusMessage } from "../focus.ts";
import { Icon } from "../icons.tsx";
import { AnswerRow } from "./answer-row.tsx";
import type { FormProps } from "./asked.tsx";
import { changeItem, type Draft, draftOf, editsOf, isFine, type Problems, problemsOf } from "./edits.ts";
import { ProposalItemField } from "./proposal-item.tsx";
import { ProposalBasis, ProposalFor } from "./proposal-parts.tsx";

/** A plan to accept as it is or as it was changed here, or to dismiss. */
export function ProposalForm({ data, ...form }: FormProps) {
  const { prompt, proposal } = data;
  return (
    <div class="asked proposal">
      <p class="prompt">{prompt}</p>
      {proposal === undefined ? <AnswerRow {...form}>{null}</AnswerRow> : <Editor proposal={proposal} form={form} />}
    </div>
  );
}

type EditorProps = { readonly proposal: Proposal; readonly form: Omit<FormProps, "data"> };

function Editor({ proposal, form }: EditorProps) {
  const { isOff, onGive } = form;
  const [draft, setDraft] = useState(() => draftOf(proposal));
  const edits = editsOf(proposal, draft);
  const problems = problemsOf(draft);
  const isFit = isFine(problems);
  const kept = draft.items.filter(({ removed }) => !removed).length;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (isOff || !isFit) return;
        onGive({ kind: "accepted", ...(edits && { edits }) });
        focusMessage();
      }}
    >
      <ProposalFor proposal={proposal} />
      <TitleField draft={draft} problems={problems} isOff={isOff} onDraft={setDraft} />
      <ul class="items" aria-label="Proposed products">
        {proposal.items.map((item) => (
          <ProposalItemField
            key={item.variant_id}
            item={item}
            draft={draft.items.find(({ variant_id }) => variant_id === item.variant_id)}
            problem={problems.items[item.variant_id]}
            isOff={isOff}
            isLast={kept === 1}
            onChange={(change) => setDraft((now) => changeItem(now, item.variant_id, change))}
          />
        ))}
      </ul>
      <ProposalBasis proposal={proposal} />
      <NotesField draft={draft} isOff={isOff} onDraft={setDraft} />
      <AnswerRow {...form} asksReason>
        <button type="submit" class="primary" data-testid="accept" disabled={isOff || !isFit}>
          <Icon name="check" /> {edits === undefined ? "Accept" : "Accept with changes"}
        </button>
        {edits !== undefined && !isOff && (
          <button
            type="button"
            class="plain"
            data-testid="undo-changes"
            aria-label="Undo changes"
            onClick={() => setDraft(draftOf(proposal))}
          >
            Undo
          </button>
        )}
      </AnswerRow>
    </form>
  );
}

type FieldProps = { readonly draft: Draft; readonly isOff: boolean; readonly onDraft: (draft: Draft) => void };

function TitleField({ draft, problems, isOff, onDraft }: FieldProps & { readonly problems: Problems }) {
  const wrong = useId();
  return (
    <div class="part">
      <label class="field">
        <span>Title</span>
        <input
          class="edit"
          data-testid="plan-title"
          value={draft.title}
          maxLength={200}
          disabled={isOff}
          aria-invalid={problems.title !== undefined}
          aria-describedby={problems.title === undefined ? undefined : wrong}
          onInput={(event) => onDraft({ ...draft, title: event.currentTarget.value })}
        />
      </label>
      {problems.title !== undefined && (
        <p id={wrong} class="field-problem">
          {problems.title}
        </p>
      )}
    </div>
  );
}

function NotesField({ draft, isOff, onDraft }: FieldProps) {
  return (
    <div class="part">
      <label class="field">
        <span>Notes</span>
        <textarea
          class="edit"
          data-testid="plan-notes"
          rows={2}
          maxLength={4000}
          placeholder="None"
          value={draft.notes}
          disabled={isOff}
          onInput={(event) => onDraft({ ...draft, notes: event.currentTarget.value })}
        />
      </label>
    </div>
  );
}
