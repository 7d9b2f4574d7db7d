import { useEffect, useRef, useState } from "preact/hooks";
import type { InteractionOption } from "../../../machines/protocol/interactions.ts";
import { focusMessage } from "../focus.ts";
import { Icon } from "../icons.tsx";
import { AnswerRow } from "./answer-row.tsx";
import type { FormProps } from "./asked.tsx";
import { matching, nameAndBirth } from "./matching.ts";

type Props = FormProps & { readonly isOpenEnded: boolean };

/** A list of patients to search by name or date of birth: arrows move, Enter chooses, Enter again confirms. */
export function Picker({ data, isOpenEnded, ...form }: Props) {
  const { interaction_id, prompt, options = [] } = data;
  const { isOff, onGive } = form;
  const [typed, setTyped] = useState("");
  const [at, setAt] = useState(0);
  const [chosen, setChosen] = useState<InteractionOption>();
  const found = listed(options, typed, isOpenEnded);
  const active = found[Math.min(at, found.length - 1)];
  const idOf = (option: InteractionOption) => `${interaction_id}-${option.id}`;

  const list = useRef<HTMLDivElement>(null);
  const isMoved = useRef(false);
  // The list alone is scrolled, and only for the keyboard: the card stays where it is.
  useEffect(() => {
    if (!isMoved.current) return;
    list.current?.querySelector(".active")?.scrollIntoView({ block: "nearest" });
  }, [active]);

  const move = (by: number) => {
    isMoved.current = true;
    setAt(Math.max(0, Math.min(found.length - 1, Math.min(at, found.length - 1) + by)));
  };
  const confirm = () => {
    if (isOff || chosen === undefined) return;
    onGive({ kind: "answered", selected: [chosen.id] });
    focusMessage();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.isComposing) return;
    if (event.key === "ArrowDown") move(1);
    else if (event.key === "ArrowUp") move(-1);
    else if (event.key === "Enter" && active !== undefined && active.id !== chosen?.id) setChosen(active);
    else if (event.key === "Enter") confirm();
    else if (event.key === "Escape" && typed !== "") setTyped("");
    else return;
    event.preventDefault();
  };

  return (
    <form
      class="asked picker"
      onSubmit={(event) => {
        event.preventDefault();
        confirm();
      }}
    >
      <p class="prompt">{prompt}</p>
      <div class="picker-search">
        <Icon name="search" />
        <input
          type="text"
          role="combobox"
          data-testid="picker-search"
          data-first=""
          aria-label="Search patients"
          aria-expanded="true"
          aria-autocomplete="list"
          aria-controls={`${interaction_id}-list`}
          aria-activedescendant={active === undefined ? undefined : idOf(active)}
          placeholder="Name or date of birth"
          autocomplete="off"
          spellcheck={false}
          disabled={isOff}
          value={typed}
          onInput={(event) => {
            setTyped(event.currentTarget.value);
            setAt(0);
          }}
          onKeyDown={onKeyDown}
        />
        <span class="muted" role="status">
          {found.length} of {options.length}
        </span>
      </div>
      <div id={`${interaction_id}-list`} class="picker-list" role="listbox" aria-label="Patients" ref={list}>
        {found.map((option, index) => (
          <Patient
            key={option.id}
            id={idOf(option)}
            option={option}
            isActive={option === active}
            isChosen={option.id === chosen?.id}
            onChoose={() => {
              if (isOff) return;
              isMoved.current = false;
              setAt(index);
              setChosen(option);
            }}
          />
        ))}
        {found.length === 0 && <p class="muted nobody">No patient matches “{typed}”.</p>}
      </div>
      <AnswerRow {...form}>
        <button type="submit" class="primary" data-testid="answer" disabled={isOff || chosen === undefined}>
          {chosen === undefined ? "Choose a patient" : `Choose ${nameAndBirth(chosen).name}`}
        </button>
      </AnswerRow>
    </form>
  );
}

/** What fits the words typed; where the list is not everyone, also the words themselves, as an id. */
function listed(
  options: readonly InteractionOption[],
  typed: string,
  isOpenEnded: boolean,
): readonly InteractionOption[] {
  const found = matching(options, typed);
  const id = typed.trim();
  if (!isOpenEnded || id === "" || found.some((one) => one.id === id)) return found;
  return [...found, { id, label: id, detail: "another patient, by this id" }];
}

type PatientProps = {
  readonly id: string;
  readonly option: InteractionOption;
  readonly isActive: boolean;
  readonly isChosen: boolean;
  readonly onChoose: () => void;
};

function Patient({ id, option, isActive, isChosen, onChoose }: PatientProps) {
  const { name, rest } = nameAndBirth(option);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the field above has the keys of the whole list
    // biome-ignore lint/a11y/useFocusableInteractive: the field keeps the focus and points at the active one
    <div
      id={id}
      role="option"
      aria-selected={isChosen}
      class={isActive ? "active" : ""}
      data-testid="patient"
      // Keeps the focus in the field.
      onMouseDown={(event) => event.preventDefault()}
      onClick={onChoose}
    >
      <span class="patient-name">{name}</span>
      <span class="muted">{rest}</span>
      {isChosen && <Icon name="check" />}
    </div>
  );
}
