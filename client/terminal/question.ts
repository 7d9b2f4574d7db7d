import { never } from "../../machines/failure.ts";
import type { CardData } from "../../machines/protocol/cards.ts";
import type { Resolution } from "../../machines/protocol/commands.ts";
import type { InteractionOption, PendingInteraction, Proposal } from "../../machines/protocol/interactions.ts";
import { price } from "../words.ts";
import { oneLine, shellWord } from "./style.ts";

/** What was changed in a proposal before it is accepted: a dosing for each item in its order, null for one that is dropped. */
export type Draft = readonly (string | null)[];

export const draftOf = (pending: PendingInteraction): Draft =>
  pending.proposal?.items.map(({ dosing }) => dosing) ?? [];

type Asked = Pick<CardData<"interaction_request">, "kind" | "prompt" | "options" | "proposal" | "expires_at">;

/** A question with its options, or a proposal with its items, both numbered; a title first. */
export function askedLines(asked: Asked, draft?: Draft): string[] {
  const until = asked.expires_at === undefined ? [] : [`  open until ${minute(asked.expires_at)}`];
  if (asked.proposal !== undefined) return [...proposalLines(asked.proposal, asked.prompt, draft), ...until];
  const options = (asked.options ?? []).map(({ label, detail }, at) => {
    const more = detail === undefined || detail === "" ? "" : `: ${oneLine(detail)}`;
    return `  ${at + 1}. ${oneLine(label)}${more}`;
  });
  return [oneLine(asked.prompt), ...options, ...until];
}

function proposalLines(proposal: Proposal, prompt: string, draft?: Draft): string[] {
  const items = proposal.items.flatMap((item, at) => {
    const dosing = draft === undefined ? item.dosing : draft[at];
    const head = `  ${at + 1}. ${oneLine(`${item.brand} ${item.name} (${item.strength})`)}`;
    if (dosing === null || dosing === undefined) return [`${head}: dropped`];
    const changed = dosing === item.dosing ? "" : " (changed)";
    const cost = [item.price && price(item.price), item.in_stock ? "in stock" : "out of stock"].filter(Boolean);
    return [
      head,
      `     dosing: ${oneLine(dosing)}${changed}`,
      `     why: ${oneLine(item.rationale)}`,
      `     price: ${cost.join(", ")}`,
    ];
  });
  const target = proposal.plan_id === undefined ? "" : `, added to the draft ${proposal.plan_id}`;
  return [
    `Proposed plan for ${oneLine(proposal.patient_name)}: ${oneLine(proposal.title)}${target}`,
    ...(prompt.trim() === "" ? [] : [`  ${oneLine(prompt)}`]),
    ...items,
    ...(proposal.lifestyle ?? []).map(({ title, detail }) => `  - ${oneLine(`${title}: ${detail}`)}`),
    ...(proposal.labs ?? []).map(({ name }) => `  - lab test: ${oneLine(name)}`),
    ...(proposal.notes === undefined ? [] : [`  notes: ${oneLine(proposal.notes)}`]),
  ];
}

const minute = (iso: string): string => iso.replace(/^(.{10})T(.{5}).*$/, "$1 $2 UTC");

/** How to answer by typing. */
export function typingHint({ kind, schema }: PendingInteraction): string {
  const dismissing = "d [reason] dismisses it; anything else is a new message";
  switch (kind) {
    case "single_choice":
      return `answer with a number, "1: your words" to say more; ${dismissing}`;
    case "multi_choice":
      return `answer with numbers, like 1 3; ${dismissing}`;
    case "patient_picker":
      return `answer with a number${isOpenEnded(schema) ? ", or = and a patient id" : ""}; ${dismissing}`;
    case "plan_proposal":
      return `a accepts, e <n> <dosing> changes a dose, x <n> drops an item; ${dismissing}`;
    default:
      return never(kind);
  }
}

const isOpenEnded = (schema: PendingInteraction["schema"]): boolean => !JSON.stringify(schema).includes('"enum"');

/** More options than that have their number in the list above, and one line. */
const MOST_LISTED = 12;

/**
 * The exact commands that answer it from a shell. `chat` is the command so far, with the session. No label stands on
 * these lines: they are copied into a shell, and a label is the model's text.
 */
