import type { PendingInteraction } from "../../machines/protocol/interactions.ts";
import { readCard } from "../card.ts";
import { type Activity, type BlockView, blockText, type TurnView, type View } from "../view.ts";
import { activityTitle, duration, endingText, sentence } from "../words.ts";
import { cardLines } from "./card-lines.ts";
import { askedLines, type Draft } from "./question.ts";
import { harmless, type Style } from "./style.ts";

/** Where the answer goes (`out`: text and cards) and where everything about it goes (`err`: tools, failures). */
export type Sinks = {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly style: Style;
};

/**
 * Prints what is new in a view since the last call. Reads the view only, so it needs to know nothing of signals:
 * merged, repeated or resynced ones print the same.
 */
export function printer({ out, err, style }: Sinks) {
  const shown = new Map<string, { attempt: number; length: number }>();
  const noted = new Set<string>();
  const ended = new Set<string>();
  const asked = new Set<string>();
  let column = 0;
  let afterCard = false;

  function write(text: string): void {
    if (text === "") return;
    out(harmless(text));
    column = text.endsWith("\n") ? 0 : 1;
  }
  function freshLine(): void {
    if (column > 0) write("\n");
  }
  function once(key: string, line: string): void {
    if (noted.has(key)) return;
    noted.add(key);
    freshLine();
    err(`${line}\n`);
  }

  function showActivity(one: Activity): void {
    const title = harmless(activityTitle(one));
    once(`start ${one.call_id}`, style.dim(`  … ${title}`));
    if (one.outcome === undefined) return;
    const time = one.ms === undefined ? "" : ` (${duration(one.ms)})`;
    const line =
      one.outcome === "ok" ? style.dim(`  ✓ ${title}${time}`) : style.red(`  ✗ ${title}: ${one.outcome}${time}`);
    once(`end ${one.call_id}`, line);
  }

  function showText(block: BlockView): void {
    const text = blockText(block);
    const before = shown.get(block.block_id);
    if (before !== undefined && before.attempt !== block.attempt && before.length > 0)
      once(`again ${block.block_id} ${block.attempt}`, style.dim("  (the answer starts again)"));
    const from = before?.attempt === block.attempt ? before.length : 0;
    if (from === 0 && text !== "") {
      freshLine();
      if (afterCard) write("\n");
      afterCard = false;
    }
    write(text.slice(from));
    shown.set(block.block_id, { attempt: block.attempt, length: text.length });
  }

  function showBlock(block: BlockView): void {
    if (block.type === "text") showText(block);
    if (block.type === "text" || block.type === "thinking" || !block.finished) return;
    if (noted.has(block.block_id)) return;
    noted.add(block.block_id);
    const card = readCard(block);
    if (card?.kind === "interaction_request") asked.add(`${card.data.interaction_id} ${card.data.revision}`);
    writeCard(card ? cardLines(card) : [`[${sentence(block.type)}]`]);
  }

  function writeCard([title = "", ...lines]: readonly string[]): void {
    freshLine();
    const text = [harmless(title), ...lines.map(harmless)];
    // Painted after it was made harmless, so that the paint stays.
    out(`\n${[style.bold(text[0] ?? ""), ...text.slice(1)].join("\n")}\n`);
    column = 0;
    afterCard = true;
  }

  function showTurn(turn: TurnView): void {
    if (ended.has(turn.turn_id)) return;
    for (const skill of turn.skills) once(`${turn.turn_id} ${skill}`, style.dim(`  · skill ${harmless(skill)}`));
    for (const one of turn.activity) showActivity(one);
    for (const block of turn.blocks) showBlock(block);
    if (turn.ending === undefined) return;
    ended.add(turn.turn_id);
    freshLine();
    const words = harmless(endingText(turn.ending) ?? "");
    if (turn.ending.kind === "failed") err(`${style.red(`failed: ${words}`)}\n`);
    else if (words !== "") err(`${style.dim(words)}\n`);
  }

  return {
    /** Prints news of every turn, or of the one named. */
    show(view: View, only?: string): void {
      for (const turn of view.turns) {
        if (only === undefined || turn.turn_id === only) showTurn(turn);
      }
    },
    /** These turns are known to the reader and are not printed. */
    skip(turnIds: readonly string[]): void {
      for (const id of turnIds) ended.add(id);
    },
    /** Shows what waits for an answer, unless its card was printed already; then how to answer it. */
    ask(pending: PendingInteraction, how: readonly string[]): void {
      const key = `${pending.id} ${pending.revision}`;
      if (!asked.has(key)) writeCard(askedLines(pending));
      asked.add(key);
      freshLine();
      for (const line of how) err(`${style.dim(harmless(line))}\n`);
    },
    /** Shows a proposal as it was changed. */
    redraw(pending: PendingInteraction, draft: Draft): void {
      writeCard(askedLines(pending, draft));
    },
    /** A line about the conversation itself. */
    note(line: string): void {
      freshLine();
      err(`${style.dim(line)}\n`);
    },
  };
}

export type Printer = ReturnType<typeof printer>;
