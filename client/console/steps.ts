import { readCard } from "../card.ts";
import type { Activity, BlockView, TurnView } from "../view.ts";
import { activityTitle } from "../words.ts";

export const isThinking = (block: BlockView | undefined): boolean => block?.type === "thinking";

/** The steps worth a line: a skill that was loaded is named by itself, so the call that loaded it is not. */
export function stepsOf({ activity, skills }: Pick<TurnView, "activity" | "skills">): readonly Activity[] {
  return activity.filter(({ name, outcome }) => !(name === "load_skill" && outcome === "ok" && skills.length > 0));
}

/** What a running turn does at the moment, in words. Look-ups are quick: the last one stays until something follows. */
export function stepNow({ activity, blocks }: Pick<TurnView, "activity" | "blocks">): string {
  const block = blocks.at(-1);
  if (block?.type === "text" && !block.finished) return "Answering…";
  const last = activity.findLast(({ outcome }) => outcome === undefined) ?? activity.at(-1);
  return last === undefined || (last.outcome ?? "ok") !== "ok" ? "Thinking…" : `${activityTitle(last)}…`;
}

/** How a turn that ended came to its answer, in words. */
export function stepsTaken({ activity }: Pick<TurnView, "activity">): string {
  const failed = activity.filter(({ outcome }) => outcome === "error" || outcome === "unknown").length;
  const steps = activity.length === 0 ? "" : ` (${count(activity.length, "step")})`;
  return `How this was answered${steps}${failed === 0 ? "" : `, ${failed} failed`}`;
}

/** Blocks to show as the answer: without thoughts, and without sources that a later list of the turn narrows down. */
export function answerBlocks(blocks: readonly BlockView[]): readonly BlockView[] {
  const lists = blocks.map(sourceIds);
  const isNarrowed = (at: number) => {
    const all = lists[at];
    return lists.slice(at + 1).some((later) => all && later?.every((id) => all.includes(id)));
  };
  return blocks.filter((block, at) => !isThinking(block) && !isNarrowed(at));
}

const count = (n: number, noun: string): string => `${n} ${noun}${n === 1 ? "" : "s"}`;

function sourceIds(block: BlockView): readonly string[] | undefined {
  if (block.type !== "citations") return undefined;
  const card = readCard(block);
  return card?.kind === "citations" && card.data.sources.length > 0 ? card.data.sources.map(({ id }) => id) : undefined;
}
