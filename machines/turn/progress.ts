import { callsOf, type Entry, openCalls, type ToolResultEntry } from "../conversation/entries.ts";
import type { TurnId } from "../ids.ts";
import type { Progress } from "./turn.rules.ts";

/** Equal values give equal text, whatever the order of keys. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    inner !== null && typeof inner === "object" && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)))
      : inner,
  );
}

/** One finished step of a turn. `fingerprint` makes one comparable text of what was called and what came back. */
type Step = { fingerprint(): string; readonly unknownOnly: boolean };

/** Added to a result that closes the last repetition the model may make; not a part of what is compared. */
export const LOOP_NOTE =
  "\n\n(You have made this same call with this same result before. Do not repeat it: answer with what you have.)";

/** A shortened result names its own call, by which the rest can be read: that makes no two results different. */
function comparable(text: string, callId: string): string {
  const told = text.endsWith(LOOP_NOTE) ? text.slice(0, -LOOP_NOTE.length) : text;
  return told.replaceAll(callId, "");
}

function stepsOf(entries: readonly Entry[]): readonly Step[] {
  const steps: Step[] = [];
  entries.forEach((entry, at) => {
    const calls = callsOf(entry);
    if (calls.length === 0) return;
    const next = entries.findIndex((later, index) => index > at && later.kind === "assistant");
    const results = entries
      .slice(at + 1, next === -1 ? undefined : next)
      .filter((later): later is ToolResultEntry => later.kind === "tool_result");
    const resultOf = (id: string) => results.find((result) => result.callId === id);
    steps.push({
      fingerprint: () =>
        canonical(
          calls.map((call) => [call.name, call.args, comparable(resultOf(call.callId)?.text ?? "", call.callId)]),
        ),
      unknownOnly: calls.every((call) => resultOf(call.callId)?.unknownTool === true),
    });
  });
  return steps;
}

/** How many of the last steps are equal, and how many called nothing but unknown tools. */
export function streaks(entries: readonly Entry[]): Pick<Progress, "repeats" | "unknownSteps"> {
  const steps = stepsOf(entries).toReversed();
  const last = steps[0];
  if (last === undefined) return { repeats: 0, unknownSteps: 0 };
  // A first step repeats nothing: most turns have no other that calls anything.
  const fingerprint = steps.length > 1 ? last.fingerprint() : "";
  const differs = steps.findIndex((step) => step !== last && step.fingerprint() !== fingerprint);
  const known = steps.findIndex((step) => !step.unknownOnly);
  return {
    repeats: differs === -1 ? steps.length : differs,
    unknownSteps: known === -1 ? steps.length : known,
  };
}

/** How far a turn is, from its entries alone. Owned time and tokens of an owner that died are not known: they count anew. */
export function progressOf(turnId: TurnId, history: readonly Entry[]): Progress {
  const entries = history.filter((entry) => "turnId" in entry && entry.turnId === turnId);
  const replies = entries.filter((entry) => entry.kind === "assistant");
  const last = replies.at(-1);
  return {
    steps: replies.length,
    ms: 0,
    tokens: 0,
    openCalls: openCalls(entries).map(({ callId, name }) => ({ callId, name })),
    answered: last !== undefined && callsOf(last).length === 0,
    ...streaks(entries),
    concluded: false,
    truncated: last?.truncated === true,
    paused: entries.some((entry) => entry.kind === "interaction"),
    cancelled: false,
    exhausted: false,
  };
}
