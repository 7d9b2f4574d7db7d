/**
 * Names under which people ask for a whole class of drugs, and the `drug_class` values of the data that each one covers.
 * A class name wins over a drug that lists it as a synonym.
 */
export const DRUG_CLASSES: readonly {
  readonly name: string;
  readonly alsoCalled: readonly string[];
  readonly covers: readonly string[];
}[] = [
  {
    name: "statins",
    alsoCalled: ["HMG-CoA reductase inhibitor"],
    covers: ["HMG-CoA reductase inhibitor (statin)", "HMG-CoA reductase inhibitors"],
  },
  {
    name: "SSRIs",
    alsoCalled: ["SSRI antidepressant", "selective serotonin reuptake inhibitor"],
    covers: ["SSRI antidepressant"],
  },
  {
    name: "SNRIs",
    alsoCalled: ["SNRI antidepressant", "serotonin norepinephrine reuptake inhibitor"],
    covers: ["SNRI antidepressant"],
  },
  {
    name: "antidepressants",
    alsoCalled: [],
    covers: [
      "SSRI antidepressant",
      "SNRI antidepressant",
      "aminoketone antidepressant",
      "MAO inhibitor antidepressant",
    ],
  },
  { name: "MAO inhibitors", alsoCalled: ["MAOI"], covers: ["MAO inhibitor antidepressant"] },
  { name: "triptans", alsoCalled: [], covers: ["triptan"] },
  { name: "benzodiazepines", alsoCalled: ["benzo"], covers: ["benzodiazepine"] },
  { name: "ACE inhibitors", alsoCalled: ["ACEi"], covers: ["ACE inhibitor"] },
  { name: "angiotensin receptor blockers", alsoCalled: ["ARB", "sartan"], covers: ["angiotensin receptor blocker"] },
  { name: "potassium-sparing diuretics", alsoCalled: [], covers: ["potassium-sparing diuretic"] },
  {
    name: "thiazide diuretics",
    alsoCalled: ["thiazide", "thiazide-like diuretic"],
    covers: ["thiazide diuretic", "thiazide-like diuretic"],
  },
  { name: "loop diuretics", alsoCalled: [], covers: ["loop diuretic"] },
  {
    name: "diuretics",
    alsoCalled: ["water pill"],
    covers: ["potassium-sparing diuretic", "thiazide diuretic", "thiazide-like diuretic", "loop diuretic"],
  },
  { name: "beta blockers", alsoCalled: [], covers: ["beta blocker"] },
  {
    name: "calcium channel blockers",
    alsoCalled: ["CCB"],
    covers: ["calcium channel blocker", "dihydropyridine calcium channel blocker"],
  },
  { name: "vitamin K antagonists", alsoCalled: [], covers: ["vitamin K antagonist anticoagulant"] },
  {
    name: "anticoagulants",
    alsoCalled: [],
    covers: ["vitamin K antagonist anticoagulant", "low-molecular-weight heparin"],
  },
  { name: "antiplatelets", alsoCalled: ["P2Y12 inhibitor"], covers: ["P2Y12 antiplatelet", "antiplatelet / NSAID"] },
  {
    name: "blood thinners",
    alsoCalled: [],
    covers: [
      "vitamin K antagonist anticoagulant",
      "low-molecular-weight heparin",
      "P2Y12 antiplatelet",
      "antiplatelet / NSAID",
    ],
  },
  { name: "fluoroquinolones", alsoCalled: ["quinolone"], covers: ["fluoroquinolone antibiotic"] },
  { name: "tetracyclines", alsoCalled: [], covers: ["tetracycline antibiotic"] },
  { name: "cephalosporins", alsoCalled: [], covers: ["cephalosporin antibiotic"] },
  { name: "bisphosphonates", alsoCalled: [], covers: ["oral bisphosphonate"] },
  { name: "thyroid hormone", alsoCalled: ["thyroid medication", "thyroid medicine"], covers: ["thyroid hormone"] },
  {
    name: "oral contraceptives",
    alsoCalled: ["hormonal contraceptive", "birth control", "contraceptive pill"],
    covers: ["estrogen-progestin contraceptive"],
  },
  {
    name: "corticosteroids",
    alsoCalled: ["glucocorticoid", "oral steroid"],
    covers: ["systemic corticosteroid"],
  },
  { name: "sulfonylureas", alsoCalled: ["sulphonylurea"], covers: ["sulfonylurea"] },
  { name: "proton pump inhibitors", alsoCalled: ["PPI"], covers: ["proton pump inhibitor"] },
  { name: "H2 blockers", alsoCalled: ["histamine-2 receptor antagonist"], covers: ["histamine-2 receptor antagonist"] },
  {
    name: "anticonvulsants",
    alsoCalled: ["antiepileptic", "antiseizure medicine"],
    covers: ["anticonvulsant", "anticonvulsant / neuropathic pain agent"],
  },
  { name: "bile acid sequestrants", alsoCalled: [], covers: ["bile acid sequestrant"] },
  { name: "iron chelators", alsoCalled: [], covers: ["iron chelator"] },
  { name: "calcineurin inhibitors", alsoCalled: [], covers: ["calcineurin inhibitor"] },
  { name: "HIV protease inhibitors", alsoCalled: ["protease inhibitor"], covers: ["HIV protease inhibitor"] },
  {
    name: "HIV integrase inhibitors",
    alsoCalled: ["integrase inhibitor", "INSTI"],
    covers: ["HIV integrase inhibitor", "HIV integrase inhibitor combination"],
  },
];
