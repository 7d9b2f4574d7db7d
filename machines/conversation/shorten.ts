import { isObject } from "./json-values.ts";

const MARK_ROOM = 60;
const mark = (missing: number, total: number): string => `[… ${missing} of ${total} characters were left out …]`;
const isHighSurrogate = (code: number): boolean => code >= 0xd800 && code <= 0xdbff;

/**
 * The text itself, or its beginning and end around a marker that counts what is missing. Never longer than `max`
 * (120 at least), never half a surrogate pair.
 */
export function shortText(text: string, max: number): string {
  if (text.length <= max) return text;
  const room = Math.max(MARK_ROOM, max - MARK_ROOM);
  const headEnd = Math.ceil(room * 0.75);
  const tailStart = text.length - (room - headEnd);
  const head = text.slice(0, isHighSurrogate(text.charCodeAt(headEnd - 1)) ? headEnd - 1 : headEnd);
  const tail = text.slice(isHighSurrogate(text.charCodeAt(tailStart - 1)) ? tailStart + 1 : tailStart);
  return head + mark(text.length - head.length - tail.length, text.length) + tail;
}

/** The same value with its long texts shortened: keys, types, numbers and order stay, so it is still valid JSON. */
export function shortValue(value: unknown, max: number): unknown {
  if (typeof value === "string") return shortText(value, max);
  if (Array.isArray(value)) return value.map((inner) => shortValue(inner, max));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shortValue(inner, max)]));
}
