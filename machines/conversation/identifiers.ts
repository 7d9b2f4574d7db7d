import { turnsOf } from "./cut.ts";
import type { Entry, PlacedEntry } from "./entries.ts";

/** Ids of the record: patients, plans, products, variants, labs. A product's own words never have this form. */
const IDENTIFIER = /\b(?:pat|plan|prd|prod|var|lab)-(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{2,})\b/g;
/** How far back, and how many: the newest first. */
const TURNS = 4;
const MOST = 12;

export const identifiersIn = (text: string): readonly string[] => text.match(IDENTIFIER) ?? [];

/**
 * Ids that a summary of these entries has to name: those that the user, the user's screen, the assistant's words or
 * its calls named in the last four turns of them, the newest twelve. A result lists many more than anyone took up.
 */
export function requiredIdentifiers(replaced: readonly PlacedEntry[]): readonly string[] {
  const found = turnsOf(replaced)
    .slice(-TURNS)
    .flatMap(({ entries }) => entries.flatMap(({ entry }) => identifiersIn(takenUp(entry))))
    .reverse();
  return [...new Set(found)].slice(0, MOST);
}

function takenUp(entry: Entry): string {
  switch (entry.kind) {
    case "user":
      return `${entry.text} ${entry.context?.patient?.id ?? ""} ${entry.context?.plan?.id ?? ""}`;
    case "assistant":
      return entry.parts
        .map((part) =>
          part.kind === "text" ? part.text : part.kind === "tool_call" ? (JSON.stringify(part.call.args) ?? "") : "",
        )
        .join(" ");
    case "resolution":
      return `${entry.text} ${entry.context?.patient?.id ?? ""}`;
    case "action":
      return entry.text;
    case "summary":
    case "tool_result":
    case "interaction":
      return "";
  }
}
