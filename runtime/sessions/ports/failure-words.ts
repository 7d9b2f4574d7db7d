import type { Entry } from "../../../machines/conversation/entries.ts";
import type { TurnFailureCode } from "../../../machines/protocol/signals.ts";
import { planEndOf } from "../../../tools/plan-writing.ts";
import type { Row } from "../resident.ts";

/** What people read when a turn failed: why, and what they can do. None of it holds a word of the conversation. */
const MESSAGES: Partial<Record<TurnFailureCode, readonly [why: string, then: string]>> = {
  unavailable: ["The service could not store this turn for a while.", "Please send the message again."],
  auth_required: ["Your login ended.", "Log in again and resend the message."],
  blocked: ["The model's safety filter refused this request.", "Try wording it differently."],
  empty_response: ["The model returned nothing.", "Please try again."],
  malformed_tool_call: ["The model could not complete this request.", "Please try again or word it differently."],
  model_unavailable: ["The model can't be reached right now.", "Please try again in a moment."],
  recovery_exhausted: ["This turn was interrupted several times and was given up.", "Please send the message again."],
  session_unavailable: ["This conversation can't be read right now.", ""],
};
const INTERRUPTED = ["The turn was interrupted by a fault.", "Please try again."] as const;

/** What became of the answer that began a turn: it is taken, and can't be given again. */
export type Answered = "answered" | "stored" | "not_stored" | "unknown";

/** Undefined: the turn began with a message. `entries`: all of the turn's. */
export function answeredIn(row: Row | undefined, entries: readonly Entry[]): Answered | undefined {
  if (row?.kind !== "resolve") return undefined;
  if (row.body.resolution.kind !== "accepted") return "answered";
  const told = entries.find((entry) => entry.kind === "action" && entry.commandId === row.commandId);
  return told?.kind === "action" ? planEndOf(told.text) : "unknown";
}

export function failureWords(code: TurnFailureCode, answered: Answered | undefined): string {
  const [why, then] = MESSAGES[code] ?? INTERRUPTED;
  if (answered === undefined) return [why, then].filter((words) => words !== "").join(" ");
  const [kept, next] = KEPT[answered];
  return `${why} ${kept} ${code === "auth_required" ? `Log in again and ${next}` : next.replace(/^./, (first) => first.toUpperCase())}`;
}

const KEPT: Readonly<Record<Answered, readonly [kept: string, next: string]>> = {
  answered: ["Your answer was kept.", "write a message to go on."],
  stored: ["Your answer was kept, and the plan is stored.", "write a message to go on."],
  not_stored: ["Your answer was kept, but the plan was not stored.", "write a message to have it proposed again."],
  unknown: [
    "Your answer was kept, and the plan may have been stored.",
    "look at the patient's plans before you go on.",
  ],
};
