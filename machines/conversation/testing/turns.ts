import { callId, type TurnId, turnId } from "../../ids.ts";
import type { Entry, PlacedEntry } from "../entries.ts";
import { sentTokens } from "../media-tokens.ts";

/** The n-th turn's id. */
export const turnN = (n: number): TurnId => turnId(`00000000-0000-4000-8000-${String(n).padStart(12, "0")}`);

export type TurnScript = {
  readonly says: string;
  /** Texts of the results of one step each: an inner list is one step's parallel calls. */
  readonly steps?: readonly (readonly string[])[];
  readonly answer?: string;
};

/** The entries of one turn: what the user says, the calls with their results, the answer. */
export function turn(n: number, { says, steps = [], answer }: TurnScript): readonly Entry[] {
  const id = turnN(n);
  const base = { turnId: id, issuer: "gemini-api", profile: "primary" } as const;
  const entries: Entry[] = [{ kind: "user", turnId: id, text: says }];
  steps.forEach((results, at) => {
    const calls = results.map((_, index) => ({
      kind: "tool_call" as const,
      call: { callId: callId(`c${n}-${at}-${index}`), name: "lookup", args: { n, at, index } },
      ...(index === 0 && { signature: `sig-${n}-${at}` }),
    }));
    entries.push({ kind: "assistant", ...base, step: at + 1, parts: calls });
    results.forEach((text, index) => {
      entries.push({
        kind: "tool_result",
        turnId: id,
        callId: callId(`c${n}-${at}-${index}`),
        name: "lookup",
        outcome: "ok",
        text,
      });
    });
  });
  if (answer !== undefined) {
    entries.push({ kind: "assistant", ...base, step: steps.length + 1, parts: [{ kind: "text", text: answer }] });
  }
  return entries;
}

/** Entries at their places, from `from` on. */
export const placed = (entries: readonly Entry[], from = 0): readonly PlacedEntry[] =>
  entries.map((entry, at) => ({ pos: from + at, tokens: sentTokens(entry), entry }));

/** Text of about this many tokens: plain words, different for each seed. */
export function words(tokens: number, seed = 0): string {
  const names = ["zinc", "dose", "lab", "sleep", "iron", "week", "plan", "note"];
  return Array.from({ length: tokens }, (_, at) => names[(at * 7 + seed) % names.length]).join(" ");
}
