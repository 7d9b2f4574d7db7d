/** Searches over products, evidence, labs, patients, visit notes and support articles. Pure: reads the data set in memory. */
import { type Ranker, ranker } from "../search/ranking.ts";
import { words } from "../search/words.ts";
import type { Article, Dataset, Evidence, Lab, Patient, Product, VisitNote } from "./dataset.ts";
import type { Vocabulary } from "./vocabulary.ts";

export type Page<Name extends string, T> = { readonly [K in Name]: readonly T[] } & { readonly total: number };
export type ProductFilter = {
  readonly query?: string | null;
  readonly supplementId?: string | null;
  readonly variantIds?: readonly string[] | null;
  readonly form?: string | null;
  readonly inStock?: boolean | null;
  readonly limit: number;
};
export type LabFilter = {
  readonly query?: string | null;
  readonly supplementId?: string | null;
  readonly limit: number;
};

export type Catalog = {
  products(filter: ProductFilter): Page<"products", Product>;
  evidence(query: string, limit: number): Page<"evidence", Evidence>;
  labs(filter: LabFilter): Page<"labs", Lab>;
  articles(query: string, limit: number): Page<"articles", Article>;
  /** A blank query lists everyone. */
  patients(query: string, limit: number): Page<"patients", Patient>;
  /** Newest first. */
  visitNotes(patientId: string, limit: number): Page<"visitNotes", VisitNote>;
};

export function catalog(data: Dataset, names: Vocabulary): Catalog {
  const namesOf = (ids: readonly string[]) => ids.flatMap((id) => names.supplementNames(id)).join("; ");
  // Equal scores keep this order: what can be bought comes first.
  const stocked = [...data.products].sort((left, right) => Number(right.inStock) - Number(left.inStock));

  const products = ranker(stocked, (product) => [
    { weight: 3, text: product.name },
    { weight: 2, text: product.brand },
    { weight: 2, text: namesOf(product.supplementIds) },
    { weight: 1.5, text: `${product.form} ${product.dietFlags.join(" ")}` },
  ]);
  const evidence = ranker(
    data.evidence,
    (study) => [
      { weight: 2, text: `${study.title} ${namesOf(study.supplements)}` },
      { weight: 1.5, text: `${study.intervention} ${study.outcome} ${study.studyType}` },
      { weight: 1, text: `${study.population} ${study.finding} ${study.journal ?? ""} ${study.year ?? ""}` },
    ],
    // "migraine prevention" is not answered by a study of the prevention of something else.
    { leastShare: 0.4 },
  );
  const labs = ranker(data.labs, (lab) => [
    { weight: 3, text: `${lab.name} ${lab.id} ${lab.loinc}` },
    { weight: 2, text: lab.loincName },
    { weight: 1, text: `${namesOf(lab.relatedSupplements)} ${lab.note ?? ""} ${lab.specimen}` },
  ]);
  const articles = ranker(data.articles, (article) => [
    { weight: 3, text: article.title },
    { weight: 2.5, text: article.tags.join(" ") },
    { weight: 1.5, text: article.category },
    { weight: 1, text: article.body },
  ]);
  const patients = ranker(
    data.patients,
    (patient) => [
      { weight: 3, text: `${patient.name} ${patient.id}` },
      { weight: 2, text: patient.conditions.join("; ") },
      { weight: 2, text: patient.medications.flatMap(({ name }) => [name, ...names.medicineNames(name)]).join("; ") },
      { weight: 1, text: patient.allergies.join("; ") },
    ],
    { prefixLength: 2 },
  );

  const supplementsIn = (text: string) => names.supplements.find(text).map(({ id }) => id);

  /** Ranked hits; a question that names supplements gets only what has them (all of them where something does). */
  function about<T>(
    items: readonly T[],
    rank: Ranker<T>,
    query: string,
    supplementsOf: (item: T) => readonly string[],
  ) {
    const asked = supplementsIn(query);
    const all = items.filter((item) => asked.every((id) => supplementsOf(item).includes(id)));
    const some = items.filter((item) => asked.some((id) => supplementsOf(item).includes(id)));
    const ranked = rank.rank(query);
    if (asked.length === 0 || some.length === 0) return ranked;
    const pool = all.length > 0 ? all : some;
    return [...new Set([...ranked.filter((item) => pool.includes(item)), ...pool])];
  }

  return {
    products({ query, supplementId, variantIds, form, inStock, limit }) {
      const wanted = supplementId ? supplementIds(supplementId) : undefined;
      const base = variantIds ? byVariant(data.products, variantIds) : stocked;
      const hits = isBlank(query) ? base : about(stocked, products, query, ({ supplementIds: ids }) => ids);
      const found = hits.filter(
        (product) =>
          (!variantIds || base.includes(product)) &&
          (!wanted || wanted.some((id) => product.supplementIds.includes(id))) &&
          (!form || hasWords(product.form, form)) &&
          (inStock === undefined || inStock === null || product.inStock === inStock),
      );
      return { products: found.slice(0, Math.max(limit, variantIds?.length ?? 0)), total: found.length };
    },

    evidence(query, limit) {
      // Ids are looked up as they are: whoever cites a study has nothing but its id.
      const words = query.split(/[\s,]+/);
      const named = data.evidence.filter(({ id }) => words.includes(id));
      const ranked = about(data.evidence, evidence, query, ({ supplements }) => supplements);
      const found = [...new Set([...named, ...ranked])];
      return { evidence: found.slice(0, limit), total: found.length };
    },

    labs({ query, supplementId, limit }) {
      const wanted = supplementId ? supplementIds(supplementId) : undefined;
      const hits = isBlank(query) ? data.labs : about(data.labs, labs, query, (lab) => lab.relatedSupplements);
      const byId = data.labs.filter((lab) => lab.id === query);
      const found = [...new Set([...byId, ...hits])].filter(
        (lab) => !wanted || wanted.some((id) => lab.relatedSupplements.includes(id)),
      );
      return { labs: found.slice(0, limit), total: found.length };
    },

    articles(query, limit) {
      const found = articles.rank(query);
      return { articles: found.slice(0, limit), total: found.length };
    },

    patients(query, limit) {
      const found = isBlank(query) ? data.patients : patients.rank(query);
      return { patients: found.slice(0, limit), total: found.length };
    },

    visitNotes(patientId, limit) {
      const found = data.visitNotes
        .filter((note) => note.patientId === patientId)
        .sort((left, right) => right.date.localeCompare(left.date));
      return { visitNotes: found.slice(0, limit), total: found.length };
    },
  };

  /** An id, or any name of the supplement. */
  function supplementIds(text: string): readonly string[] {
    return data.supplements.some(({ id }) => id === text) ? [text] : supplementsIn(text);
  }
}

const isBlank = (text: string | null | undefined): text is null | undefined | "" =>
  text === undefined || text === null || words(text).length === 0;

function byVariant(products: readonly Product[], variantIds: readonly string[]): readonly Product[] {
  return variantIds.flatMap((id) => products.filter((product) => product.availableOrMasterVariant.id === id));
}

function hasWords(text: string, asked: string): boolean {
  const present = words(text);
  return words(asked).every((word) => present.includes(word));
}
