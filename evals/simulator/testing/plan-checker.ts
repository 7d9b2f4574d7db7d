import { readFileSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "../../../skills/package-root.ts";

/** Knows the data files and nothing of how plans are checked by the product. */
type Ingredient = { readonly supplement_id: string; readonly amount: number; readonly unit: string };
type Product = {
  readonly id: string;
  readonly name: string;
  readonly form: string;
  readonly ingredients: readonly Ingredient[];
  readonly allergens: readonly string[];
  readonly diet_flags: readonly string[];
  readonly availableOrMasterVariant: { readonly id: string };
};
type Supplement = {
  readonly id: string;
  readonly name: string;
  readonly upper_limit: { readonly value: number; readonly unit: string } | null;
};
type Interaction = {
  readonly kind: string;
  readonly drug: { readonly name: string; readonly synonyms?: readonly string[]; readonly drug_class?: string };
  readonly supplement_id: string;
  readonly severity: string;
};
type Patient = {
  readonly id: string;
  readonly medications: readonly { readonly name: string }[];
  readonly allergies: readonly string[];
  readonly preferences: { readonly diet: string };
};
type Note = { readonly id: string; readonly patient_id: string; readonly text: string };

function records<T>(file: string): readonly T[] {
  const text = readFileSync(join(packageRoot(), "tools", "platform", "data", file), "utf8");
  return (JSON.parse(text) as { records: readonly T[] }).records;
}

const products = records<Product>("products.json");
const supplements = records<Supplement>("supplements.json");
const interactions = records<Interaction>("interactions.json").filter(({ kind }) => kind === "interaction");
const patients = records<Patient>("patients.json");
export const visitNotes = records<Note>("visit-notes.json");

const MILLIGRAMS: Readonly<Record<string, number>> = { g: 1_000, mg: 1, mcg: 0.001 };

export type CheckedPlan = {
  readonly patient_id: string;
  readonly items: readonly { readonly product_id: string; readonly variant_id: string; readonly dosing: string }[];
  readonly notes?: string | undefined;
};

/** What is wrong with a plan by the data; nothing when it holds. Doses are read from the words that a person follows. */
export function faultsOf(
  { patient_id, items, notes = "" }: CheckedPlan,
  warnings: readonly string[],
): readonly string[] {
  const patient = patients.find(({ id }) => id === patient_id);
  if (patient === undefined) return [`there is no patient ${patient_id}`];
  const taken = items.flatMap((item) => {
    const product = products.find(({ availableOrMasterVariant: { id } }) => id === item.variant_id);
    return product === undefined || product.id !== item.product_id ? [] : [{ product, perDay: perDayOf(item.dosing) }];
  });
  const told = [notes, ...warnings].join("\n").toLowerCase();
  return [
    ...(taken.length < items.length ? ["a product does not exist"] : []),
    ...taken.flatMap(({ product, perDay }) =>
      perDay === undefined ? [`no dose can be read for ${product.name}`] : [],
    ),
    ...taken.flatMap(({ product }) =>
      product.allergens.filter((allergen) =>
        patient.allergies.some((allergy) => allergy.toLowerCase().includes(allergen)),
      ),
    ),
    ...taken.flatMap(({ product }) =>
      patient.preferences.diet === "vegan" && !product.diet_flags.includes("vegan")
        ? [`${product.name} is not vegan`]
        : [],
    ),
    ...supplements.flatMap((supplement) => overLimit(supplement, taken)),
    ...majors(patient, new Set(taken.flatMap(({ product }) => product.ingredients.map((one) => one.supplement_id))))
      .filter(({ drug, name }) => !(told.includes(drug.toLowerCase()) && told.includes(name.toLowerCase())))
      .map(({ drug, name }) => `${drug} and ${name}: a major interaction that is not mentioned`),
  ];
}

type Taken = { readonly product: Product; readonly perDay: number | undefined };

function overLimit({ id, name, upper_limit: limit }: Supplement, taken: readonly Taken[]): readonly string[] {
  if (limit === null) return [];
  const [unit = ""] = limit.unit.split(" ");
  const total = taken
    .flatMap(({ product, perDay = 0 }) => product.ingredients.map((one) => ({ ...one, amount: one.amount * perDay })))
    .filter(({ supplement_id }) => supplement_id === id)
    .reduce((sum, { amount, unit: own }) => sum + inUnit(amount, own.split(" ")[0] ?? "", unit), 0);
  return total > limit.value ? [`${total} ${unit} of ${name} a day is above ${limit.value}`] : [];
}

function inUnit(amount: number, own: string, wanted: string): number {
  if (own === wanted) return amount;
  const [from, to] = [MILLIGRAMS[own], MILLIGRAMS[wanted]];
  if (from === undefined || to === undefined) throw new TypeError(`${own} can't be compared with ${wanted}`);
  return (amount * from) / to;
}

function perDayOf(dosing: string): number | undefined {
  const [, count] = /^(\d+(?:\.\d+)?) servings? daily\b/.exec(dosing) ?? [];
  return count === undefined ? undefined : Number(count);
}

function majors({ medications }: Patient, planned: ReadonlySet<string>) {
  return interactions.flatMap(({ drug, supplement_id, severity }) => {
    if (severity !== "major" || !planned.has(supplement_id)) return [];
    const names = [drug.name, drug.drug_class ?? "", ...(drug.synonyms ?? [])].map((name) => name.toLowerCase());
    const isTaken = medications.some(({ name }) =>
      names.some((each) => each !== "" && name.toLowerCase().includes(each)),
    );
    const supplement = supplements.find(({ id }) => id === supplement_id);
    return isTaken ? [{ drug: drug.name, name: supplement?.name ?? supplement_id }] : [];
  });
}
