import type { TurnId } from "../ids.ts";
import type { PlacedEntry, Shortening } from "./entries.ts";
import { shortenedAt } from "./sent.ts";

/** Full turns that stay as they are, besides the one that runs: "that" and "those two" point into them. */
export const KEPT_TURNS = 2;

/** A turn of the history: everything between its first entry and the next turn's. */
export type TurnSpan = { readonly turnId: TurnId; readonly entries: readonly PlacedEntry[]; readonly first: number };

export function turnsOf(history: readonly PlacedEntry[]): readonly TurnSpan[] {
  const spans: { turnId: TurnId; first: number; entries: PlacedEntry[] }[] = [];
  for (const placed of history) {
    const last = spans.at(-1);
    if (last?.turnId === placed.entry.turnId) last.entries.push(placed);
    else spans.push({ turnId: placed.entry.turnId, first: placed.pos, entries: [placed] });
  }
  return spans;
}

/**
 * The position where the kept tail begins: the first entry of the last-but-one full turn. Always between two turns, so
 * a call is never parted from its result. Undefined when nothing is older.
 */
export function cutPoint(history: readonly PlacedEntry[], running: TurnId | undefined): number | undefined {
  const full = turnsOf(history).filter(({ turnId }) => turnId !== running);
  return full.length > KEPT_TURNS ? full.at(-KEPT_TURNS)?.first : undefined;
}

/** How a history is made to fit: everything before `to` is left out, and `shortened` holds for the rest. */
export type Fit = { readonly to: number; readonly turns: number; readonly shortened?: Shortening };

/** Longest results that a turn keeps when it has outgrown the window, in the order in which they are tried. */
const LENGTHS = [4_000, 1_000, 300] as const;

/**
 * The mildest way to bring `history` under `limit` tokens: first the oldest whole turns up to the kept ones, then the
 * oldest results of the running turn (its last step at the end only), then the kept turns too. What is given up goes
 * down to `target`, so that not every call gives up more. Deterministic. When
 * nothing suffices, the strongest. Undefined when there is nothing to leave out or to shorten. `history` is the history
 * as it is sent, but for the running turn, which is as it is stored: what it was shortened by before is found anew.
 */
export function fitted(
  history: readonly PlacedEntry[],
  running: TurnId,
  { target, limit }: { readonly target: number; readonly limit: number },
): Fit | undefined {
  const spans = turnsOf(history.filter(({ entry }) => entry.kind !== "summary"));
  const full = spans.filter(({ turnId }) => turnId !== running);
  const own = spans.find(({ turnId }) => turnId === running);
  const start = history[0]?.pos ?? 0;
  const sizes = spans.map(({ first, entries }) => ({ first, tokens: sizeOf(entries) }));
  const toOf = (turns: number): number => (turns === 0 ? start : ((full[turns] ?? own)?.first ?? start));
  const restSize = (to: number): number =>
    sizes.reduce((sum, { first, tokens }) => (first >= to ? sum + tokens : sum), 0);
  const older = Math.max(0, full.length - KEPT_TURNS);
  const whole = restSize(start);
  let strongest: Fit | undefined;
  const fits = (most: number, turns: number, shortened?: Shortening): boolean => {
    const to = toOf(turns);
    const size = restSize(to) - (own && shortened ? savedBy(own, shortened) : 0);
    // What changes nothing is no way to fit.
    if (size >= whole) return false;
    strongest = { to, turns, ...(shortened && { shortened }) };
    return size <= most;
  };
  const mild = own === undefined ? [] : shortenings(own, false);
  const hard = own === undefined ? [] : shortenings(own, true);
  for (let turns = 1; turns <= older; turns++) if (fits(target, turns)) return strongest;
  if (fits(limit, older)) return strongest;
  for (const shortened of mild) if (fits(target, older, shortened)) return strongest;
  if (fits(limit, older, mild.at(-1))) return strongest;
  for (let turns = older + 1; turns <= full.length; turns++) if (fits(limit, turns, mild.at(-1))) return strongest;
  for (const shortened of hard) if (fits(target, full.length, shortened)) return strongest;
  return strongest;
}

/** Rules for the running turn, mildest first: a few of its oldest results, then more of them, then shorter. */
function shortenings(own: TurnSpan, lastToo: boolean): readonly Shortening[] {
  const end = lastToo ? (own.entries.at(-1)?.pos ?? own.first) + 1 : lastStepOf(own);
  const bounds = own.entries.flatMap(({ pos, entry }) => (entry.kind === "tool_result" && pos < end ? [pos + 1] : []));
  const from = own.first;
  return LENGTHS.flatMap((characters, at) => {
    const args = lastToo || at === LENGTHS.length - 1;
    return (lastToo ? [end] : bounds).map((before) => ({ from, before, characters, args }));
  });
}

const sizeOf = (entries: readonly PlacedEntry[]): number => entries.reduce((sum, { tokens }) => sum + tokens, 0);

/** Tokens that the running turn loses; nothing else is shortened. */
const savedBy = ({ entries }: TurnSpan, rule: Shortening): number =>
  sizeOf(entries) - sizeOf(entries.map((placed) => shortenedAt(placed, [rule])));

function lastStepOf({ entries, first }: TurnSpan): number {
  return entries.findLast(({ entry }) => entry.kind === "assistant")?.pos ?? first;
}
