import type { CallId } from "../ids.ts";
import { contextXml, withoutOurTags } from "./context-xml.ts";
import {
  type AssistantEntry,
  type Attachment,
  callsOf,
  type Entry,
  type Issuer,
  type ToolCall,
  type ToolOutcome,
  type ToolResultEntry,
} from "./entries.ts";

/** The one result of a call that a model of `issuer` made. */
export type Answer = {
  readonly call: ToolCall;
  readonly issuer: Issuer;
  readonly outcome: ToolOutcome;
  readonly text: string;
};

/** An attachment at its place: `texts[at]` is its marker, for which its bytes may stand. */
export type PlacedMedia = Attachment & { readonly at: number };

/** History in the form that every provider demands: roles alternate, beginning and ending with the user. */
export type Exchange<Part> =
  | {
      readonly role: "user";
      readonly answers: readonly Answer[];
      readonly texts: readonly string[];
      readonly media?: readonly PlacedMedia[];
    }
  | { readonly role: "model"; readonly parts: readonly Part[] };

export const NO_RESULT = "no result recorded";
/** Stands where history begins or ends with the model, or with nothing at all. */
export const EARLIER = "[The conversation began before this point.]";
export const GO_ON = "[Continue.]";

/** At least one character that is text: lone surrogates and white space are none. */
export const hasText = (text: string): boolean => /[^\s\ufffd\ud800-\udfff]/u.test(text);

/**
 * The answers of each entry's calls, by the entry's place. A result belongs to the last step before it that made a call
 * of its id and has no result for it yet: a provider may use an id again. Results that nobody asked for are dropped.
 * `closed` entries from the first on are complete: nothing that may follow answers a call of theirs.
 */
function answersOf(entries: readonly Entry[]): {
  readonly answers: readonly (readonly Answer[])[];
  readonly closed: number;
} {
  type Slot = { readonly call: ToolCall; readonly issuer: Issuer; result?: ToolResultEntry };
  const open = new Map<CallId, Slot[]>();
  let waiting = 0;
  let closed = 0;
  const slots = entries.map((entry, at): readonly Slot[] => {
    if (entry.kind === "tool_result") {
      const slot = open.get(entry.callId)?.pop();
      if (slot !== undefined) {
        slot.result = entry;
        waiting -= 1;
      }
    }
    const made = entry.kind === "assistant" ? callsOf(entry).map((call): Slot => ({ call, issuer: entry.issuer })) : [];
    // Taken from the end: the last step first, and within it the first call.
    for (const slot of made.toReversed()) open.set(slot.call.callId, [...(open.get(slot.call.callId) ?? []), slot]);
    waiting += made.length;
    if (waiting === 0) closed = at + 1;
    return made;
  });
  const answers = slots.map((made) =>
    made.map(({ call, issuer, result }) => ({
      call,
      issuer,
      outcome: result?.outcome ?? "error",
      text: result?.text ?? NO_RESULT,
    })),
  );
  return { answers, closed };
}

function attachmentMarks(entry: Entry & { kind: "user" }): readonly string[] {
  return (entry.attachments ?? []).map(({ mime, bytes }) => withoutOurTags(`[Attachment: ${mime}, ${bytes} bytes]`));
}

/** The marker of turns that were left out by rule. The model is told what it can't know. */
export const omission = (turns: number): string =>
  `[${turns} earlier ${turns === 1 ? "turn is" : "turns are"} left out here for lack of room. If something of them matters, look it up or ask.]`;

/** Entries never change: what one says is made once. */
const told = new WeakMap<Entry, readonly string[]>();

/** What an entry says on the user's side, each text a part of its own. The user's own words are not altered. */
export function userTexts(entry: Entry): readonly string[] {
  const known = told.get(entry);
  if (known !== undefined) return known;
  const texts = textsOf(entry);
  told.set(entry, texts);
  return texts;
}

function textsOf(entry: Entry): readonly string[] {
  switch (entry.kind) {
    case "user": {
      const started =
        entry.entryPoint === undefined || hasText(entry.text) ? "" : `[The user chose: ${entry.entryPoint}]`;
      const context = contextXml(entry.context) ?? "";
      const skills = (entry.skills ?? []).map(({ body }) => body);
      return [context, ...skills, entry.text, withoutOurTags(started), ...attachmentMarks(entry)].filter(hasText);
    }
    case "resolution":
      return [contextXml(entry.context) ?? "", withoutOurTags(entry.text)].filter(hasText);
    case "action":
      return hasText(entry.text) ? [withoutOurTags(entry.text)] : [];
    case "summary":
      return [
        ...(hasText(entry.text) ? [`[Summary of earlier conversation: ${withoutOurTags(entry.text)}]`] : []),
        ...(entry.omitted === undefined ? [] : [omission(entry.omitted)]),
      ];
    // An interaction is told by its call and by the resolution.
    case "interaction":
    case "tool_result":
    case "assistant":
      return [];
  }
}

