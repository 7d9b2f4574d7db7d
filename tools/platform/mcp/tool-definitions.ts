/** What each tool says about itself. Its arguments and result come from `tools/<name>.gql`. */
export type ToolDefinition = {
  readonly name: string;
  readonly title: string;
  /** For the model: when to use it, what to pass, what comes back. */
  readonly description: string;
  readonly access: "read" | "write";
  /** The principal's flag without which the tool does not exist. */
  readonly flag?: string;
};

export const TOOL_DEFINITIONS: readonly ToolDefinition[] = [
  {
    name: "patient_search",
    title: "Search patients",
    description:
      "Find patients of the clinic by name, id, condition or medication (generic or brand). Returns short records; use patient_get with an id for allergies, labs and preferences.",
    access: "read",
  },
  {
    name: "patient_get",
    title: "Read a patient",
    description:
      "Read one patient by id: conditions, medications, allergies, lab results, form and budget preferences. Returns patient null when the id is unknown.",
    access: "read",
  },
  {
    name: "visit_notes",
    title: "Read visit notes",
    description: "Read a patient's visit notes by patientId, newest first: free clinical text with abbreviations.",
    access: "read",
  },
  {
    name: "product_search",
    title: "Search products",
    description:
      "Search the supplement catalog by words (name, brand, ingredient or synonym, form), best match first, or fetch known variants with variantIds. Combine with supplementId, form and inStock to narrow. Returns dose per serving, price, stock, allergens, typical adult dose, upper limit and cautions. Use availableOrMasterVariant.id as variant_id in recommend_supplements and as variantId in treatment plans; id is the productId.",
    access: "read",
  },
  {
    name: "evidence_search",
    title: "Search evidence",
    description:
      "Search studies, reviews and guidelines about supplements. Pass supplement, condition and outcome in a few words; one topic a call. Returns findings in one sentence with study type, population and address, best match first; pass the ids to cite_sources.",
    access: "read",
    flag: "research",
  },
  {
    name: "interaction_check",
    title: "Check interactions",
    description:
      "Check drugs against supplements. Pass every drug and supplement (current and planned) in one call, each name as its own entry; brand names, synonyms and drug classes are understood. Each drug and supplement pair comes back either in findings (worst first) or in notRecorded. notRecorded and unknown never mean safe: say so. Drug with drug and supplement with supplement are not covered.",
    access: "read",
  },
  {
    name: "depletion_check",
    title: "Check nutrient depletions",
    description:
      "Which nutrients do these medications deplete? Pass medication names (generic, brand or class). Returns the recorded depletions with mechanism and advice, worst first, and the names that were not recognised.",
    access: "read",
  },
  {
    name: "lab_tests",
    title: "Search lab tests",
    description:
      "Find lab tests by name, LOINC code or related supplement. Returns specimen and reference interval. Use id in recommend_labs and as an entry of labs in treatment plans.",
    access: "read",
  },
  {
    name: "knowledge_base_search",
    title: "Search support articles",
    description:
      "Search the support articles of this platform: orders, shipping, returns, payments, accounts, plans. Pass the user's question in a few words. Returns whole articles, best match first; answer from them only.",
    access: "read",
  },
  {
    name: "treatment_plan_get",
    title: "Read treatment plans",
    description:
      "Read draft treatment plans that this provider made: one by id, or all of one patient by patientId (newest first). Pass exactly one of the two. Returns an empty list when there is none.",
    access: "read",
  },
  {
    name: "treatment_plan_create",
    title: "Create a treatment plan",
    description:
      "Create a draft treatment plan for a patient. Each item needs productId and variantId from product_search and a dosing text. Returns the stored plan with its id, item ids and revision.",
    access: "write",
    flag: "plan_builder",
  },
  {
    name: "treatment_plan_update",
    title: "Change a treatment plan",
    description:
      "Change a draft treatment plan: add items, remove items by their item id, replace title, lifestyle, labs or notes. What is left out stays as it is. Returns the plan after the change.",
    access: "write",
    flag: "plan_builder",
  },
];
