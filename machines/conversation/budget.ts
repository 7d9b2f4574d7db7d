import type { TurnId } from "../ids.ts";
import type { Usage } from "../model.ts";
import { KEPT_TURNS } from "./cut.ts";
import type { Measure, PlacedEntry } from "./entries.ts";

/** Estimated tokens of what goes with every call besides the history. */
export type Fixed = { readonly system: number; readonly skills: number; readonly tools: number };
/** What a request consists of. The summary stands before the tail. */
export type Parts = Fixed & { readonly summary: number; readonly tail: number };

export const partsTotal = ({ system, skills, tools, summary, tail }: Parts): number =>
  system + skills + tools + summary + tail;

/**
 * How this session's estimates differ from what its provider counts. `base` is the size of the last request with its
 * answer as the provider gave it, and what we had estimated for the same: only what came later is estimated.
 */
export type Meter = {
  readonly ratio: number;
  readonly base: { readonly tokens: number; readonly estimated: number } | undefined;
};

export const UNMEASURED: Meter = { ratio: 1, base: undefined };

/** An estimate is never this far off: such a figure is not the size of the request (a stub, a delta, a bug). */
const STRANGE_RATIO = 4;

/**
 * The figures of one call, to be kept with its answer. `usage.input` is the whole prompt, cached part included; thinking
 * is not sent again. Undefined when the provider reported nothing that can be the size of the request.
 */
export function measureOf({ input, output }: Usage, estimated: number): Measure | undefined {
  const ratio = input / estimated;
  if (!Number.isFinite(ratio) || ratio > STRANGE_RATIO || ratio < 1 / STRANGE_RATIO) return undefined;
  return { input, output, estimated };
}

/** The meter after a call. `estimated` is the estimate of request and answer together, before correction. */
export function measured(measure: Measure, estimated: number): Meter {
  return {
    ratio: measure.input / measure.estimated,
    base: { tokens: measure.input + measure.output, estimated },
  };
}

/** Size of a context: the last call as the provider counted it, plus the corrected estimate of what came since. */
export function contextTokens({ ratio, base }: Meter, estimated: number): number {
  if (base === undefined || estimated < base.estimated) return Math.ceil(ratio * estimated);
  return Math.ceil(base.tokens + ratio * (estimated - base.estimated));
}

type TurnSum = { readonly turnId: TurnId /** Tokens of the tail before this turn. */; readonly before: number };

/** A running sum over what is sent: adding an entry and asking for a total take the same time however long it is. */
export class Account {
  readonly #turns: TurnSum[] = [];
  #tail = 0;
  #summary = 0;

  constructor(sent: readonly PlacedEntry[]) {
    for (const placed of sent) this.add(placed);
  }

  add({ entry, tokens }: PlacedEntry): void {
    if (entry.kind === "summary") {
      this.#summary = tokens;
      return;
    }
    if (this.#turns.at(-1)?.turnId !== entry.turnId) this.#turns.push({ turnId: entry.turnId, before: this.#tail });
    this.#tail += tokens;
  }

  parts(fixed: Fixed): Parts {
    return { ...fixed, summary: this.#summary, tail: this.#tail };
  }

  /** Tokens of the turns that a summary may replace: all but the last full ones and the one that runs. */
  foldable(running: TurnId | undefined): number {
    const runs = running !== undefined && this.#turns.at(-1)?.turnId === running;
    return this.#turns.at(-KEPT_TURNS - (runs ? 1 : 0))?.before ?? 0;
  }
}
