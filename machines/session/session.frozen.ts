import type { Snapshot } from "xstate";
import { z } from "zod";
import { SESSION_MACHINE, SESSION_VERSION, type SessionInput } from "./session.rules.ts";

/** What is stored of a sleeping session. */
export type FrozenSession = { readonly machine: string; readonly version: number; readonly state: unknown };

export const freeze = (state: Snapshot<unknown>): FrozenSession => ({
  machine: SESSION_MACHINE,
  version: SESSION_VERSION,
  state,
});

/** Of what is stored, what is read again; the rest may change its form without a new version. */
const storedState = z.looseObject({
  context: z.looseObject({
    sessionId: z.string(),
    // A snapshot from before there was one has none.
    backOff: z.object({ foldable: z.number(), rest: z.number() }).nullable().default(null),
  }),
});

export type Thawed =
  | { readonly kind: "restored"; readonly input: SessionInput }
  /** The chart starts from its input, which was read from entries and inbox; `why` is for the log. */
  | {
      readonly kind: "rebuild";
      readonly why: "none" | "foreign_machine" | "unknown_version" | "unknown_state" | "other_session";
    };

/**
 * What a chart that goes on from a stored snapshot starts with: what is known better now (queue, limits, whether a question is
 * open) replaces what was stored. It starts at `deciding`, not in the state that was stored: that one would only run its port
 * once more to hear that a row waits. Whatever this code can't read is rebuilt.
 */
export function thaw(frozen: FrozenSession | undefined, now: SessionInput): Thawed {
  if (frozen === undefined) return { kind: "rebuild", why: "none" };
  if (frozen.machine !== SESSION_MACHINE) return { kind: "rebuild", why: "foreign_machine" };
  if (frozen.version !== SESSION_VERSION) return { kind: "rebuild", why: "unknown_version" };
  const stored = storedState.safeParse(frozen.state);
  if (!stored.success) return { kind: "rebuild", why: "unknown_state" };
  if (stored.data.context.sessionId !== now.sessionId) return { kind: "rebuild", why: "other_session" };
  return { kind: "restored", input: { ...now, backOff: stored.data.context.backOff } };
}
