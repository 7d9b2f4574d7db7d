import type { ComponentChildren } from "preact";
import { type Activity, blockText, type TurnView } from "../view.ts";
import { activityTitle, duration, sentence } from "../words.ts";
import { Icon } from "./icons.tsx";
import { Markdown } from "./rich-text.tsx";
import { isThinking, stepNow, stepsOf, stepsTaken } from "./steps.ts";

/** How an answer comes about: one line that says the step at hand, and opens to all steps and thoughts. */
export function How({ turn }: { readonly turn: TurnView }) {
  const running = turn.ending === undefined;
  const steps = stepsOf(turn);
  const thoughts = turn.blocks.filter(isThinking);
  const words = running ? stepNow(turn) : stepsTaken(turn);
  if (steps.length + turn.skills.length + thoughts.length === 0)
    return running ? (
      <p class="how">
        <Spinner /> {words}
      </p>
    ) : null;
  return (
    <details class="how" data-testid="how">
      <summary>
        {running && <Spinner />} {words}
      </summary>
      <div class="how-inside">
        <ul class="activity" aria-label="What Assist did">
          {turn.skills.map((name) => (
            <Step key={name} tone="done">
              Followed the instructions “{sentence(name)}”
            </Step>
          ))}
          {steps.map((one) => (
            <Step key={one.call_id} tone={tone(one)}>
              {activityTitle(one)} <span class="muted">{aside(one)}</span>
            </Step>
          ))}
        </ul>
        {thoughts.length > 0 && (
          <div class="thinking" data-testid="block-thinking">
            {thoughts.map((block) => (
              <Markdown key={block.block_id} text={blockText(block)} />
            ))}
          </div>
        )}
      </div>
    </details>
  );
}

const Spinner = () => <span class="spinner" aria-hidden="true" />;

type Tone = "running" | "done" | "failed";

function Step({ tone, children }: { readonly tone: Tone; readonly children: ComponentChildren }) {
  return (
    <li class={tone} data-testid="activity">
      {tone === "running" ? <Spinner /> : <Icon name={tone === "done" ? "check" : "cross"} />}
      <span>{children}</span>
    </li>
  );
}

const tone = ({ outcome }: Activity): Tone =>
  outcome === undefined ? "running" : outcome === "ok" ? "done" : "failed";

/** Only what is out of the ordinary: a bad end, a long wait. */
function aside({ outcome, ms }: Activity): string {
  const words: Readonly<Record<string, string>> = { error: "failed", cancelled: "stopped", unknown: "outcome unknown" };
  return [outcome && words[outcome], ms !== undefined && ms >= 1000 ? duration(ms) : undefined]
    .filter(Boolean)
    .join(", ");
}
