import { memo } from "preact/compat";
import { type BlockView, blockText, type Ending, type TurnView } from "../view.ts";
import { endingText, inputText, sentence } from "../words.ts";
import { Card } from "./cards/card.tsx";
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
  const { context, attachments = [] } = "text" in turn.input ? turn.input : {};
  const { patient_id, plan_id } = context ?? {};
  return (
    <article class="turn" data-testid="turn" data-outcome={turn.ending?.kind ?? "running"}>
      <div class="said">
        <div class="bubble">{inputText(turn.input)}</div>
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
      <div class="answer">
        <p class="speaker">{sentence(agent)}</p>
        <How turn={turn} />
        {answerBlocks(turn.blocks).map((block) => (
          <Block key={block.block_id} block={block} live={turn.ending === undefined && !block.finished} />
        ))}
        {turn.ending && <EndingLine ending={turn.ending} {...(onRetry && { onRetry: () => onRetry(turn) })} />}
      </div>
    </article>
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
