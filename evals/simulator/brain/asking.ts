import type { Answer, Scene } from "./scene.ts";
import { ask, PlanStopped, type Steps } from "./steps.ts";

export type Option = { readonly id?: string; readonly label: string; readonly detail?: string };
export type Question = {
  readonly question: string;
  readonly kind: "single_choice" | "multi_choice" | "patient_picker";
  readonly options?: readonly Option[];
};

const MOST_OPTIONS = 12;
const LONGEST_MINUTES = 10_080;

/** The user's answer: from the request, or the end of the plan with a question. In words where there is no tool to ask with. */
export function* choose(scene: Scene, wanted: Question, inWords?: string): Steps<Answer> {
  const given = scene.now.answers.find(({ prompt }) => prompt === wanted.question);
  if (given !== undefined) return given;
  const labels = (wanted.options ?? []).map(({ label }) => `- ${label}`).join("\n");
  const words = inWords ?? [wanted.question, labels].filter((part) => part !== "").join("\n\n");
  if (!canAsk(scene) || (wanted.options?.length ?? 0) > MOST_OPTIONS) throw new PlanStopped(words);
  yield* ask("ask_question", { ...wanted, ...expiry(scene.now.question) });
  throw new PlanStopped(words);
}

export const canAsk = (scene: Scene): boolean => scene.tools.has("ask_question");

/** "… within 30 minutes": until when an answer counts. "Within 2 hours of the tablet" says something else. */
const WITHIN =
  /,?\s*\b(?:within(?: the next)?|in the next|expir\w+ (?:in|after)|(?:open|valid) for) (\d+) (minute|min|hour|hr|day)s?\b(?! (?:of|after|before|from))/i;
const MINUTES: Readonly<Record<string, number>> = { minute: 1, min: 1, hour: 60, hr: 60, day: 1_440 };

export function expiry(question: string): { readonly expires_in_minutes?: number } {
  const [, count, unit = ""] = WITHIN.exec(question) ?? [];
  if (count === undefined) return {};
  const minutes = Number(count) * (MINUTES[unit.toLowerCase()] ?? 1);
  return { expires_in_minutes: Math.max(1, Math.min(minutes, LONGEST_MINUTES)) };
}

export const withoutExpiry = (question: string): string => question.replace(WITHIN, "").trim();

/** Labels of an answer, with what the user added in their own words. */
export const answered = ({ chosen, added }: Answer): string =>
  [chosen.map(({ label }) => label).join(", "), added].filter((part) => part !== "").join(": ");
