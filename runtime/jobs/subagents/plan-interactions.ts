import { z } from "zod";
import { excerpt } from "../../../tools/bounds.ts";
import type { Product } from "../../../tools/builtin/catalog.ts";
import { type Lookup, lookUp } from "../../../tools/builtin/lookup.ts";
import type { ToolContext } from "../../../tools/tool.ts";
import type { Verdict } from "./plan-doses.ts";
import type { PlanPatient } from "./plan-patient.ts";

/** As many names as the platform checks at once. */
const MOST_NAMES = 30;
const LINE_CHARACTERS = 260;

const check = z.object({
  findings: z.array(z.object({ a: z.string(), b: z.string(), severity: z.string(), advice: z.string().nullish() })),
  notRecorded: z.array(z.object({ a: z.string(), b: z.string() })).nullish(),
  unknown: z.array(z.string()).nullish(),
});
type Check = z.infer<typeof check>;
type Finding = Check["findings"][number];

const MAJOR = /^(major|severe|contraindicated)$/i;
const plain = (name: string): string => name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");

/** All supplements of the plan with all of the patient's medication, by the platform's own check. `warnings` go into the notes too. */
export async function interactionVerdict(
  context: ToolContext,
  patient: PlanPatient,
  products: readonly Product[],
  isEnabled: boolean,
): Lookup<Verdict> {
  const medications = (patient.medications ?? []).map(({ name }) => name);
  if (medications.length === 0) return { found: { problems: [], warnings: [] } };
  if (!isEnabled)
    return { found: { problems: [], warnings: ["Interactions with the patient's medication were not checked."] } };
  const supplements = [...new Set(products.flatMap((product) => product.supplements.map(({ name }) => name)))];
  const names = [...new Set([...medications, ...supplements])];
  const problems =
    names.length > MOST_NAMES
      ? [`${names.length} medications and supplements are more than can be checked at once: leave items out.`]
      : [];
  if (problems.length > 0) return { found: { problems, warnings: [] } };
  const looked = await lookUp(context, "interaction_check", { items: names }, check);
  return "failed" in looked ? looked : { found: verdict(looked.found, medications, products) };
}

function verdict(
  { findings, notRecorded, unknown }: Check,
  medications: readonly string[],
  products: readonly Product[],
): Verdict {
  const major = findings.filter(({ severity }) => MAJOR.test(severity));
  const others = findings.filter((finding) => !major.includes(finding));
  // A supplement that is on the chart as a medication is not the plan's doing; the practitioner is told.
  const isTaken = ({ b }: Finding) =>
    holders(b, products).length === 0 && medications.some((name) => plain(name).includes(plain(b)));
  const taken = major.filter(isTaken);
  const refused = major.filter((finding) => !taken.includes(finding));
  const unchecked = (notRecorded ?? []).map(({ a, b }) => `${a} + ${b}`);
  return {
    problems: refused.map((finding) => {
      const items = holders(finding.b, products).map(({ name }) => name);
      return `${items.length > 0 ? items.join(", ") : "An item"} must go: ${line(finding)}`;
    }),
    warnings: [
      ...[...taken, ...others].map(line),
      ...(unchecked.length > 0
        ? [excerpt(`No interaction is recorded, which is no proof of safety, for ${unchecked.join("; ")}.`, 600)]
        : []),
      ...((unknown ?? []).length > 0
        ? [excerpt(`Not recognised, so not checked: ${(unknown ?? []).join("; ")}.`, 600)]
        : []),
    ],
  };
}

const holders = (supplement: string, products: readonly Product[]): readonly Product[] =>
  products.filter(({ supplements }) => supplements.some(({ name }) => plain(name) === plain(supplement)));

const line = ({ a, b, severity, advice }: Finding): string =>
  excerpt(`${a} and ${b}: ${severity}. ${advice ?? ""}`.trim(), LINE_CHARACTERS);
