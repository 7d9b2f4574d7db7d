import { createHash } from "node:crypto";
import {
  FIRST_ALLOWANCE,
  faultOf,
  isWorthRepeating,
  LAST_ALLOWANCE,
  type SummaryDraft,
  type SummaryFault,
  type SummaryWish,
} from "../../machines/compaction/summary.rules.ts";
import type { PlacedEntry } from "../../machines/conversation/entries.ts";
import { identifiersIn, requiredIdentifiers } from "../../machines/conversation/identifiers.ts";
import { textTokens } from "../../machines/conversation/tokens.ts";
import { transcript } from "../../machines/conversation/transcript.ts";
import { Failure, failureCode } from "../../machines/failure.ts";
import type { SessionId, TurnId } from "../../machines/ids.ts";
import type { Usage } from "../../machines/model.ts";
import { canonical } from "../../machines/turn/progress.ts";
import { FRAME_TOKENS, INSTRUCTIONS, type Part, requestText } from "./prompt.ts";
import type { Summariser, SummaryAnswer } from "./summariser.ts";

/** A range of a history to be summed up. */
export type SummaryWork = {
  readonly sessionId: SessionId;
  /** The turn that asks for it. */
  readonly turnId: TurnId;
  /** The anchor now; the summary stands for the entries from here up to `to`. */
  readonly from: number;
  readonly to: number;
  readonly entries: readonly PlacedEntry[];
  /** The summary before, which is folded in; empty when there is none. */
  readonly earlier: string;
  /** Most tokens of the summary. */
  readonly cap: number;
};

/** One call of the summariser, for log, metrics and audit. `outcome` is `ok`, `failed:<fault>` or an error's code. */
export type SummaryCall = {
  readonly work: SummaryWork;
  readonly number: number;
  readonly outcome: string;
  readonly usage: Usage;
  readonly ms: number;
};

/** The summariser answered, with nothing that may stand for a conversation. */
export class SummaryRefused extends Failure {
  readonly code: SummaryFault;
  readonly retryable = false;
  constructor(fault: SummaryFault) {
    super(`the summariser's answer can't be used (${fault}); the conversation goes on without a summary`);
    this.code = fault;
  }
}

export type Summarising = {
  readonly summariser: Summariser;
  readonly monotonic: () => number;
  readonly onCall: (call: SummaryCall) => void;
};

const NO_USAGE: Usage = { input: 0, output: 0, thinking: 0, cached: 0 };
/** Our estimate may be this far below what the summariser counts. */
const ESTIMATE_MARGIN = 1.15;

/**
 * Sums a range up, in as many pieces as the summariser's window asks for, each folding in what came before. A piece is
 * asked for once more when that can help. Throws `SummaryRefused`, or whatever the summariser failed with.
 */
export async function summarised(
  work: SummaryWork,
  { summariser, monotonic, onCall }: Summarising,
  signal: AbortSignal,
): Promise<SummaryDraft> {
  const names = requiredIdentifiers(work.entries);
  const { pieces, clipped } = transcript(
    work.entries.map(({ entry }) => entry),
    roomOf(work, summariser, names),
  );
  let text = work.earlier;
  let passes = 0;
  for (const [at, piece] of pieces.entries()) {
    const part: Part = { text: piece.text, number: at + 1, of: pieces.length };
    // From the piece that tells a name on, every text has to carry it.
    const told = new Set(identifiersIn(`${text} ${piece.text}`));
    const wish: SummaryWish = { cap: work.cap, identifiers: names.filter((name) => told.has(name)) };
    let fault: SummaryFault | undefined;
    for (const allowance of [FIRST_ALLOWANCE, LAST_ALLOWANCE]) {
      passes += 1;
      const answer = await ask(text, part, wish, fault, allowance, passes);
      fault = faultOf(answer, wish);
      if (fault === undefined) {
        text = answer.text.trim();
        break;
      }
      if (!isWorthRepeating(fault)) break;
    }
    if (fault !== undefined) throw new SummaryRefused(fault);
  }
  return { from: work.from, to: work.to, text, digest: digestOf(work), passes, profile: summariser.profile, clipped };

  async function ask(
    earlier: string,
    part: Part,
    wish: SummaryWish,
    before: SummaryFault | undefined,
    allowance: number,
    number: number,
  ): Promise<SummaryAnswer> {
    const began = monotonic();
    const note = (outcome: string, usage: Usage) => onCall({ work, number, outcome, usage, ms: monotonic() - began });
    const request = {
      instructions: INSTRUCTIONS,
      text: requestText(earlier, part, wish, before),
      maxOutputTokens: Math.ceil(work.cap * allowance),
    };
    try {
      const answer = await summariser.answer(request, signal);
      const fault = faultOf(answer, wish);
      note(fault === undefined ? "ok" : `failed:${fault}`, answer.usage);
      return answer;
    } catch (error) {
      note(signal.aborted ? "cancelled" : failureCode(error), NO_USAGE);
      throw error;
    }
  }
}

/** Tokens that a piece may have, so that the largest request with its largest answer fits the summariser's window. */
function roomOf({ cap, earlier }: SummaryWork, { window }: Summariser, names: readonly string[]): number {
  const answer = Math.ceil(cap * LAST_ALLOWANCE);
  const known = Math.max(cap, textTokens(earlier));
  const room = (window - answer) / ESTIMATE_MARGIN - FRAME_TOKENS - known - textTokens(names.join(", "));
  return Math.max(500, Math.floor(room));
}

/** Names exactly what a summary stands for: the entries, and the summary before them. */
export function digestOf({ entries, earlier }: Pick<SummaryWork, "entries" | "earlier">): string {
  return createHash("sha256")
    .update(canonical([earlier, entries.map(({ pos, entry }) => [pos, entry])]))
    .digest("hex");
}
