import { type Interactions, nameOf } from "../data.ts";
import { andList, capital, sourceLine } from "./phrases.ts";

const ORDER = ["contraindicated", "severe", "major", "moderate", "minor"];
const rank = (severity: string): number => {
  const at = ORDER.indexOf(severity.toLowerCase());
  return at < 0 ? ORDER.length : at;
};

/** Findings, pairs without a record and unrecognised names of one check, worst first. */
export function interactionAnswer(check: Interactions, unknown: readonly string[]): string {
  const findings = [...check.findings].sort((a, b) => rank(a.severity) - rank(b.severity));
  const parts = findings.map((finding) =>
    [
      `**${capital(nameOf(finding.a))} and ${nameOf(finding.b)}: ${finding.severity} interaction**`,
      ...line("Mechanism", finding.mechanism),
      ...line("Effect", finding.effect),
      ...line("Advice", finding.advice),
      ...line("Evidence", [finding.evidenceLevel, sourceLine(finding.sources ?? [])].filter((word) => word).join("; ")),
    ].join("\n"),
  );
  return (
    [...parts, ...nothingRecorded(check), ...notRecognised(unknown)].join("\n\n") ||
    "The check returned no result for these names."
  );
}

/** One short sentence a finding, for an answer that is about something else. */
export function interactionNotes(check: Interactions): string {
  const notes = check.findings.map((finding) =>
    `- ${nameOf(finding.a)} and ${nameOf(finding.b)}: **${finding.severity}**. ${finding.advice ?? finding.effect ?? ""}`.trimEnd(),
  );
  return [...notes, ...nothingRecorded(check)].join("\n");
}

function nothingRecorded(check: Interactions): readonly string[] {
  const pairs = check.notRecorded ?? [];
  if (pairs.length === 0) return [];
  const remark =
    check.remark ?? pairs.find((pair) => pair.remark)?.remark ?? "A missing record is not proof of safety.";
  const lines = pairs.map(
    ({ a, b, note }) => `No interaction is recorded between ${nameOf(a)} and ${nameOf(b)}.${note ? ` ${note}` : ""}`,
  );
  return [`${lines.length === 1 ? lines[0] : lines.map((each) => `- ${each}`).join("\n")}\n\n${remark}`];
}

export const notRecognised = (names: readonly string[]): readonly string[] =>
  names.length === 0
    ? []
    : [
        `I did not recognise ${andList(names.map((name) => `"${name}"`))}, so nothing was checked for ${names.length === 1 ? "it" : "them"}.`,
      ];

const line = (label: string, value: string | null | undefined): readonly string[] =>
  value ? [`- ${label}: ${value}`] : [];