/** The attachments of an entry; their markers are the last of its texts. */
function mediaOf(entry: Entry, texts: readonly string[]): readonly PlacedMedia[] {
  const attachments = entry.kind === "user" ? (entry.attachments ?? []) : [];
  return attachments.map((attachment, index) => ({ ...attachment, at: texts.length - attachments.length + index }));
}

/** What the first entries of a history came to. Nothing that follows them changes it. */
type Begun<Part> = {
  readonly entries: readonly Entry[];
  /** The one in force: it stands first, wherever it lies. */
  readonly summary: Entry | undefined;
  readonly exchanges: readonly Exchange<Part>[];
};

/**
 * Repairs any history: one result for each call, in call order, right after the step; what arrived in between comes
 * after the results; same-role neighbours are one; nothing blank. Storage is not touched.
 *
 * A history that goes on costs what is new: its closed part is kept by the identity of its entries, which never change,
 * and is the very same objects the next time. Anything else is made from the start.
 */
export class Alternation<Part> {
  readonly #render: (entry: AssistantEntry) => readonly Part[];
  /** By the first entry: it lives as long as its session's history does. */
  readonly #begun = new WeakMap<Entry, Begun<Part>>();

  /** `render` gives the parts of an assistant entry in the provider's form; a call must give at least one. */
  constructor(render: (entry: AssistantEntry) => readonly Part[]) {
    this.#render = render;
  }

  of(entries: readonly Entry[]): readonly Exchange<Part>[] {
    const [first] = entries;
    // A later summary covers what an earlier one did.
    const summary = entries.findLast((entry) => entry.kind === "summary");
    const known = first && this.#begun.get(first);
    const begun = known && isBeginning(known, entries, summary) ? known : undefined;
    const from = begun?.entries.length ?? 0;
    const exchanges = begun ? [...begun.exchanges] : [];
    if (!begun && summary !== undefined) userSays(exchanges, userTexts(summary));
    const { answers, closed } = answersOf(entries.slice(from));
    for (const [at, given] of answers.entries()) {
      this.#add(exchanges, entries[from + at], given);
      if (first && at + 1 === closed) {
        this.#begun.set(first, { entries: entries.slice(0, from + closed), summary, exchanges: [...exchanges] });
      }
    }
    if (exchanges.at(-1)?.role !== "user") userSays(exchanges, [GO_ON]);
    return exchanges;
  }

  #add(exchanges: Exchange<Part>[], entry: Entry | undefined, answers: readonly Answer[]): void {
    if (entry === undefined || entry.kind === "summary") return;
    if (entry.kind === "assistant") {
      modelSays(exchanges, this.#render(entry));
      userSays(exchanges, [], answers);
      return;
    }
    const texts = userTexts(entry);
    userSays(exchanges, texts, [], mediaOf(entry, texts));
  }
}

/** The same once, for a history that will not go on. */
export function alternate<Part>(
  entries: readonly Entry[],
  render: (entry: AssistantEntry) => readonly Part[],
): readonly Exchange<Part>[] {
  return new Alternation(render).of(entries);
}

function isBeginning<Part>(begun: Begun<Part>, entries: readonly Entry[], summary: Entry | undefined): boolean {
  return begun.summary === summary && begun.entries.every((entry, at) => entry === entries[at]);
}

/** An exchange that grows is replaced: whoever keeps it keeps it as it was. */
function userSays<Part>(
  exchanges: Exchange<Part>[],
  texts: readonly string[],
  results: readonly Answer[] = [],
  media: readonly PlacedMedia[] = [],
): void {
  if (texts.length + results.length === 0) return;
  const last = exchanges.at(-1);
  if (last?.role !== "user") {
    exchanges.push({ role: "user", answers: results, texts, ...(media.length > 0 && { media }) });
    return;
  }
  const moved = media.map((one) => ({ ...one, at: one.at + last.texts.length }));
  const all = [...(last.media ?? []), ...moved];
  exchanges[exchanges.length - 1] = {
    ...last,
    texts: [...last.texts, ...texts],
    ...(all.length > 0 && { media: all }),
  };
}

function modelSays<Part>(exchanges: Exchange<Part>[], parts: readonly Part[]): void {
  if (parts.length === 0) return;
  const last = exchanges.at(-1);
  if (last === undefined) userSays(exchanges, [EARLIER]);
  if (last?.role === "model") exchanges[exchanges.length - 1] = { role: "model", parts: [...last.parts, ...parts] };
  else exchanges.push({ role: "model", parts });
}
