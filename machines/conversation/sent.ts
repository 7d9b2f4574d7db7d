import type { AssistantPart, Entry, PlacedEntry, Shortening } from "./entries.ts";
import { sentTokens } from "./media-tokens.ts";
import { shortText, shortValue } from "./shorten.ts";

/**
 * What of a history is sent: the last summary stands for the earlier ones, and the results that it names as shortened
 * are. Pure, so that a turn which is taken over, thawed or audited sends the same.
 */
export function sent(history: readonly PlacedEntry[]): readonly PlacedEntry[] {
  const last = history.findLastIndex(({ entry }) => entry.kind === "summary");
  const summary = history[last]?.entry;
  if (summary?.kind !== "summary") return history;
  const kept = history.filter(({ entry }, at) => entry.kind !== "summary" || at === last);
  const { shortened } = summary;
  return shortened === undefined ? kept : kept.map((placed) => shortenedAt(placed, shortened));
}

/** The entry as it is sent when `rules` hold. The text of a skill is never shortened: half of it would mislead. */
export function shortenedAt(placed: PlacedEntry, rules: readonly Shortening[]): PlacedEntry {
  const rule = rules.find(({ from, before }) => placed.pos >= from && placed.pos < before);
  if (rule === undefined) return placed;
  const entry = shortenedEntry(placed.entry, rule);
  return entry === placed.entry ? placed : { ...placed, entry, tokens: sentTokens(entry) };
}

function shortenedEntry(entry: Entry, { characters, args }: Shortening): Entry {
  if (entry.kind === "tool_result" && entry.skill === undefined && entry.text.length > characters) {
    return { ...entry, text: shortText(entry.text, characters) };
  }
  if (args && entry.kind === "assistant" && entry.parts.some((part) => part.kind === "tool_call")) {
    return { ...entry, parts: entry.parts.map((part) => shortenedPart(part, characters)) };
  }
  return entry;
}

function shortenedPart(part: AssistantPart, characters: number): AssistantPart {
  if (part.kind !== "tool_call") return part;
  const { args, providerArgs, ...call } = part.call;
  const long = JSON.stringify(providerArgs ?? args) ?? "";
  if (long.length <= characters) return part;
  // A signature vouches for the part as it was made: on a changed one it would be refused.
  return {
    kind: "tool_call",
    call: {
      ...call,
      args: shortValue(args, characters),
      ...(providerArgs !== undefined && { providerArgs: shortValue(providerArgs, characters) }),
    },
  };
}
