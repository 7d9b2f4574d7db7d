/** The demo data as the platform holds it in memory: validated once, camelCase keys, never changed. */
import { z } from "zod";
import { readPlatformFile } from "../package-files.ts";

const text = z.string();
const nullable = z.string().nullable();
const number = z.number();

const source = z.object({ title: text, address: text, year: number.nullish() });
const dose = z.object({ min: number, max: number, unit: text, basis: text });
const limit = z.object({ value: number, unit: text, authority: text });

const evidence = z.object({
  id: text,
  title: text,
  year: number.nullable(),
  journal: nullable,
  studyType: text,
  population: text,
  intervention: text,
  outcome: text,
  finding: text,
  supplements: z.array(text),
  url: text,
});
const supplement = z.object({
  id: text,
  name: text,
  category: text,
  synonyms: z.array(text),
  forms: z.array(z.object({ id: text, name: text })),
  typicalAdultDose: dose.nullable(),
  upperLimit: limit.nullable(),
  cautions: z.array(text),
});
const interaction = z.object({
  id: text,
  kind: z.enum(["interaction", "depletion"]),
  supplementId: text,
  drug: z.object({ name: text, drugClass: text, synonyms: z.array(text) }),
  severity: z.enum(["major", "moderate", "minor"]),
  evidenceLevel: z.enum(["established", "probable", "possible", "listed"]),
  mechanism: text,
  effect: text,
  advice: text,
  sources: z.array(source),
});
const negative = z.object({
  id: text,
  drug: z.object({ name: text, synonyms: z.array(text) }),
  supplementId: text,
  finding: text,
  note: nullable,
});
const lab = z.object({
  id: text,
  name: text,
  loinc: text,
  loincName: text,
  specimen: text,
  note: nullable,
  referenceInterval: z.object({ low: number.nullable(), high: number.nullable(), unit: text, text }),
  relatedSupplements: z.array(text),
});
const product = z.object({
  id: text,
  brand: text,
  name: text,
  supplementIds: z.array(text),
  form: text,
  inStock: z.boolean(),
  ingredients: z.array(z.object({ supplementId: text, formId: text.nullish(), amount: number, unit: text })),
  servingsPerContainer: number,
  price: z.object({ amount: number, currency: text }),
  note: nullable,
  dietFlags: z.array(text),
  allergens: z.array(text),
  exceedsUpperLimit: z.array(text),
  availableOrMasterVariant: z.object({ id: text, sku: text }),
});
const patient = z.object({
  id: text,
  name: text,
  dob: text,
  sex: text,
  conditions: z.array(text),
  allergies: z.array(text),
  medications: z.array(z.object({ name: text, dose: text, frequency: text })),
  labs: z.array(z.object({ labId: text, value: number, unit: text, date: text })),
  preferences: z.object({ diet: text, forms: z.array(text), budgetUsdMonth: number, notes: text }),
});
const note = z.object({ id: text, patientId: text, date: text, author: text, visitType: text, text });
const article = z.object({ id: text, title: text, category: text, tags: z.array(text), updated: text, body: text });

export type Evidence = z.infer<typeof evidence>;
export type Supplement = z.infer<typeof supplement>;
export type Interaction = z.infer<typeof interaction>;
export type Negative = z.infer<typeof negative>;
export type Lab = z.infer<typeof lab>;
export type Product = z.infer<typeof product>;
export type Patient = z.infer<typeof patient>;
export type VisitNote = z.infer<typeof note>;
export type Article = z.infer<typeof article>;

/** Everything the platform knows, in the order of the files. */
export type Dataset = {
  readonly evidence: readonly Evidence[];
  readonly supplements: readonly Supplement[];
  readonly interactions: readonly Interaction[];
  readonly negatives: readonly Negative[];
  readonly labs: readonly Lab[];
  readonly products: readonly Product[];
  readonly patients: readonly Patient[];
  readonly visitNotes: readonly VisitNote[];
  readonly articles: readonly Article[];
};

/** Reads and checks the JSON files of the package. Throws a `ZodError` when one does not have the expected form. */
export function loadDataset(): Dataset {
  return {
    evidence: records("evidence", evidence),
    supplements: records("supplements", supplement),
    interactions: records("interactions", interaction),
    negatives: records("negatives", negative),
    labs: records("labs", lab),
    products: records("products", product),
    patients: records("patients", patient),
    visitNotes: records("visit-notes", note),
    articles: records("help-articles", article),
  };
}

function records<T>(file: string, schema: z.ZodType<T>): readonly T[] {
  const parsed = camelKeys(JSON.parse(readPlatformFile(`data/${file}.json`)));
  return z.object({ records: z.array(schema) }).parse(parsed).records;
}

function camelKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(camelKeys);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [camel(key), camelKeys(inner)]));
}

const camel = (key: string): string => key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
