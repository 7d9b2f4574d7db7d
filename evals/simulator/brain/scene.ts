import { canonical } from "../canonical.ts";
import type { Context } from "./context.ts";
import type { File } from "./conversation.ts";
import type { Outcome } from "./outcome.ts";
import type { Call } from "./reply.ts";
import type { Chosen, Closing, Told } from "./told.ts";

export type Done = Call & { readonly outcome: Outcome };

/** What the user answered to a question of the assistant's. */
export type Answer = {
  readonly prompt: string;
  readonly asked: string;
  readonly chosen: readonly Chosen[];
  readonly added: string;
};

/** One question of the user with what followed it. */
export type Exchange = {
  /** The user's words; after an answer those of the request that it belongs to; the reason of a dismissal. */
  readonly question: string;
  /** The decision that opened it; null where the user wrote. */
  readonly opened: Closing | null;
  /** What was asked on the way to this request, and answered. */
  readonly answers: readonly Answer[];
  /** What the system reported since the exchange before, and with the decision. */
  readonly told: readonly Told[];
  readonly context: Context;
  readonly files: readonly File[];
  readonly done: readonly Done[];
  readonly answer: string;
};

/** What the planner looks at: the request cut into exchanges, the last of which is open. */
export type Scene = {
  readonly tools: ReadonlySet<string>;
  readonly skills: ReadonlySet<string>;
  readonly system: string;
  readonly past: readonly Exchange[];
  readonly now: Exchange;
  /** The earlier exchange whose intent the open question takes up ("and with aspirin?"). */
  readonly follows: Exchange | null;
  /** Marked blocks in user turns that are not the user's own words, such as a summary of older turns. */
  readonly notes: readonly string[];
  /** Skills that came with the user's turn, without a call. */
  readonly given: ReadonlySet<string>;
};

/** Finished calls of earlier exchanges that the request still shows, newest first. */
export function pastCalls(scene: Scene): readonly Done[] {
  return scene.past.flatMap(({ done }) => done).reverse();
}

/** The outcome of exactly this call in the open exchange, if it was made. */
export function outcomeNow(scene: Scene, call: Call): Outcome | undefined {
  const key = canonical([call.tool, call.args]);
  return scene.now.done.findLast((done) => canonical([done.tool, done.args]) === key)?.outcome;
}
