import { useState } from "preact/hooks";
import { focusMessage } from "../focus.ts";
import { AnswerRow } from "./answer-row.tsx";
import type { FormProps } from "./asked.tsx";

/** A question with fixed answers: one of them, or several. */
export function Choice({ data, ...form }: FormProps) {
  const { interaction_id, prompt, options = [], kind } = data;
  const { isOff, onGive } = form;
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const [words, setWords] = useState("");
  const many = kind === "multi_choice";
  const pick = (id: string, on: boolean) => {
    if (!many) return setChosen([id]);
    const others = chosen.filter((one) => one !== id);
    setChosen(on ? [...others, id] : others);
  };
  return (
    <form
      class="asked"
      onSubmit={(event) => {
        event.preventDefault();
        if (isOff || chosen.length === 0) return;
        // In the order in which they were offered.
        const selected = options.flatMap(({ id }) => (chosen.includes(id) ? [id] : []));
        onGive({ kind: "answered", selected, ...(words.trim() !== "" && { text: words.trim() }) });
        focusMessage();
      }}
    >
      <fieldset class="choices" disabled={isOff}>
        <legend>{prompt}</legend>
        {many && <p class="muted">Choose one or more.</p>}
        {options.map(({ id, label, detail }, at) => (
          <label key={id} class="choice" data-testid="option">
            <input
              type={many ? "checkbox" : "radio"}
              name={interaction_id}
              value={id}
              checked={chosen.includes(id)}
              data-first={at === 0 ? "" : undefined}
              onChange={(event) => pick(id, event.currentTarget.checked)}
            />
            <span>
              <span class="choice-label">{label}</span>
              {detail !== undefined && <span class="muted choice-detail">{detail}</span>}
            </span>
          </label>
        ))}
      </fieldset>
      <Comment words={words} isOff={isOff} onWords={setWords} />
      <AnswerRow {...form}>
        <button type="submit" class="primary" data-testid="answer" disabled={isOff || chosen.length === 0}>
          {many && chosen.length > 1 ? `Answer with ${chosen.length}` : "Answer"}
        </button>
      </AnswerRow>
    </form>
  );
}

type CommentProps = { readonly words: string; readonly isOff: boolean; readonly onWords: (words: string) => void };

function Comment({ words, isOff, onWords }: CommentProps) {
  return (
    <details class="comment">
      <summary data-testid="add-comment">Add a comment</summary>
      <textarea
        data-testid="comment"
        aria-label="Comment"
        rows={2}
        maxLength={2000}
        placeholder="Anything Assist should know with this answer"
        value={words}
        disabled={isOff}
        onInput={(event) => onWords(event.currentTarget.value)}
      />
    </details>
  );
}
