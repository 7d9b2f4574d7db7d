/** Which names mean which drug, drug class or supplement: the data's own names and synonyms, and what follows from their form. */
import { type NameIndex, nameIndex } from "../search/names.ts";
import { words } from "../search/words.ts";
import type { Dataset, Supplement } from "./dataset.ts";
import { DRUG_CLASSES } from "./drug-classes.ts";

/** `records` are the drug names under which interactions and depletions of this medicine stand in the data. */
export type Medicine = {
  readonly kind: "drug" | "drug_class";
  readonly id: string;
  readonly name: string;
  readonly records: ReadonlySet<string>;
};
export type KnownSupplement = { readonly kind: "supplement"; readonly id: string; readonly name: string };
export type Known = Medicine | KnownSupplement;

export type Vocabulary = {
  readonly everything: NameIndex<Known>;
  readonly supplements: NameIndex<KnownSupplement>;
  /** Every way to write a supplement; empty for an unknown id. */
  supplementNames(id: string): readonly string[];
  /** Every way to write the medicines that occur in a text. */
  medicineNames(text: string): readonly string[];
};

type DrugNames = { readonly name: string; readonly names: Set<string>; readonly classes: Set<string> };

export function vocabulary(data: Dataset): Vocabulary {
  const drugs = drugsOf(data);
  const classes = classesOf(drugs);
  const reserved = new Set([...drugs.map(({ name }) => key(name)), ...classes.flatMap(({ names }) => names.map(key))]);
  const medicines = [
    ...classes,
    ...drugs.map((drug) => ({
      thing: medicine(drug, drugs),
      // A synonym that is another drug's own name, or a class, belongs to that one; `records` still leads here.
      names: [drug.name, ...[...drug.names].filter((name) => !reserved.has(key(name)))],
    })),
  ];
  const supplements = supplementNames(data.supplements);
  const medicineIndex = nameIndex(medicines);
  return {
    everything: nameIndex<Known>([...medicines, ...supplements]),
    supplements: nameIndex(supplements),
    supplementNames: (id) => supplements.find(({ thing }) => thing.id === id)?.names ?? [],
    medicineNames: (text) => {
      const known = medicineIndex.find(text);
      return medicines.filter(({ thing }) => known.includes(thing)).flatMap(({ names }) => names);
    },
  };
}

const key = (name: string): string => words(name).join("");
const slug = (name: string): string => words(name).join("-");

function drugsOf(data: Dataset): readonly DrugNames[] {
  const drugs = new Map<string, DrugNames>();
  const add = (name: string, synonyms: readonly string[], drugClass?: string) => {
    const drug = drugs.get(name) ?? { name, names: new Set<string>(), classes: new Set<string>() };
    for (const synonym of [...synonyms, ...shortForms(name)]) drug.names.add(synonym);
    if (drugClass !== undefined) drug.classes.add(drugClass);
    drugs.set(name, drug);
  };
  for (const { drug } of data.interactions) add(drug.name, drug.synonyms, drug.drugClass);
  for (const { drug } of data.negatives) add(drug.name, drug.synonyms);
  const recorded = nameIndex([...drugs.values()].map((drug) => ({ thing: drug, names: [drug.name, ...drug.names] })));
  // What patients take is a known drug too: the answer is then "not recorded" and not "never heard of".
  for (const { medications } of data.patients)
    for (const { name } of medications) if (recorded.find(name).length === 0) add(name, []);
  return [...drugs.values()];
}

/** "metoprolol succinate" is also metoprolol, "carbidopa/levodopa" also carbidopa, "statins (class)" also statins. */
function shortForms(name: string): readonly string[] {
  const forms = [
    name.replace(/ (succinate|tartrate|hydrochloride|sodium|mofetil)$/i, ""),
    name.replace(/ \(class\)$/, ""),
    name.split("/")[0] ?? name,
  ];
  return forms.filter((form) => form !== name);
}

function medicine(drug: DrugNames, drugs: readonly DrugNames[]): Medicine {
  const own = key(drug.name);
  const under = drugs.filter(({ name, names }) => name === drug.name || [...names].some((other) => key(other) === own));
  return { kind: "drug", id: slug(drug.name), name: drug.name, records: new Set(under.map(({ name }) => name)) };
}

function classesOf(drugs: readonly DrugNames[]): readonly { thing: Medicine; names: readonly string[] }[] {
  return DRUG_CLASSES.map(({ name, alsoCalled, covers }) => {
    const members = drugs.filter(({ classes }) => covers.some((cover) => classes.has(cover)));
    const records = new Set(members.map((drug) => drug.name));
    return {
      thing: { kind: "drug_class" as const, id: `class-${slug(name)}`, name, records },
      names: [name, ...alsoCalled],
    };
  });
}

function supplementNames(supplements: readonly Supplement[]): { thing: KnownSupplement; names: readonly string[] }[] {
  const full = supplements.map((supplement) => ({
    supplement,
    names: [supplement.id, ...[supplement.name, ...supplement.synonyms].flatMap(withoutBrackets)],
  }));
  return full.map(({ supplement, names }) => {
    const others = full.filter((other) => other.supplement !== supplement).flatMap((other) => other.names.map(key));
    // "(bisglycinate)" alone could be magnesium, iron or zinc: a form's name counts only when no other supplement has it.
    const forms = supplement.forms
      .flatMap(({ name }) => withoutBrackets(name))
      .filter((form) => !others.some((other) => other.includes(key(form))));
    const all = [...names, ...forms];
    return {
      thing: { kind: "supplement" as const, id: supplement.id, name: supplement.name },
      names: [...new Set([...all, ...all.flatMap(vitaminForms)])],
    };
  });
}

/** "Turmeric (curcumin)" has three names: the whole, the part before the brackets and the part inside. */
function withoutBrackets(name: string): readonly string[] {
  const [, outside, inside] = /^(.*?)\s*\((.*)\)$/.exec(name) ?? [];
  return outside === undefined || inside === undefined ? [name] : [name, outside, inside];
}

/** "vitamin K2" is also written "vit K2" and "K2"; "vitamin K" only "vit K", because a lone K is potassium. */
function vitaminForms(name: string): readonly string[] {
  const [, letter] = /^vitamin ([a-z]\d*)$/i.exec(name) ?? [];
  if (letter === undefined) return [];
  return /\d/.test(letter) ? [`vit ${letter}`, letter] : [`vit ${letter}`];
}
