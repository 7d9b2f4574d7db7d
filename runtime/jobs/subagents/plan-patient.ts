import { z } from "zod";
import type { Product } from "../../../tools/builtin/catalog.ts";
import { type Lookup, lookUp, unknownIds } from "../../../tools/builtin/lookup.ts";
import type { ToolContext } from "../../../tools/tool.ts";

const patient = z.object({
  id: z.string(),
  name: z.string(),
  medications: z.array(z.object({ name: z.string() })).nullish(),
  allergies: z.array(z.string()).nullish(),
  preferences: z.object({ diet: z.string().nullish(), budgetUsdMonth: z.number().nullish() }).nullish(),
});
/** What of a chart a plan is checked against. */
export type PlanPatient = z.infer<typeof patient>;

export async function patientNamed(context: ToolContext, id: string): Lookup<PlanPatient> {
  const looked = await lookUp(context, "patient_get", { id }, z.object({ patient: patient.nullish() }));
  if ("failed" in looked) return looked;
  if (looked.found.patient == null) return { failed: unknownIds("patient_id", [id], "patient_search") };
  return { found: looked.found.patient };
}

/** Why this patient must not get this product: an allergen, the diet. */
export function conflicts(product: Product, { allergies, preferences }: PlanPatient): readonly string[] {
  const contained = product.allergens.filter((allergen) =>
    (allergies ?? []).some((allergy) => sharesWord(allergen, allergy)),
  );
  const against = contained.map(
    (allergen) => `${product.name} contains ${allergen}, and the patient is allergic: take another product.`,
  );
  const diet = dietProblem(product, (preferences?.diet ?? "").toLowerCase());
  return diet === undefined ? against : [...against, `${product.name} is ${diet}: take another product.`];
}

function dietProblem({ allergens, dietFlags }: Product, diet: string): string | undefined {
  const flags = dietFlags.map((flag) => flag.toLowerCase().replace("-", " "));
  if (/\bvegan\b/.test(diet) && !flags.includes("vegan")) return "not vegan";
  if (/\bvegetarian\b/.test(diet) && !flags.some((flag) => flag === "vegan" || flag === "vegetarian"))
    return "not vegetarian";
  if (/\b(dairy|lactose)\b/.test(diet) && allergens.some((each) => /milk|dairy|lactose/i.test(each)))
    return "not dairy free";
  if (/\bgluten\b/.test(diet) && !flags.includes("gluten free")) return "not gluten free";
  return undefined;
}

/** "milk" and "milk protein". */
function sharesWord(a: string, b: string): boolean {
  const words = (text: string) => text.toLowerCase().match(/\p{L}{3,}/gu) ?? [];
  const own = new Set(words(a));
  return words(b).some((word) => own.has(word));
}
