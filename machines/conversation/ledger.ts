import type { Room } from "../compaction/compaction.rules.ts";
import type { TurnId } from "../ids.ts";
import {
  Account,
  contextTokens,
  type Fixed,
  type Meter,
  measured,
  type Parts,
  partsTotal,
  UNMEASURED,
} from "./budget.ts";
import type { Entry, InteractionEntry, Measure, PlacedEntry } from "./entries.ts";
import { stillUnresolved, unresolved } from "./interactions.ts";
import { sentTokens } from "./media-tokens.ts";
import { sent } from "./sent.ts";

/**
 * A session's history since the anchor, what of it is sent, and how large that is. Everything is read from the entries,
 * so a session that was thawed, taken over or rebuilt comes to the same figures.
 */
export class Ledger {
  #history: PlacedEntry[];
  #sent: PlacedEntry[];
  /** The same two without their places: they are read several times a step. */
  #storedEntries: Entry[];
  #sentEntries: Entry[];
  #account: Account;
  #unresolved: InteractionEntry | undefined;
  #tokens: number;
  #meter: Meter;
  /** What a provider counted last, of the history. */
  #measured: Measure | undefined;
  #anchor: number;

  constructor(history: readonly PlacedEntry[], anchor: number) {
    this.#history = [...history];
    this.#anchor = anchor;
    this.#sent = [...sent(this.#history)];
    this.#storedEntries = this.#history.map(({ entry }) => entry);
    this.#sentEntries = this.#sent.map(({ entry }) => entry);
    this.#account = new Account(this.#sent);
    this.#unresolved = unresolved(this.#storedEntries);
    this.#tokens = tokensOf(this.#history);
    this.#measured = lastMeasured(this.#storedEntries);
    this.#meter = ratioOf(this.#measured);
  }

  get anchor(): number {
    return this.#anchor;
  }
  /** Tokens of what is stored since the anchor. */
  get tokens(): number {
    return this.#tokens;
  }
  /** As stored, since the anchor. */
  get history(): readonly PlacedEntry[] {
    return this.#history;
  }
  /** As stored, without places. */
  get stored(): readonly Entry[] {
    return this.#storedEntries;
  }
  /** As sent. */
  get entries(): readonly Entry[] {
    return this.#sentEntries;
  }

  /** The interaction whose end is not in the history yet, as `unresolved` finds it. */
  get unresolved(): InteractionEntry | undefined {
    return this.#unresolved;
  }

  /** Puts entries at the next positions. A summary moves the anchor to its end. */
  add(entries: readonly Entry[]): readonly PlacedEntry[] {
    const next = this.#nextPos;
    const placed = entries.map((entry, index) => ({ pos: next + index, tokens: sentTokens(entry), entry }));
    for (const one of placed) {
      this.#history.push(one);
      this.#tokens += one.tokens;
      this.#storedEntries.push(one.entry);
      this.#unresolved = stillUnresolved(this.#unresolved, one.entry);
      this.#measured = measureIn(one.entry) ?? this.#measured;
      if (one.entry.kind === "summary") this.#moveTo(one.entry.to);
      else {
        this.#sent.push(one);
        this.#sentEntries.push(one.entry);
        this.#account.add(one);
      }
    }
    return placed;
  }

  /** Notes what the provider counted for the call whose answer was added last. */
  measure(fixed: Fixed): void {
    const last = measureIn(this.#history.at(-1)?.entry);
    if (last !== undefined) this.#meter = measured(last, partsTotal(this.#account.parts(fixed)));
  }

  /** Estimate of the next request before it is corrected. */
  estimated(fixed: Fixed): number {
    return partsTotal(this.#account.parts(fixed));
  }

  /** The next request by part, corrected. Takes the same time however long the history is. */
  parts(fixed: Fixed): Parts {
    const parts = this.#account.parts(fixed);
    const total = partsTotal(parts);
    const factor = total === 0 ? 1 : contextTokens(this.#meter, total) / total;
    const corrected = (tokens: number) => Math.round(tokens * factor);
    return {
      system: corrected(parts.system),
      skills: corrected(parts.skills),
      tools: corrected(parts.tools),
      summary: corrected(parts.summary),
      tail: corrected(parts.tail),
    };
  }

  room(fixed: Fixed, { window, reserve }: Pick<Room, "window" | "reserve">, running: TurnId | undefined): Room {
    const used = contextTokens(this.#meter, this.estimated(fixed));
    return { used, reserve, window, foldable: Math.ceil(this.#meter.ratio * this.#account.foldable(running)) };
  }

  /** From now on the figures are those of a ledger that is made from `history`: for a session that falls asleep. */
  forgetBase(): void {
    this.#meter = ratioOf(this.#measured);
  }

  /** Tokens as the provider counts them, as estimates. */
  inEstimates(tokens: number): number {
    return Math.floor(tokens / this.#meter.ratio);
  }

  #moveTo(anchor: number): void {
    this.#anchor = Math.max(this.#anchor, anchor);
    this.#history = this.#history.filter(({ pos }) => pos >= this.#anchor);
    this.#tokens = tokensOf(this.#history);
    this.#sent = [...sent(this.#history)];
    this.#storedEntries = this.#history.map(({ entry }) => entry);
    this.#sentEntries = this.#sent.map(({ entry }) => entry);
    this.#account = new Account(this.#sent);
    this.#unresolved = unresolved(this.#storedEntries);
    this.#measured = lastMeasured(this.#storedEntries);
    this.#meter = { ...this.#meter, base: undefined };
  }

  get #nextPos(): number {
    const last = this.#history.at(-1);
    return last ? last.pos + 1 : this.#anchor;
  }
}

const tokensOf = (history: readonly PlacedEntry[]): number => history.reduce((sum, placed) => sum + placed.tokens, 0);

const measureIn = (entry: Entry | undefined): Measure | undefined =>
  entry?.kind === "assistant" ? entry.measured : undefined;

const lastMeasured = (entries: readonly Entry[]): Measure | undefined =>
  measureIn(entries.findLast((entry) => measureIn(entry) !== undefined));

/** Only the ratio: what the fixed parts were when the last call was made is not known any more. */
const ratioOf = (measure: Measure | undefined): Meter =>
  measure === undefined ? UNMEASURED : { ...measured(measure, 0), base: undefined };
