import { memo } from "preact/compat";
import { type Activity, type BlockView, blockText, type Ending, type TurnView } from "../view.ts";
import { activityTitle, duration, endingText, inputText, sentence } from "../words.ts";
import { Card } from "./cards/card.tsx";
import { Icon } from "./icons.tsx";
import { Markdown } from "./rich-text.tsx";

type Props = { readonly turn: TurnView; readonly agent: string; readonly onRetry?: (turn: TurnView) => void };

/** One message and its answer. Turns that did not change are not drawn again while another one streams. */
export const Turn = memo(TurnBody, (before, after) => before.turn === after.turn && !before.onRetry === !after.onRetry);

function TurnBody({ turn, agent, onRetry }: Props) {
  const context = "text" in turn.input ? turn.input.context : undefined;
  const waiting =
    turn.ending === undefined &&
    turn.blocks.every((block) => block.finished) &&
    turn.activity.every((one) => one.outcome);
  return (
    <article class="turn" data-testid="turn" data-outcome={turn.ending?.kind ?? "running"}>
      <div class="said">
        <div class="bubble">{inputText(turn.input)}</div>
        {(context?.patient_id ?? context?.plan_id) !== undefined && (
          <p class="chips">
            {context?.patient_id && <span class="chip">Patient {context.patient_id}</span>}
            {context?.plan_id && <span class="chip">Plan {context.plan_id}</span>}
          </p>
        )}
      </div>
      <div class="answer">
        <p class="speaker">{sentence(agent)}</p>
        <ActivityList activity={turn.activity} skills={turn.skills} />
        <Thoughts
          blocks={turn.blocks.filter(isThinking)}
          live={turn.ending === undefined && isThinking(turn.blocks.at(-1))}
        />
        {turn.blocks.map((block) => (
          <Block key={block.block_id} block={block} live={turn.ending === undefined && !block.finished} />
        ))}
        {waiting && (
          <p class="waiting">
            <span class="dots" aria-hidden="true" /> <span class="unseen">Thinking</span>
          </p>
        )}
        {turn.ending && <EndingLine ending={turn.ending} {...(onRetry && { onRetry: () => onRetry(turn) })} />}
      </div>
    </article>
  );
}

const isThinking = (block: BlockView | undefined): boolean => block?.type === "thinking";

/** What the model let us see of its thinking, step after step, folded away. */
function Thoughts({ blocks, live }: { readonly blocks: readonly BlockView[]; readonly live: boolean }) {
  if (blocks.length === 0) return null;
  return (
    <details class="thinking" data-testid="block-thinking">
      <summary>{live ? "Thinking…" : "Thoughts"}</summary>
      {blocks.map((block) => (
        <Markdown key={block.block_id} text={blockText(block)} />
      ))}
    </details>
  );
}

function Block({ block, live }: { readonly block: BlockView; readonly live: boolean }) {
  if (isThinking(block)) return null;
  const text = blockText(block);
  if (block.type === "text")
    return (
      <div class={live ? "text live" : "text"} data-testid="block-text">
        <Markdown text={text} />
      </div>
    );
  return <Card block={block} />;
}

type ActivityProps = { readonly activity: readonly Activity[]; readonly skills: readonly string[] };

function ActivityList({ activity, skills }: ActivityProps) {
  if (activity.length + skills.length === 0) return null;
  return (
    <ul class="activity" aria-label="What Assist did">
      {skills.map((name) => (
        <li key={name} class="done">
          <Icon name="check" />
          <span>Skill: {sentence(name)}</span>
        </li>
      ))}
      {activity.map((one) => (
        <li key={one.call_id} class={tone(one)} data-testid="activity">
          {one.outcome === undefined ? (
            <span class="spinner" aria-hidden="true" />
          ) : (
            <Icon name={one.outcome === "ok" ? "check" : "cross"} />
          )}
          <span>{activityTitle(one)}</span>
          <span class="muted">{aside(one)}</span>
        </li>
      ))}
    </ul>
  );
}

const tone = ({ outcome }: Activity): string =>
  outcome === undefined ? "running" : outcome === "ok" ? "done" : "failed";

function aside({ outcome, ms }: Activity): string {
  const words: Readonly<Record<string, string>> = { error: "failed", cancelled: "stopped", unknown: "outcome unknown" };
  return [outcome && words[outcome], ms === undefined ? undefined : duration(ms)].filter(Boolean).join(", ");
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
