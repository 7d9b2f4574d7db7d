import { notRecognised } from "./answers/interactions.ts";
import { Interactions, nameOf, type Patient, type Plan } from "./data.ts";
import type { Choice } from "./pick.ts";
import { ask, have, type Steps } from "./steps.ts";

/** A product for a plan, under the name it was looked for. */
export type Item = { readonly name: string; readonly why: string; readonly choice: Choice };

type Checked = {
  readonly kept: readonly Item[];
  readonly remarks: readonly string[];
  readonly cautions: readonly string[];
};

const same = (a: string, b: string): boolean =>
  a.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "") === b.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");

/** Drops what is part of a major interaction; what is moderate, unknown or unchecked goes into the notes of the plan. */
export function* checked(patient: Patient, found: readonly (Item | string)[], drafts: readonly Plan[]): Steps<Checked> {
  const items = found.flatMap((each) => (typeof each === "string" ? [] : [each]));
  const remarks = found.flatMap((each) => (typeof each === "string" ? [each] : []));
  const medications = (patient.medications ?? []).map(({ name }) => name);
  const planned = drafts.flatMap((draft) => (draft.items ?? []).flatMap(({ name }) => name ?? []));
  const names = [...new Set([...medications, ...items.map(({ name }) => name), ...planned])];
  if (items.length === 0 || names.length < 2) return { kept: items, remarks, cautions: [] };
  const check = have(yield* ask("interaction_check", { items: names.slice(0, 30) }), Interactions);
  if (check === null) return { kept: items, remarks, cautions: ["Interactions were not checked."] };
  const holds = ({ name, choice }: Item, other: string) =>
    same(name, other) || (choice.product.supplements ?? []).some((each) => same(nameOf(each), other));
  const line = ({ a, b, severity, advice, effect }: Interactions["findings"][number]) =>
    `${nameOf(a)} and ${nameOf(b)}: ${severity}. ${advice ?? effect ?? ""}`.trim();
  const major = check.findings.filter(({ severity }) => /^(major|severe|contraindicated)$/i.test(severity));
  const against = (item: Item) => major.filter(({ a, b }) => holds(item, nameOf(a)) || holds(item, nameOf(b)));
  const kept = items.filter((item) => against(item).length === 0);
  const dropped = items.flatMap((item) => against(item).map((finding) => `I left out ${item.name}. ${line(finding)}`));
  const others = check.findings.filter((finding) => !major.includes(finding));
  const concerns = others.filter(({ a, b }) => kept.some((item) => holds(item, nameOf(a)) || holds(item, nameOf(b))));
  return {
    kept,
    remarks: [...new Set(dropped), ...remarks],
    cautions: [...concerns.map(line), ...notRecognised(check.unknown ?? [])],
  };
}
