import type { NumberedSignal, Signal, UnknownSignal } from "../machines/protocol/signals.ts";
import type { View } from "./view.ts";

/** One signal, and the view with it and everything before it applied. */
export type Update = {
  readonly signal: Signal | UnknownSignal;
  readonly view: View;
  /** So many signals before this one were left out for a loop that fell behind; `view` has their effect. */
  readonly skipped?: number;
};

/** What waits for a loop, never more than `most` updates. */
export type Backlog = {
  add(signal: Signal | UnknownSignal, view: View): void;
  /** The oldest one, taken out. */
  take(): Update | undefined;
};

/**
 * Text that waits is joined to the text before it, so that nothing of it is missed. When that is not enough the oldest
 * update goes: the newest, whose view holds everything, is always kept.
 */
export function backlog(most: number): Backlog {
  const waiting: Update[] = [];
  return {
    add(signal, view) {
      const last = waiting.at(-1);
      const joined = last && joinedText(last.signal, signal);
      if (last !== undefined && joined !== undefined) {
        waiting[waiting.length - 1] = { ...last, signal: joined, view };
        return;
      }
      const dropped = waiting.length >= most ? waiting.shift() : undefined;
      waiting.push({ signal, view });
      const [next] = waiting;
      if (dropped === undefined || next === undefined) return;
      waiting[0] = { ...next, skipped: (dropped.skipped ?? 0) + howMany(dropped.signal) };
    },
    take: () => waiting.shift(),
  };
}

/** A merged frame stands for all its numbers. */
function howMany(signal: Signal | UnknownSignal): number {
  if (!("seq" in signal) || signal.seq === undefined) return 1;
  return signal.seq - (signal.from_seq ?? signal.seq) + 1;
}

type Text = Extract<NumberedSignal, { kind: "llm_delta" | "thinking_summary" }>;

const isText = (signal: Signal | UnknownSignal): signal is Text =>
  !("unknown" in signal) && (signal.kind === "llm_delta" || signal.kind === "thinking_summary");

/** Two neighbours of one block as one, in the form in which a server merges them. */
function joinedText(before: Signal | UnknownSignal, after: Signal | UnknownSignal): Text | undefined {
  if (!isText(before) || !isText(after) || before.kind !== after.kind) return undefined;
  const { block_id, offset, text } = before.data;
  if (block_id !== after.data.block_id || offset + text.length !== after.data.offset) return undefined;
  const data = { block_id, offset, text: text + after.data.text };
  return { ...after, from_seq: before.from_seq ?? before.seq, data };
}
