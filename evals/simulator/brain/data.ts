import { z } from "zod";

/** The results that the brain can read. Only what answers need is listed, and almost all of it may be absent. */
const text = z.string().nullish();
const source = z.looseObject({ title: text, year: z.union([z.number(), z.string()]).nullish(), url: text });
const sources = z.array(source).nullish();
const named = z.union([z.string(), z.looseObject({ id: text, name: text })]);

export const Patient = z.looseObject({
  id: z.string(),
  name: z.string(),
  dob: text,
  sex: text,
  conditions: z.array(z.string()).nullish(),
  medications: z.array(z.looseObject({ name: z.string(), dose: text, frequency: text })).nullish(),
  allergies: z.array(z.string()).nullish(),
  labs: z
    .array(
      z.looseObject({
        labId: text,
        name: text,
        value: z.union([z.number(), z.string()]).nullish(),
        unit: text,
        date: text,
      }),
    )
    .nullish(),
  preferences: z.unknown().optional(),
});
export const Patients = z.looseObject({ patients: z.array(Patient) });
export const OnePatient = z.looseObject({ patient: Patient.nullable() });

export const VisitNotes = z.looseObject({ visitNotes: z.array(z.looseObject({ date: text, text: z.string() })) });

export const Finding = z.looseObject({
  a: named,
  b: named,
  severity: z.string(),
  mechanism: text,
  effect: text,
  advice: text,
  evidenceLevel: text,
  sources,
});
export const Interactions = z.looseObject({
  findings: z.array(Finding),
  notRecorded: z.array(z.looseObject({ a: named, b: named, note: text, remark: text })).nullish(),
  matched: z.array(z.looseObject({ input: z.string(), kind: text, id: text, name: text })).nullish(),
  unknown: z.array(z.string()).nullish(),
  remark: text,
});

export const Depletions = z.looseObject({
  depletions: z.array(
    z.looseObject({
      drug: named,
      nutrient: named,
      severity: text,
      mechanism: text,
      effect: text,
      advice: text,
      sources,
    }),
  ),
  unknown: z.array(z.string()).nullish(),
});

const range = z.looseObject({ min: z.number().nullish(), max: z.number().nullish(), unit: text, basis: text });
const limit = z.looseObject({ value: z.number().nullish(), unit: text, authority: text });

export const Product = z.looseObject({
  id: z.string(),
  brand: text,
  name: z.string(),
  form: text,
  supplements: z.array(named).nullish(),
  ingredients: z.array(z.looseObject({ supplementId: text, amount: z.number().nullish(), unit: text })).nullish(),
  servingsPerContainer: z.number().nullish(),
  price: z.looseObject({ amount: z.number().nullish(), currency: text }).nullish(),
  inStock: z.boolean().nullish(),
  dietFlags: z.array(z.string()).nullish(),
  allergens: z.array(z.string()).nullish(),
  exceedsUpperLimit: z.union([z.boolean(), z.array(z.unknown())]).nullish(),
  note: text,
  availableOrMasterVariant: z.looseObject({ id: z.string() }).nullish(),
  typicalAdultDose: z.union([range, z.array(range)]).nullish(),
  upperLimit: z.union([limit, z.array(limit)]).nullish(),
  cautions: z.array(z.string()).nullish(),
});
export const Products = z.looseObject({ products: z.array(Product) });

export const Evidence = z.looseObject({
  evidence: z.array(
    z.looseObject({
      id: z.string(),
      title: z.string(),
      year: z.union([z.number(), z.string()]).nullish(),
      journal: text,
      studyType: text,
      population: text,
      outcome: text,
      finding: text,
      supplements: z.array(named).nullish(),
    }),
  ),
});

export const Labs = z.looseObject({
  labs: z.array(
    z.looseObject({
      id: z.string(),
      name: z.string(),
      loinc: text,
      specimen: text,
      referenceInterval: z
        .looseObject({ text, low: z.number().nullish(), high: z.number().nullish(), unit: text })
        .nullish(),
      note: text,
    }),
  ),
});

export const Articles = z.looseObject({
  articles: z.array(z.looseObject({ id: z.string(), title: z.string(), body: z.string() })),
});

export const Plan = z.looseObject({
  id: z.string(),
  patientId: text,
  patientName: text,
  status: text,
  title: text,
  items: z.array(z.looseObject({ productId: text, variantId: text, name: text, brand: text, dosing: text })).nullish(),
  lifestyle: z.array(z.looseObject({ title: text, detail: text })).nullish(),
  labs: z.array(z.looseObject({ id: text, name: text })).nullish(),
});
/** What the sub-agents of a call gave. */
export const Research = z.looseObject({
  research_bundle_id: z.string(),
  sources: z.array(z.looseObject({ id: z.string(), title: z.string(), year: z.number().nullish(), finding: text })),
  planner_reflection: z.string(),
});
export const Built = z.looseObject({
  propose_plan: z.looseObject({
    patient_id: z.string(),
    items: z.array(z.looseObject({ variant_id: z.string() })),
  }),
  warnings: z.array(z.string()).nullish(),
});
export const Unclear = z.looseObject({ needs_clarification: z.array(z.string()) });

export const OnePlan = z.looseObject({ plan: Plan });
export const Plans = z.looseObject({ plans: z.array(Plan) });

export type Patient = z.infer<typeof Patient>;
export type Product = z.infer<typeof Product>;
export type Interactions = z.infer<typeof Interactions>;
export type Plan = z.infer<typeof Plan>;
export type Study = z.infer<typeof Evidence>["evidence"][number];

/** The name of a thing that is given as a string or as `{id, name}`. */
export const nameOf = (thing: z.infer<typeof named>): string =>
  typeof thing === "string" ? thing : (thing.name ?? thing.id ?? "");
