import { memo } from "preact/compat";
import type { TurnInput } from "../../machines/protocol/turns.ts";
import { readCard } from "../card.ts";
import { type BlockView, blockText, type Ending, type TurnView } from "../view.ts";
import { endingText, inputText, sentence } from "../words.ts";
import { Card } from "./cards/card.tsx";
import { useDesk } from "./desk.ts";
import { How } from "./how.tsx";
import { Icon } from "./icons.tsx";
import { type Known, nameOf } from "./known.ts";
import { Markdown } from "./rich-text.tsx";
import { answerBlocks } from "./steps.ts";

type Props = {
  readonly turn: TurnView;
  readonly agent: string;
  readonly patients: readonly Known[];
  readonly plans: readonly Known[];
  readonly onRetry?: (turn: TurnView) => void;
};

/** One message and its answer. Turns that did not change are not drawn again while another one streams. */
export const Turn = memo(TurnBody, (before, after) => before.turn === after.turn && !before.onRetry === !after.onRetry);

function TurnBody({ turn, agent, patients, plans, onRetry }: Props) {
  const canRetry = onRetry !== undefined && "text" in turn.input;
  return (
    <article class="turn" data-testid="turn" data-outcome={turn.ending?.kind ?? "running"}>
      {"text" in turn.input ? (
        <Said input={turn.input} patients={patients} plans={plans} />
      ) : (
        <Answered input={turn.input} />
      )}
      <div class="answer">
        <p class="speaker">{sentence(agent)}</p>
        <How turn={turn} />
        {answerBlocks(turn.blocks).map((block) => (
          <Block key={block.block_id} block={block} live={turn.ending === undefined && !block.finished} />
        ))}
        {turn.ending && !isAsking(turn) && (
          <EndingLine ending={turn.ending} {...(canRetry && { onRetry: () => onRetry(turn) })} />
        )}
      </div>
    </article>
  );
}

/** The card of a question says itself that it waits, or how it ended. */
const isAsking = ({ ending, blocks }: TurnView): boolean =>
  ending?.kind === "awaiting" && blocks.some(({ type }) => type === "interaction_request");

type Message = Extract<TurnInput, { text: string }>;
type Resolved = Exclude<TurnInput, Message>;
type SaidProps = { readonly input: Message } & Pick<Props, "patients" | "plans">;

function Said({ input, patients, plans }: SaidProps) {
  const { context: { patient_id, plan_id } = {}, attachments = [] } = input;
  return (
    <div class="said">
      <div class="bubble">{inputText(input)}</div>
      {((patient_id ?? plan_id) !== undefined || attachments.length > 0) && (
        <p class="chips">
          {attachments.length > 0 && (
            <span class="chip" data-testid="files">
              {attachments.length === 1 ? "1 file" : `${attachments.length} files`}
            </span>
          )}
          {patient_id && <Chip kind="Patient" id={patient_id} known={patients} />}
          {plan_id && <Chip kind="Plan" id={plan_id} known={plans} />}
        </p>
      )}
    </div>
  );
}

/** What the user decided about a question, which is named above it. */
function Answered({ input }: { readonly input: Resolved }) {
  const { view } = useDesk();
  const card = view.turns
    .flatMap(({ blocks }) => blocks)
    .findLast(({ content }) => content["interaction_id"] === input.interaction_id);
  const asked = card && readCard(card);
  return (
    <div class="said">
      {asked?.kind === "interaction_request" && <p class="answers">{asked.data.prompt}</p>}
      <div class="bubble decision" data-testid="decision">
        <Icon name={input.resolution.kind === "dismissed" ? "cross" : "check"} />
        <span>{inputText(input)}</span>
      </div>
    </div>
  );
}

type ChipProps = { readonly kind: string; readonly id: string; readonly known: readonly Known[] };

function Chip({ kind, id, known }: ChipProps) {
  return (
    <span class="chip" title={id}>
      {kind} {nameOf(id, known)}
    </span>
  );
}

function Block({ block, live }: { readonly block: BlockView; readonly live: boolean }) {
  if (block.type !== "text") return <Card block={block} />;
  return (
    <div class={live ? "text live" : "text"} data-testid="block-text">
      <Markdown text={blockText(block)} />
    </div>
  );
}

function EndingLine({ ending, onRetry }: { readonly ending: Ending; readonly onRetry?: () => void }) {
  const words = endingText(ending);
  if (words === undefined) return null;
  if (ending.kind !== "failed") return <p class="note">{words}</p>;
  return (
    <div class="failure" data-testid="turn-failed" role="alert">
      <Icon name="alert" />
      <span>{words}</span>
      {onRetry && ending.retryable !== false && (
        <button type="button" data-testid="retry" onClick={onRetry}>
          <Icon name="retry" /> Try again
        </button>
      )}
    </div>
  );
}
