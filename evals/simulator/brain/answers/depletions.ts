import type { z } from "zod";
import { type Depletions, nameOf } from "../data.ts";
import { notRecognised } from "./interactions.ts";
import { sourceLine } from "./phrases.ts";

/** What each drug can lower, with effect and advice as recorded. */
export function depletionAnswer(found: z.infer<typeof Depletions>): string {
  const parts = found.depletions.map(({ drug, nutrient, severity, mechanism, effect, advice, sources }) =>
    [
      `**${nameOf(drug)} can lower ${nameOf(nutrient)}**${severity ? ` (${severity})` : ""}`,
      ...[mechanism, effect].flatMap((text) => (text ? [`- ${text}`] : [])),
      ...(advice ? [`- Advice: ${advice}`] : []),
      ...(sourceLine(sources ?? []) === "" ? [] : [`- Source: ${sourceLine(sources ?? [])}`]),
    ].join("\n"),
  );
  const none = parts.length === 0 ? ["No nutrient depletion is recorded for these medications."] : [];
  return [...parts, ...none, ...notRecognised(found.unknown ?? [])].join("\n\n");
}
