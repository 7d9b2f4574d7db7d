import { proposalEdits } from "../../../machines/protocol/interactions.ts";
import { Icon } from "../icons.tsx";
import type { AskedData } from "./asked.tsx";
import { DecidedProposal } from "./decided-proposal.tsx";
import { nameAndBirth } from "./matching.ts";
import type { Outcome } from "./outcome.ts";

type Props = { readonly data: AskedData; readonly outcome: Outcome };

/** A question or proposal to read: nothing in it can be used. */
export function Decided({ data, outcome }: Props) {
  const { resolution, words } = outcome;
  const edits = resolution?.kind === "accepted" ? proposalEdits.safeParse(resolution.edits ?? {}).data : undefined;
  return (
    <div class="asked decided">
      {data.proposal === undefined ? (
        <DecidedQuestion data={data} selected={resolution?.kind === "answered" ? resolution.selected : undefined} />
      ) : (
        <DecidedProposal prompt={data.prompt} proposal={data.proposal} edits={edits} />
      )}
      {words !== undefined && (
        <p class="ended-words" data-testid="card-ended">
          {words}
        </p>
      )}
    </div>
  );
}

type QuestionProps = { readonly data: AskedData; readonly selected: readonly string[] | undefined };

/** The answers with the chosen ones marked; of a list of patients only the chosen one. */
function DecidedQuestion({ data: { kind, prompt, options = [] }, selected }: QuestionProps) {
  const isChosen = (id: string) => selected?.includes(id) ?? false;
  const unlisted = (selected ?? []).filter((id) => !options.some((one) => one.id === id));
  const shown = kind === "patient_picker" ? options.filter(({ id }) => isChosen(id)) : options;
  return (
    <>
      <p class="prompt">{prompt}</p>
      <ul class="decided-options">
        {[...shown, ...unlisted.map((id) => ({ id, label: id }))].map((option) => {
          const { name, rest } = nameAndBirth(option);
          return (
            <li
              key={option.id}
              class={isChosen(option.id) ? "chosen" : ""}
              data-testid={isChosen(option.id) ? "chosen" : "not-chosen"}
            >
              {isChosen(option.id) ? <Icon name="check" /> : <span class="bullet" aria-hidden="true" />}
              <span>
                {name}
                {rest !== "" && <span class="muted"> · {rest}</span>}
                {isChosen(option.id) && <span class="unseen"> (chosen)</span>}
              </span>
            </li>
          );
        })}
      </ul>
    </>
  );
}
