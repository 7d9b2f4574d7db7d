import { excerpt } from "./bounds.ts";

const STACK_LINE = /^\s*at\s.+$/gm;
const ADDRESS = /\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s"'<>)]+/gi;
const HOST_AND_PORT = /\b(?:localhost|\d{1,3}(?:\.\d{1,3}){3}|[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){1,8}):\d{1,5}\b/gi;
const IP_ADDRESS = /\b\d{1,3}(?:\.\d{1,3}){3}\b/g;
const INTERNAL_HOST =
  /\b[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){0,8}\.(?:internal|local|localdomain|lan|corp|svc|test)\b/gi;
const FILE = /(?<![\w.])(?:\/[\w.@-]+){2,}(?::\d+(?::\d+)?)?/g;

/**
 * Another system's error text as the model may read it: no stack lines, addresses, hosts or file names, `max` characters at most.
 * A courtesy, not a filter for secrets: cookies and keys are never in such texts, because we never send them there.
 */
export function safeText(text: string, max: number): string {
  return excerpt(
    text
      .slice(0, max * 4)
      .replace(STACK_LINE, "")
      .replace(ADDRESS, "[address]")
      .replace(HOST_AND_PORT, "[host]")
      .replace(IP_ADDRESS, "[host]")
      .replace(INTERNAL_HOST, "[host]")
      .replace(FILE, "[file]")
      .replace(/\n\s*\n+/g, "\n")
      .trim(),
    max,
  );
}
