import { z } from "zod";

/** An option of a question that the user chose. */
export type Chosen = { readonly id: string; readonly label: string };

/** How a question or proposal ended. */
export type Closing = {
  readonly kind: "closing";
  readonly interaction: string;
  /** single_choice, multi_choice, patient_picker, plan_proposal. */
  readonly asked: string;
  readonly prompt: string;
  readonly end:
    | { readonly how: "chosen"; readonly chosen: readonly Chosen[]; readonly added: string }
    | { readonly how: "accepted"; readonly changed: boolean }
    | { readonly how: "dismissed"; readonly reason: string }
    | { readonly how: "expired" }
    | { readonly how: "withdrawn" };
};

/** What the system did for the user. */
export type Deed =
  | {
      readonly kind: "stored";
      readonly change: string;
      readonly plan: string;
      readonly title: string;
      readonly patient: string;
      readonly items: string;
      /** What was proposed and left out, for the draft held it in its own dosing. */
      readonly left?: string;
    }
  | { readonly kind: "not_stored"; readonly why: string }
  | { readonly kind: "added"; readonly item: string; readonly plan: string; readonly title: string }
  /** `dosing`: the draft's own, not what the button said. */
  | {
      readonly kind: "held";
      readonly item: string;
      readonly plan: string;
      readonly title: string;
      readonly dosing: string;
    }
  | { readonly kind: "unchanged"; readonly where: string; readonly items: string }
  | { readonly kind: "reported"; readonly text: string };

/** What the system reports on the user's side, in square brackets: never the user's own words. */
export type Told = Closing | Deed;

const QUOTED = `"(?:[^"\\\\]|\\\\.)*"`;
const CLOSING = new RegExp(`^\\[Interaction ([\\w-]+), (\\w+): (${QUOTED})\\. ([\\s\\S]*)\\]$`);
const CHOSEN = new RegExp(`^The user chose: ([\\s\\S]+?)\\.(?: The user added: (${QUOTED})\\.)?$`);
const DISMISSED = new RegExp(`^The user dismissed it\\.(?: Reason: (${QUOTED})\\.)?$`);
const STORED = new RegExp(
  `^\\[The system (\\w+) draft plan (\\S+) (${QUOTED}) for ([^:]+): ([\\s\\S]*?)\\.(?: Not added, as the draft held it already: ([\\s\\S]*)\\.)?\\]$`,
);
const NOT_STORED = /^\[The system could not store the plan: ([\s\S]*)\]$/;
const ADDED =
  /^\[The user pressed "[^"]*" on a card: ([\s\S]+)\. The system added it to draft plan (\S+) \(([\s\S]*)\)\.\]$/;
const HELD =
  /^\[The user pressed "[^"]*" on a card: ([\s\S]+)\. It was in draft plan (\S+) \(([\s\S]*)\) already, as ([\s\S]*); nothing was changed\.\]$/;
const UNCHANGED = /^\[The system changed nothing: ([\s\S]*?) holds all of that already: ([\s\S]*)\.\]$/;
const REPORTED = /^\[(The (?:user|system) (?!chose:)[\s\S]*)\]$/;

/** Reads a text of the system; undefined when it is the user's own. */
export function readTold(text: string): Told | undefined {
  const [, interaction = "", asked = "", prompt = "", rest] = CLOSING.exec(text) ?? [];
  if (rest !== undefined) {
    const end = endOf(rest);
    return end && { kind: "closing", interaction, asked, prompt: unquoted(prompt), end };
  }
  const [, change, plan = "", title = "", patient = "", items = "", left] = STORED.exec(text) ?? [];
  if (change !== undefined)
    return { kind: "stored", change, plan, title: unquoted(title), patient, items, ...(left && { left }) };
  const why = NOT_STORED.exec(text)?.[1];
  if (why !== undefined) return { kind: "not_stored", why };
  const [, item, into = "", called = ""] = ADDED.exec(text) ?? [];
  if (item !== undefined) return { kind: "added", item, plan: into, title: called };
  const [, held, inside = "", named = "", dosing = ""] = HELD.exec(text) ?? [];
  if (held !== undefined) return { kind: "held", item: held, plan: inside, title: named, dosing };
  const [, where, those = ""] = UNCHANGED.exec(text) ?? [];
  if (where !== undefined) return { kind: "unchanged", where, items: those };
  const report = REPORTED.exec(text)?.[1];
  return report === undefined ? undefined : { kind: "reported", text: report };
}

/** The button that a turn began with, where the user wrote nothing: "[The user chose: build_plan]". */
export const readEntryPoint = (text: string): string | undefined => /^\[The user chose: ([\w-]+)\]$/.exec(text)?.[1];

function endOf(rest: string): Closing["end"] | undefined {
  const [, list, added = '""'] = CHOSEN.exec(rest) ?? [];
  if (list !== undefined) return { how: "chosen", chosen: chosenIn(list), added: unquoted(added) };
  if (rest.startsWith("The user accepted the proposal"))
    return { how: "accepted", changed: rest.startsWith("The user accepted the proposal with changes") };
  const dismissed = DISMISSED.exec(rest);
  if (dismissed !== null) return { how: "dismissed", reason: unquoted(dismissed[1] ?? '""') };
  if (rest.startsWith("It expired")) return { how: "expired" };
  return rest.startsWith("It was withdrawn") ? { how: "withdrawn" } : undefined;
}

/** "Label (id); Label (with more) (id)" */
const chosenIn = (list: string): readonly Chosen[] =>
  [...list.matchAll(/(.+?) \(([^()]*)\)(?:; |$)/gs)].map(([, label = "", id = ""]) => ({ id, label }));

const Text = z.string();
function unquoted(json: string): string {
  try {
    return Text.parse(JSON.parse(json));
  } catch {
    return json.slice(1, -1); // a line break of someone else's inside: read as it stands
  }
}
