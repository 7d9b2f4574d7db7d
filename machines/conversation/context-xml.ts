import type { ContextSignals } from "./entries.ts";

/** Longest raw text of a value, in UTF-16 code units. Cut before escaping, so that no entity is ever split. */
export type ContextCaps = {
  readonly outline: number;
  readonly preferences: number;
  readonly attribute: number;
};

export const CONTEXT_CAPS: ContextCaps = { outline: 400, preferences: 1_000, attribute: 500 };

/** What XML 1.0 has no way to write, escaped or not. Lone surrogates are gone before (`toWellFormed`). */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what this expression is about
const UNWRITABLE = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g;

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&apos;",
  "\t": "&#9;",
  "\n": "&#10;",
  "\r": "&#13;",
};

const entity = (character: string): string => ENTITIES[character] ?? character;
const writable = (text: string): string => text.toWellFormed().replace(UNWRITABLE, "\ufffd");
const escapeText = (text: string): string => writable(text).replace(/[&<>]/g, entity);
const escapeAttribute = (text: string): string => writable(text).replace(/[&<>"'\t\n\r]/g, entity);

/** At most `cap` code units, the last one an ellipsis when something was left out. Never half a surrogate pair. */
export function cut(text: string, cap: number): string {
  if (text.length <= cap) return text;
  const end = cap - 1;
  const splitsPair = /[\ud800-\udbff]/.test(text.charAt(end - 1)) && /[\udc00-\udfff]/.test(text.charAt(end));
  return `${text.slice(0, Math.max(0, splitsPair ? end - 1 : end))}…`;
}

type Attributes = Readonly<Record<string, string | undefined>>;

function element(name: string, attributes: Attributes, content: string, cap: number): string {
  const written = Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined || value === "" ? [] : [` ${key}="${escapeAttribute(cut(value, cap))}"`],
  );
  if (written.length === 0 && content === "") return "";
  return content === ""
    ? `<${name}${written.join("")}/>`
    : `<${name}${written.join("")}>${escapeText(content)}</${name}>`;
}

/**
 * The user's screen as one line of XML, to stand before the user's own text. No value can leave its place.
 * Undefined when there is nothing to tell.
 */
export function contextXml(signals: ContextSignals | undefined, caps: ContextCaps = CONTEXT_CAPS): string | undefined {
  if (signals === undefined) return undefined;
  const { patient, plan, page, preferences = {} } = signals;
  const wishes = Object.keys(preferences).length === 0 ? "" : cut(JSON.stringify(preferences), caps.preferences);
  const inner = [
    element("patient", { id: patient?.id, name: patient?.name }, "", caps.attribute),
    element("plan", { id: plan?.id }, cut(plan?.outline ?? "", caps.outline), caps.attribute),
    element("page", { url: page?.url, title: page?.title }, "", caps.attribute),
    element("preferences", {}, wishes, caps.attribute),
  ].join("");
  return inner === "" ? undefined : `<context>${inner}</context>`;
}

const OUR_TAGS = /<(?=\s*\/?\s*(?:context|patient|plan|page|preferences|skills|system)\b)/gi;

/** Text from elsewhere (a summary, an outcome) that stands outside the block: it stays readable, but cannot pose as one. */
export const withoutOurTags = (text: string): string => text.replace(OUR_TAGS, "&lt;");
