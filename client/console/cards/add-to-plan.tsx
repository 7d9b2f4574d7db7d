import { useState } from "preact/hooks";
import type { CardData } from "../../../machines/protocol/cards.ts";
import { addToPlan, message } from "../../commands.ts";
import { actionProblem, inputText, sentence } from "../../words.ts";
import { useDesk } from "../desk.ts";
import { Icon } from "../icons.tsx";
import { idOf, nameOf } from "../known.ts";
import { itemState, planTitle, targetOf } from "./in-plan.ts";

type Props = {
  readonly blockId: string;
  readonly item: CardData<"recommend_supplements">["supplements"][number];
  /** Whom the card is for, where it says so. */
  readonly patientId: string | undefined;
  /** The card is still being written. */
  readonly isOff: boolean;
};

type Pressed =
  | { readonly kind: "none" | "adding" | "nobody" }
  | { readonly kind: "added"; readonly title: string; readonly note: string | undefined }
  | { readonly kind: "failed"; readonly problem: string };

/** Puts one item of a card into the patient's draft plan, and says where it is. */
export function AddToPlan({ blockId, item, patientId, isOff }: Props) {
  const { view, picked, plans, send } = useDesk();
  const [pressed, setPressed] = useState<Pressed>({ kind: "none" });
  const stored = itemState(view.actions, blockId, item.variant_id);
  const { product_id, variant_id, dosing, name } = item;

  const add = () => {
    const target = targetOf(view, blockId, patientId, idOf(picked.plan, plans));
    if (target.kind === "nobody") return setPressed({ kind: "nobody" });
    setPressed({ kind: "adding" });
    const plan = target.kind === "plan" ? target.plan_id : undefined;
    send(addToPlan(blockId, { product_id, variant_id, dosing }, plan)).then(
      (receipt) => {
        const problem = actionProblem(receipt);
        setPressed(
          problem === undefined
            ? { kind: "added", title: planTitle(receipt.plan), note: receipt.message }
            : { kind: "failed", problem },
        );
      },
      (error: Error) => setPressed({ kind: "failed", problem: `${sentence(error.message)}.` }),
    );
  };

  if (stored.kind === "there") return <InPlan title={stored.title} note={stored.note} />;
  if (pressed.kind === "added") return <InPlan title={pressed.title} note={pressed.note} />;
  if (pressed.kind === "adding")
    return (
      <div class="add-row" role="status">
        <button type="button" class="add" data-testid="add-to-plan" disabled>
          <span class="spinner" aria-hidden="true" /> Adding…
        </button>
      </div>
    );
  const problem = pressed.kind === "failed" ? pressed.problem : stored.kind === "failed" ? stored.problem : undefined;
  return (
    <div class="add-row">
      <button
        type="button"
        class="add"
        data-testid="add-to-plan"
        aria-label={problem === undefined ? `Add ${name} to the plan` : `Try again to add ${name} to the plan`}
        disabled={isOff}
        onClick={add}
      >
        <Icon name={problem === undefined ? "plus" : "retry"} /> {problem === undefined ? "Add to plan" : "Try again"}
      </button>
      {pressed.kind === "nobody" && <Nobody blockId={blockId} />}
      {problem !== undefined && (
        <span ref={intoView} class="problem" role="alert" data-testid="add-problem">
          {problem}
        </span>
      )}
    </div>
  );
}

/** What is told at the foot of a card may be below what is shown. */
const intoView = (words: HTMLElement | null): void => words?.scrollIntoView({ block: "nearest" });

function InPlan({ title, note }: { readonly title: string; readonly note: string | undefined }) {
  return (
    <div class="add-row">
      <span class="in-plan" role="status" data-testid="in-plan">
        <Icon name="check" />
        <span>
          In plan <strong>{title}</strong>
          {note !== undefined && `. ${note}`}
        </span>
      </span>
    </div>
  );
}

/** An item that was recommended for nobody has no plan to go into: a patient first, then the question once more. */
function Nobody({ blockId }: { readonly blockId: string }) {
  const { view, patients, picked, say } = useDesk();
  const patient = idOf(picked.patient, patients);
  const turn = view.turns.find(({ blocks }) => blocks.some(({ block_id }) => block_id === blockId));
  const again = () => {
    if (turn !== undefined && patient !== undefined)
      say(message(inputText(turn.input), { context: { patient_id: patient } }));
  };
  const choose = () => document.querySelector<HTMLElement>("[data-testid=patient-input]")?.focus();
  return (
    <span ref={intoView} class="nobody-hint" role="alert" data-testid="add-problem">
      {patient === undefined ? (
        <>
          Choose a patient first: this was recommended for nobody in particular.{" "}
          <button type="button" class="link" onClick={choose}>
            Choose
          </button>
        </>
      ) : (
        <>
          This was recommended before a patient was chosen.{" "}
          <button type="button" class="link" onClick={again}>
            Ask again for {nameOf(patient, patients)}
          </button>
        </>
      )}
    </span>
  );
}
