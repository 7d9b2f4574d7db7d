import type { Deed } from "../told.ts";

/** What the system did, in one sentence. */
export function deedLine(deed: Deed): string {
  switch (deed.kind) {
    case "stored":
      return `The system ${deed.change} the draft plan “${deed.title}” (${deed.plan}) for ${deed.patient}: ${deed.items}.${deed.left ? ` Left as it was: ${deed.left}.` : ""}`;
    case "not_stored":
      return `The plan could not be stored: ${deed.why}`;
    case "added":
      return `You added ${deed.item} to the draft plan “${deed.title}” (${deed.plan}).`;
    case "held":
      return `${deed.item} was in the draft plan “${deed.title}” (${deed.plan}) before, as ${deed.dosing}; nothing was added.`;
    case "unchanged":
      return `Nothing was added: ${deed.where} held all of it before: ${deed.items}.`;
    case "reported":
      return deed.text;
  }
}
