/** Root fields of `schema.graphql`: each asks one part of the platform. Nested fields are plain properties. */
import type { Catalog, LabFilter, ProductFilter } from "./catalog/catalog.ts";
import type { Dataset, Patient, Product } from "./catalog/dataset.ts";
import type { InteractionBook } from "./catalog/interactions.ts";
import type { Caller, CreatePlan, PlanBook, UpdatePlan } from "./plan-book.ts";

export type Parts = {
  readonly data: Dataset;
  readonly catalog: Catalog;
  readonly interactions: InteractionBook;
  readonly plans: PlanBook;
};

/** Who calls; the context value of every execution. */
export type CallContext = { readonly caller: Caller };

type Search = { readonly query: string; readonly limit: number };
type PatientLimit = { readonly patientId: string; readonly limit: number };

export function resolvers({ data, catalog, interactions, plans }: Parts) {
  const patientView = (patient: Patient) => ({
    ...patient,
    labs: patient.labs.map((result) => ({ ...result, name: labName(data, result.labId) })),
  });

  return {
    patientSearch({ query, limit }: Search) {
      const page = catalog.patients(query, limit);
      return { ...page, patients: page.patients.map(patientView) };
    },
    patientGet({ id }: { id: string }) {
      const patient = data.patients.find((patient) => patient.id === id);
      return { patient: patient ? patientView(patient) : null };
    },
    visitNotes: ({ patientId, limit }: PatientLimit) => catalog.visitNotes(patientId, limit),
    productSearch(filter: ProductFilter) {
      const page = catalog.products(filter);
      return { ...page, products: page.products.map((product) => productView(data, product)) };
    },
    evidenceSearch: ({ query, limit }: Search) => catalog.evidence(query, limit),
    interactionCheck: ({ items }: { items: readonly string[] }) => interactions.check(items),
    depletionCheck: ({ medications }: { medications: readonly string[] }) => interactions.depletions(medications),
    labTests: (filter: LabFilter) => catalog.labs(filter),
    knowledgeBaseSearch: ({ query, limit }: Search) => catalog.articles(query, limit),
    async treatmentPlanGet(by: { id?: string; patientId?: string }, { caller }: CallContext) {
      return { plans: await plans.find(caller.userId, by) };
    },
    async treatmentPlanCreate(request: CreatePlan, { caller }: CallContext) {
      return { plan: await plans.create(caller, request) };
    },
    async treatmentPlanUpdate(request: UpdatePlan, { caller }: CallContext) {
      return { plan: await plans.update(caller, request) };
    },
  };
}

function labName(data: Dataset, id: string): string {
  return data.labs.find((lab) => lab.id === id)?.name ?? id;
}

/** Dose range and upper limit belong to a supplement: a product has them only when it holds exactly one. */
function productView(data: Dataset, product: Product) {
  const supplements = data.supplements.filter(({ id }) => product.supplementIds.includes(id));
  const [only] = supplements.length === 1 ? supplements : [];
  return {
    ...product,
    supplements: supplements.map(({ id, name }) => ({ id, name })),
    typicalAdultDose: only?.typicalAdultDose ?? null,
    upperLimit: only?.upperLimit ?? null,
    cautions: only
      ? only.cautions
      : supplements.flatMap(({ name, cautions }) => cautions.map((text) => `${name}: ${text}`)),
  };
}
