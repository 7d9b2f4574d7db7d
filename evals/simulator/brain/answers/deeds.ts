import type { Deed } from "../told.ts";

/** What the system did, in one sentence. */
export function deedLine(deed: Deed): string {
  switch (deed.kind) {
    case "stored":
      return `The system ${deed.change} the draft plan “${deed.title}” (${deed.plan}) for ${deed.patient}: ${deed.items}.`;
    case "not_stored":
      return `The plan could not be stored: ${deed.why}`;
    case "added":
      return `You added ${deed.item} to the draft plan “${deed.title}” (${deed.plan}).`;
    case "reported":
      return deed.text;
  }
}
