import type { AskedInteraction } from "../../machines/conversation/interactions.ts";
import type { CardData } from "../../machines/protocol/cards.ts";
import type { Proposal } from "../../machines/protocol/interactions.ts";

/** Made-up cards for tests and screenshots. */
export const supplements: CardData<"recommend_supplements"> = {
  supplements: [
    {
      product_id: "prd-a",
      variant_id: "var-700000",
      name: "Magnesium Glycinate 200 mg",
      brand: "Alderquill Nutritionals",
      strength: "200 mg elemental",
      dosing: "1 capsule with the evening meal",
      price: { amount: 24, currency: "USD" },
      in_stock: true,
      rationale: "Well tolerated form; low serum magnesium under a loop diuretic.",
    },
    {
      product_id: "prd-b",
      variant_id: "var-700014",
      name: "Magnesium Citrate Powder",
      brand: "Fennbridge Labs",
      strength: "150 mg elemental",
      dosing: "1 scoop in water, daily",
      price: null,
      in_stock: false,
      rationale: "Alternative for patients who dislike large tablets.",
    },
  ],
};

export const interactions: CardData<"interaction_check_results"> = {
  findings: [
    {
      a: "levothyroxine",
      b: "magnesium",
      severity: "moderate",
      mechanism: "Binding in the gut lowers absorption.",
      advice: "Take at least four hours apart.",
      sources: [],
    },
    {
      a: "warfarin",
      b: "ginkgo",
      severity: "major",
      mechanism: "Antiplatelet effect adds to anticoagulation.",
      advice: "Avoid the combination; if already taken, check INR and watch for bleeding.",
      sources: [{ title: "Herb-drug interactions of Ginkgo biloba", url: "https://example.org/ginkgo" }],
    },
  ],
};

export const lifestyle: CardData<"recommend_lifestyle"> = {
  recommendations: [{ title: "Regular bedtime", detail: "Same hour within 30 minutes, also at weekends." }],
};

export const labs: CardData<"recommend_labs"> = {
  labs: [
    {
      id: "magnesium-rbc",
      name: "Magnesium, red cells",
      loinc: "26746-8",
      specimen: "Whole blood",
      reference: "4.2–6.8 mg/dL",
      rationale: "Serum values miss tissue depletion.",
    },
  ],
};

export const citations: CardData<"citations"> = {
  sources: [
    {
      id: "ev-1",
      title: "Magnesium and sleep quality in older adults",
      year: 2021,
      journal: "Sleep Review",
      url: "https://example.org/sleep",
      finding: "Sleep onset 17 minutes shorter than with placebo; small trials.",
    },
  ],
};

export const articles: CardData<"knowledge_base_results"> = {
  articles: [
    {
      id: "kb-1",
      title: "How a draft plan is shared",
      category: "Plans",
      excerpt: "Drafts stay private until you send them.",
    },
  ],
};

export const question: AskedInteraction = {
  kind: "single_choice",
  prompt: "Which form does the patient prefer?",
  options: [
    { id: "gly", label: "Glycinate", detail: "gentle on the gut" },
    { id: "cit", label: "Citrate" },
  ],
};

export const proposal: Proposal = {
  patient_id: "pat-008",
  patient_name: "Gideon Saltmarsh",
  title: "Magnesium for sleep",
  items: supplements.supplements.map((item) => ({ ...item })),
  lifestyle: lifestyle.recommendations,
  labs: [{ id: "magnesium-rbc", name: "Magnesium, red cells" }],
  notes: "Review in eight weeks.",
};

export const plan: CardData<"treatment_plan"> = {
  change: "created",
  plan_id: "plan-31",
  title: "Magnesium for sleep",
  patient_id: "pat-008",
  patient_name: "Gideon Saltmarsh",
  items: [
    {
      item_id: "item-1",
      product_id: "prd-a",
      variant_id: "var-700000",
      name: "Magnesium Glycinate 200 mg",
      brand: "Alderquill Nutritionals",
      dosing: "1 capsule with the evening meal",
    },
  ],
};
