import { never } from "../machines/failure.ts";
import type { CardData } from "../machines/protocol/cards.ts";
import type { SignalData } from "../machines/protocol/signals.ts";
import type { TurnInput } from "../machines/protocol/turns.ts";
import type { Ended } from "./interactions.ts";
import type { Activity, Ending } from "./view.ts";

/** What a person reads at the end of a turn; undefined when there is nothing to add to the answer. */
export function endingText(ending: Ending): string | undefined {
  switch (ending.kind) {
    case "completed":
      return ending.reason === undefined ? undefined : (REASONS[ending.reason] ?? `Ended early (${ending.reason}).`);
    case "awaiting":
      return "Waiting for your answer.";
    case "failed":
      return ending.message ?? FAILURES[ending.code ?? ""] ?? "The answer could not be completed.";
    case "cancelled":
      return "Stopped.";
    default:
      return never(ending);
  }
}

const REASONS: Readonly<Record<string, string>> = {
  step_limit: "Ended early: this took as many steps as one answer may.",
  time_limit: "Ended early: this took as long as one answer may.",
  token_limit: "Ended early: the answer reached its size limit.",
  tool_loop: "Ended early: the same look-up was asked again and again.",
  truncated: "The answer was cut off by the model's own limit.",
};

const FAILURES: Readonly<Record<string, string>> = {
  auth_required: "Your login has ended. Log in again, then write again; an answer that you gave was kept.",
  blocked: "The model declined to answer this.",
  empty_response: "The model gave no answer.",
  malformed_tool_call: "The model asked for a look-up that could not be understood.",
  model_unavailable: "The model can't be reached at the moment.",
  recovery_exhausted: "The server was interrupted repeatedly while it answered.",
  interrupted: "The server was interrupted while it answered.",
};

/** What a turn began with, in words. */
export function inputText(input: TurnInput): string {
  if ("interaction_id" in input) {
    const { resolution, label } = input;
    if (label !== undefined) return label;
    if (resolution.kind === "answered") return resolution.text ?? resolution.selected.join(", ");
    return resolution.kind === "accepted" ? "Accepted the proposal." : "Dismissed the proposal.";
  }
  if (input.text.trim() !== "") return input.text;
  return input.entry_point === undefined ? "(attachment)" : sentence(input.entry_point);
}

/** How a question or proposal ended, in words; what is not known is not said. */
export function endedText(ended: Ended | undefined): string {
  switch (ended?.by) {
    case undefined:
      return "No longer open.";
    case "superseded":
      return "Withdrawn: the conversation went on without an answer.";
    case "expired":
      return "Expired without an answer.";
    case "user":
      return ended.label ?? ENDED[ended.resolution?.kind ?? "answered"];
    default:
      return never(ended);
  }
}

const ENDED = { answered: "Answered.", accepted: "Accepted.", dismissed: "Dismissed." } as const;

/** Why a resolution did nothing, for people; undefined when it was taken, now or before, and there is nothing to say of it. */
export function receiptProblem(receipt: SignalData<"interaction_receipt">): string | undefined {
  const because = (fallback: string) => (receipt.message === undefined ? fallback : `${fallback}: ${receipt.message}`);
  switch (receipt.result) {
    case "accepted":
      return undefined;
    case "duplicate":
      return receipt.message;
    case "stale":
      return receipt.open === null
        ? "This is no longer open: it was answered, or the conversation went on."
        : "This is no longer open: something newer waits for an answer. Look at that one first.";
    case "expired":
      return "The time to answer this is over. Ask again if it still matters.";
    case "invalid":
      return `${because("That answer does not fit what was asked")}.`;
    case "not_found":
      return "There is no such question in this conversation.";
    default:
      return never(receipt.result);
  }
}

/** Why a card's button did nothing, for people; undefined when it was done, now or before. */
export function actionProblem({ result, message }: SignalData<"action_receipt">): string | undefined {
  switch (result) {
    case "done":
    case "duplicate":
      return undefined;
    case "invalid":
      return message ?? "This item can't be added to a plan.";
    case "failed":
      return message ?? "The item was not added: the system of record did not take it. Try again.";
    default:
      return never(result);
  }
}

/** How full the model's context is. */
export function budgetText(budget: SignalData<"context_budget"> | undefined): string {
  if (budget === undefined) return "How full the context is will be known with the next answer.";
  const { used, window, threshold, parts } = budget;
  const percent = Math.round((100 * used) / Math.max(1, window));
  const named = Object.entries(parts).map(([name, tokens]) => `${name} ${tokens}`);
  return `Context: ${used} of ${window} tokens (${percent} %), summarised from ${threshold} on. ${named.join(" · ")}`;
}

/** `build_plan` → `Build plan`. */
export function sentence(name: string): string {
  const words = name.replaceAll(/[_-]+/g, " ").trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** What an activity is called; one whose start was missed has only its tool's name. */
export const activityTitle = ({ title, name }: Activity): string => (title === name ? sentence(name) : title);

/** `1234` → `1.2 s`; under a second in ms. */
export const duration = (ms: number): string => (ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`);

export function price({ amount, currency }: { readonly amount: number; readonly currency: string }): string {
  return new Intl.NumberFormat("en-US", { style: "currency", currency }).format(amount);
}

const SEVERITIES = ["contraindicated", "major", "moderate", "minor"];

/** Findings with the gravest first; a severity that is not known comes before all. */
export function bySeverity(findings: CardData<"interaction_check_results">["findings"]) {
  const rank = (severity: string) => SEVERITIES.indexOf(severity.toLowerCase());
  return findings.toSorted((a, b) => rank(a.severity) - rank(b.severity));
}