export function answerCommands(chat: string, { kind, options = [] }: PendingInteraction): string[] {
  const dismissing = `${chat} --dismiss "reason"`;
  if (kind === "plan_proposal") return [`${chat} --accept`, dismissing];
  if (options.length > MOST_LISTED) return [`${chat} --answer <number>`, dismissing];
  const answers = options.map(({ id }, at) => `[${at + 1}] ${chat} --answer ${shellWord(id)}`);
  const several = kind === "multi_choice" ? ["    (more ids may follow)"] : [];
  return [...(answers.length === 0 ? [`${chat} --answer <id>`] : answers), ...several, dismissing];
}

/** Words for options: an option's own id, its number as shown, or an id that was not offered, as it stands. */
export const optionIds = (options: readonly InteractionOption[] = [], words: readonly string[]): string[] =>
  words.map((word) => {
    if (options.some(({ id }) => id === word)) return word;
    return /^\d{1,4}$/.test(word) ? (options[Number(word) - 1]?.id ?? word) : word;
  });

export type Typed =
  | { readonly kind: "resolve"; readonly resolution: Resolution }
  | { readonly kind: "edit"; readonly draft: Draft }
  /** It looks like an answer and is none: what is wrong with it. */
  | { readonly kind: "unclear"; readonly why: string }
  | { readonly kind: "message" };

/** What a typed line means while `pending` is open. */
export function readTyped(pending: PendingInteraction, draft: Draft, line: string): Typed {
  const text = line.trim();
  const dismissed = /^d(?:\s+(\S.*))?$/.exec(text);
  if (dismissed !== null) {
    const reason = dismissed[1];
    return { kind: "resolve", resolution: { kind: "dismissed", ...(reason !== undefined && { reason }) } };
  }
  return pending.kind === "plan_proposal" ? readDecision(pending, draft, text) : readChoice(pending, text);
}

function readChoice({ options = [], kind, schema }: PendingInteraction, text: string): Typed {
  const answered = (selected: string[], words?: string): Typed => ({
    kind: "resolve",
    resolution: { kind: "answered", selected, ...(words !== undefined && { text: words }) },
  });
  const other = /^=\s*(\S+)$/.exec(text)?.[1];
  if (other !== undefined && kind === "patient_picker" && isOpenEnded(schema)) return answered([other]);
  const [, list, words] = /^(\d{1,4}(?:[\s,]+\d{1,4})*)\s*(?::\s*(\S.*))?$/.exec(text) ?? [];
  if (list === undefined) return { kind: "message" };
  const numbers = [...new Set(list.split(/[\s,]+/))].map(Number);
  const chosen = numbers.map((number) => options[number - 1]);
  const ids = chosen.flatMap((option) => (option === undefined ? [] : [option.id]));
  if (ids.length < numbers.length) return { kind: "unclear", why: `choose among 1 to ${options.length}` };
  if (kind !== "multi_choice" && ids.length > 1) return { kind: "unclear", why: "choose one option only" };
  return answered(ids, words);
}

function readDecision({ proposal }: PendingInteraction, draft: Draft, text: string): Typed {
  if (text === "a") return { kind: "resolve", resolution: { kind: "accepted", ...editsOf(proposal, draft) } };
  const [, verb, number, dosing] = /^([ex])\s+(\d{1,4})(?:\s+(\S.*))?$/.exec(text) ?? [];
  if (verb === undefined) return { kind: "message" };
  const at = Number(number) - 1;
  if (draft[at] === undefined) return { kind: "unclear", why: `there are items 1 to ${draft.length}` };
  if (verb === "e")
    return dosing === undefined
      ? { kind: "unclear", why: "write the dosing after the number, like: e 2 200 mg at bedtime" }
      : { kind: "edit", draft: draft.with(at, dosing) };
  if (dosing !== undefined) return { kind: "message" };
  const left = draft.with(at, null);
  if (left.every((one) => one === null))
    return { kind: "unclear", why: "that would leave no item; d dismisses the proposal" };
  return { kind: "edit", draft: left };
}

/** Only what was changed is sent; a list of items is the whole list. */
function editsOf(proposal: Proposal | undefined, draft: Draft): { edits?: { items: unknown[] } } {
  const items = proposal?.items ?? [];
  if (items.every(({ dosing }, at) => draft[at] === dosing)) return {};
  const kept = items.flatMap(({ variant_id }, at) => {
    const dosing = draft[at];
    return dosing === null || dosing === undefined ? [] : [{ variant_id, dosing }];
  });
  return { edits: { items: kept } };
}
