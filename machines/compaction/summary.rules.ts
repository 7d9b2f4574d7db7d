import { textTokens } from "../conversation/tokens.ts";
import type { CallId } from "../ids.ts";

/** A summary that was made and judged, but not yet put in the place of what it stands for. */
export type SummaryDraft = {
  /** The anchor it was made for; it stands for the entries from here up to `to`. */
  readonly from: number;
  readonly to: number;
  readonly text: string;
  /** SHA-256 of what it stands for. */
  readonly digest: string;
  /** Calls of the summariser that it took. */
  readonly passes: number;
  readonly profile: string;
  /** Calls whose results were too long to be summed up in full. */
  readonly clipped: readonly CallId[];
};

/** Why a text can't serve as a summary. */
export type SummaryFault =
  | "empty_summary"
  | "output_budget_exhausted"
  | "truncated_summary"
  | "summary_too_long"
  | "missing_identifiers";

export type SummaryWish = { readonly cap: number; readonly identifiers: readonly string[] };

/** A summary takes this share of the window at most, and never more than a person would read. */
const CAP_SHARE = 0.05;
const LONGEST = 4_000;
const SHORTEST = 300;

/** Most tokens of a summary, so that folding it forward never makes it the thing that grows. */
export function summaryCap(window: number, summariserWindow: number): number {
  return Math.max(SHORTEST, Math.min(LONGEST, Math.floor(window * CAP_SHARE), Math.floor(summariserWindow * 0.1)));
}

/** What is wrong with a text as a summary, if anything. Thought and calls are not text: what is left of them is empty. */
export function faultOf(answer: { text: string; truncated: boolean }, wish: SummaryWish): SummaryFault | undefined {
  const text = answer.text.trim();
  if (text === "") return answer.truncated ? "output_budget_exhausted" : "empty_summary";
  if (answer.truncated) return "truncated_summary";
  if (textTokens(text) > wish.cap) return "summary_too_long";
  return missing(text, wish).length > 0 ? "missing_identifiers" : undefined;
}

export const missing = (text: string, { identifiers }: SummaryWish): readonly string[] =>
  identifiers.filter((identifier) => !text.includes(identifier));

/** Output limits of the first call and of the one more that a text without an end may have. */
export const FIRST_ALLOWANCE = 1.5;
export const LAST_ALLOWANCE = 4;

/** Faults that asking once more can mend: with a larger limit, or by saying what was wrong. */
export const isWorthRepeating = (fault: SummaryFault): boolean => fault !== "empty_summary";
