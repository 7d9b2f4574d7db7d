/** What one tool result may cost the prompt, in UTF-16 characters. */
export const RESULT_CHARACTERS = 24_000;

const HEAD_SHARE = 0.75;
const count = (n: number) => n.toLocaleString("en-US");

const NARROW = "To see them, narrow the request: a more specific query, a smaller limit, or single ids.";

const marker = (missing: number, total: number, hint: string) =>
  `\n[… ${count(missing)} of ${count(total)} characters are left out here. ${hint} …]\n`;

/**
 * The text itself when it fits into `max` characters, else its beginning and end around a marker that says how much is missing.
 * Always valid Unicode, never longer than `max` (200 at least, 400 with a hint of the caller's). `hint` says how to see the rest.
 */
export function bounded(text: string, max: number = RESULT_CHARACTERS, hint: string = NARROW): string {
  if (text.length <= max) return text.toWellFormed();
  const room = Math.max(0, max - marker(text.length, text.length, hint).length);
  const head = clipped(text, Math.floor(room * HEAD_SHARE));
  const tail = endOf(text, room - Math.floor(room * HEAD_SHARE));
  return (head + marker(text.length - head.length - tail.length, text.length, hint) + tail).toWellFormed();
}

/** The first `max` characters without half a surrogate pair at the end. */
export function clipped(text: string, max: number): string {
  if (text.length <= max) return text;
  return text.slice(0, isHighSurrogate(text, max - 1) ? max - 1 : max);
}

/** The first words of a text, with an ellipsis when some are missing; `max` characters at most. */
export function excerpt(text: string, max: number): string {
  if (text.length <= max) return text.toWellFormed();
  const cut = clipped(text, max - 1);
  const space = cut.lastIndexOf(" ");
  return `${(space > max / 2 ? cut.slice(0, space) : cut).trimEnd()}…`.toWellFormed();
}

function endOf(text: string, max: number): string {
  const start = text.length - max;
  return text.slice(isHighSurrogate(text, start - 1) ? start + 1 : start);
}

function isHighSurrogate(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 0xd800 && code <= 0xdbff;
}
