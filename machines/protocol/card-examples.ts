import type { z } from "zod";
import type { CardKind } from "./cards.ts";
import type { SignalKind, signalData } from "./signals.ts";

/** What a page says of one kind: what it means, what of its fields is not plain, and one that is valid. */
export type Explained<Example> = {
  readonly meaning: string;
  /** Words for fields whose name does not say enough. */
  readonly fields?: Readonly<Record<string, string>>;
  readonly example: Example;
};

export type OfKinds<Kinds extends SignalKind> = {
  readonly [K in Kinds]: Explained<z.input<(typeof signalData)[K]>>;
};

/** Ids of examples: `id(7)` is always the same one. */
export const id = (n: number): string => `00000000-0000-4000-8000-${n.toString(16).padStart(12, "0")}`;
export const [CARD, QUESTION] = [id(6), id(8)];

export const question = {
  revision: 1,
  kind: "single_choice" as const,
  prompt: "Which form does the patient prefer?",
  options: [
    { id: "glycinate", label: "Glycinate", detail: "gentle on the gut" },
    { id: "citrate", label: "Citrate" },
  ],
  expires_at: "2026-08-01T09:30:00.000Z",
};
export const planCard = {
  change: "created" as const,
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
export const item = { product_id: "prd-a", variant_id: "var-700000", dosing: "1 capsule with the evening meal" };

export const cardExamples: OfKinds<CardKind> = {
  recommend_supplements: {
    meaning: "Card: products. Each item can be added to a draft plan with the command `action`.",
    fields: { patient_id: "whose draft an item goes into" },
    example: {
      block_id: CARD,
      patient_id: "pat-008",
      supplements: [
        {
          ...item,
          name: "Magnesium Glycinate 200 mg",
          brand: "Alderquill Nutritionals",
          strength: "200 mg elemental",
          price: { amount: 24, currency: "USD" },
          in_stock: true,
          rationale: "Well tolerated.",
        },
      ],
    },
  },
  recommend_lifestyle: {
    meaning: "Card: advice on habits.",
    example: { block_id: CARD, recommendations: [{ title: "Regular bedtime", detail: "Also at weekends." }] },
  },
  recommend_labs: {
    meaning: "Card: lab tests to consider.",
    example: {
      block_id: CARD,
      labs: [
        {
          id: "magnesium-rbc",
          name: "Magnesium, red cells",
          loinc: "26746-8",
          specimen: "Whole blood",
          reference: "4.2–6.8 mg/dL",
          rationale: null,
        },
      ],
    },
  },
  interaction_check_results: {
    meaning: "Card: interactions between what a patient takes.",
    example: {
      block_id: CARD,
      findings: [
        {
          a: "warfarin",
          b: "ginkgo",
          severity: "major",
          mechanism: "Antiplatelet effect.",
          advice: "Avoid the combination.",
          sources: [],
        },
      ],
    },
  },
  citations: {
    meaning: "Card: the sources of an answer.",
    fields: { bundle_id: "the search they come from" },
    example: {
      block_id: CARD,
      sources: [
        {
          id: "ev-1",
          title: "Magnesium and sleep quality",
          year: 2021,
          journal: "Sleep Review",
          url: "https://example.org/sleep",
          finding: "Sleep onset 17 minutes shorter.",
        },
      ],
    },
  },
  knowledge_base_results: {
    meaning: "Card: help articles.",
    example: {
      block_id: CARD,
      articles: [{ id: "kb-1", title: "Sharing a draft", category: "Plans", excerpt: "Drafts stay private." }],
    },
  },
  treatment_plan: {
    meaning: "Card: a draft plan as the platform stored it, after an accepted proposal or a write of the model.",
    example: { block_id: CARD, ...planCard },
  },
  interaction_request: {
    meaning:
      "Card: a question or a proposal. It is open only while `state_changed` names the same id and revision; a card whose interaction is not open is dead.",
    fields: { expires_at: "absolute; nobody may answer after it" },
    example: { block_id: id(7), interaction_id: QUESTION, ...question },
  },
};
