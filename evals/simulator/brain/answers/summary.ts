import { Articles, Depletions, Evidence, Interactions, Labs, nameOf, OnePlan, Patients, Products } from "../data.ts";
import type { Done, Exchange, Scene } from "../scene.ts";
import { have } from "../steps.ts";
import type { Closing, Told } from "../told.ts";
import { deedLine } from "./deeds.ts";
import { andList } from "./phrases.ts";

/** The whole conversation in plain text: for a request without tools and without results of its own. */
export function summary(scene: Scene): string {
  const asksForTitle = /\btitle\b/i.test(scene.now.question);
  const first = scene.past[0]?.question ?? scene.now.question;
  if (asksForTitle)
    return first
      .split(/\s+/)
      .slice(0, 8)
      .join(" ")
      .replace(/[?.!]$/, "");
  const lines = scene.past.flatMap(exchangeLines);
  const all = [...scene.notes.map((note) => `Earlier: ${note}`), ...lines];
  if (all.length > 0) return all.join("\n");
  const blind = scene.tools.size === 0 ? "I have no tools in this request, so I can't look anything up. " : "";
  return `${blind}There is nothing earlier to sum up.`;
}

/** What the calls of the open exchange have found, when no further call can be made. */
export function soFar(scene: Scene): string {
  const lines = scene.now.done.flatMap((done) => digest(done).map((text) => `- ${text}`));
  return lines.length === 0
    ? "I can't look anything further up in this request, and I have no result to answer from."
    : `I can't look anything further up now. This is what I found so far:\n\n${lines.join("\n")}`;
}

function exchangeLines({ question, opened, told, done, answer }: Exchange): readonly string[] {
  const found = done.flatMap((each) => digest(each));
  return [
    ...told.flatMap(toldLine),
    opened === null ? `The user asked: ${question}` : decisionLine(opened),
    ...found.map((text) => `Found: ${text}`),
    ...(answer === "" ? [] : [`The assistant answered: ${answer.replace(/\s+/g, " ").slice(0, 600)}`]),
  ];
}

function decisionLine({ prompt, end }: Closing): string {
  switch (end.how) {
    case "chosen":
      return `The user chose for “${prompt}”: ${end.chosen.map(({ label }) => label).join(", ")}`;
    case "accepted":
    case "dismissed":
      return `The user ${end.how} “${prompt}”${end.how === "dismissed" && end.reason ? `: ${end.reason}` : ""}`;
    case "expired":
    case "withdrawn":
      return `Left open: “${prompt}”`;
  }
}

const toldLine = (told: Told): readonly string[] =>
  told.kind === "closing" ? [decisionLine(told)] : [`Reported: ${deedLine(told)}`];

/** One call in a line, from its result alone. */
function digest({ tool, outcome }: Done): readonly string[] {
  if (tool === "load_skill") return [];
  if (outcome.kind === "error") return [`${tool} failed: ${outcome.reason.slice(0, 200)}`];
  const check = have(outcome, Interactions);
  if (check !== null) {
    const none = (check.notRecorded ?? []).map(
      ({ a, b }) => `no interaction recorded between ${nameOf(a)} and ${nameOf(b)}`,
    );
    return [
      ...check.findings.map(({ a, b, severity }) => `${nameOf(a)} and ${nameOf(b)}: ${severity} interaction`),
      ...none,
    ];
  }
  const depletions = have(outcome, Depletions);
  if (depletions !== null)
    return depletions.depletions.map(({ drug, nutrient }) => `${nameOf(drug)} can lower ${nameOf(nutrient)}`);
  const plan = have(outcome, OnePlan);
  if (plan !== null)
    return [`plan "${plan.plan.title ?? ""}" (${plan.plan.id}) of ${plan.plan.patientName ?? "the patient"}`];
  const names =
    have(outcome, Patients)?.patients.map(({ name, id }) => `${name} (${id})`) ??
    have(outcome, Products)?.products.map(({ name, brand }) => [name, brand].filter((word) => word).join(", ")) ??
    have(outcome, Evidence)?.evidence.map(({ title, year }) => `${title}${year ? ` (${year})` : ""}`) ??
    have(outcome, Labs)?.labs.map(({ name }) => name) ??
    have(outcome, Articles)?.articles.map(({ title }) => title);
  return names === undefined ? [] : [`${tool}: ${names.length === 0 ? "nothing" : andList(names.slice(0, 6))}`];
}
