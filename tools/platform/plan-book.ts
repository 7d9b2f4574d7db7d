import type { Dataset, Patient } from "./catalog/dataset.ts";
import { Refusal } from "./failures.ts";
import type { Once } from "./store/once.ts";
import type { Plan, PlanItem, Plans } from "./store/plans.ts";

type ItemInput = { readonly productId: string; readonly variantId: string; readonly dosing: string };
type LifestyleInput = { readonly title: string; readonly detail?: string | null };
type Contents = {
  readonly title?: string | null;
  readonly lifestyle?: readonly LifestyleInput[] | null;
  readonly labs?: readonly string[] | null;
  readonly notes?: string | null;
};
export type CreatePlan = Contents & { readonly patientId: string; readonly items: readonly ItemInput[] };
export type UpdatePlan = Contents & {
  readonly id: string;
  readonly addItems?: readonly ItemInput[] | null;
  readonly removeItemIds?: readonly string[] | null;
};
/** Who asks, and the idempotency key that came with the call. */
export type Caller = { readonly userId: string; readonly key: string | undefined };

/** The draft plans of a provider. Throws `Refusal` for an unknown patient, product, variant, lab, item or plan. */
export type PlanBook = {
  find(userId: string, by: { id?: string | null; patientId?: string | null }): Promise<readonly Plan[]>;
  create(caller: Caller, request: CreatePlan): Promise<Plan>;
  update(caller: Caller, request: UpdatePlan): Promise<Plan>;
};

export type PlanBookParts = {
  readonly data: Dataset;
  readonly plans: Plans;
  readonly once: Once;
  readonly now: () => number;
  readonly newId: () => string;
};

export function planBook({ data, plans, once, now, newId }: PlanBookParts): PlanBook {
  const timestamp = () => new Date(now()).toISOString();

  function patient(id: string): Patient {
    const found = data.patients.find((patient) => patient.id === id);
    if (!found) throw new Refusal("There is no patient with this id; find one with patient_search.");
    return found;
  }

  function item({ productId, variantId, dosing }: ItemInput): PlanItem {
    const product = data.products.find(({ id }) => id === productId);
    if (!product) throw new Refusal("There is no product with this productId; find one with product_search.");
    if (product.availableOrMasterVariant.id !== variantId)
      throw new Refusal(`variantId is not a variant of ${product.id}; use its availableOrMasterVariant.id.`);
    const { name, brand } = product;
    return { id: `item-${newId()}`, productId, variantId, name, brand, dosing };
  }

  function lab(id: string): { id: string; name: string } {
    const found = data.labs.find((lab) => lab.id === id);
    if (!found) throw new Refusal("There is no lab test with one of these ids; find them with lab_tests.");
    return { id, name: found.name };
  }

  const lifestyle = (inputs: readonly LifestyleInput[]) =>
    inputs.map(({ title, detail }) => ({ title, detail: detail ?? null }));

  return {
    async find(userId, { id, patientId }) {
      if (Boolean(id) === Boolean(patientId)) throw new Refusal("Pass either id or patientId.");
      if (patientId) return plans.byPatient(userId, patientId);
      const plan = await plans.byId(userId, id ?? "");
      return plan ? [plan] : [];
    },

    create({ userId, key }, request) {
      return once.run({ userId, key, request: { create: request } }, async (sql) => {
        const { id: patientId, name: patientName } = patient(request.patientId);
        const plan: Plan = {
          id: `plan-${newId()}`,
          patientId,
          patientName,
          status: "draft",
          title: request.title ?? `Plan for ${patientName}`,
          items: request.items.map(item),
          lifestyle: lifestyle(request.lifestyle ?? []),
          labs: (request.labs ?? []).map(lab),
          notes: request.notes ?? null,
          revision: 1,
          createdBy: userId,
          createdAt: timestamp(),
          updatedAt: timestamp(),
        };
        await plans.insert(sql, plan);
        return plan;
      });
    },

    update({ userId, key }, request) {
      return once.run({ userId, key, request: { update: request } }, async (sql) => {
        const before = await plans.lock(sql, userId, request.id);
        if (!before) throw new Refusal("There is no plan with this id; find one with treatment_plan_get.");
        const removed = request.removeItemIds ?? [];
        if (removed.some((id) => !before.items.some((item) => item.id === id)))
          throw new Refusal("The plan has no item with one of the removeItemIds.");
        const plan: Plan = {
          ...before,
          title: request.title ?? before.title,
          items: [...before.items.filter(({ id }) => !removed.includes(id)), ...(request.addItems ?? []).map(item)],
          lifestyle: request.lifestyle ? lifestyle(request.lifestyle) : before.lifestyle,
          labs: request.labs ? request.labs.map(lab) : before.labs,
          notes: request.notes ?? before.notes,
          revision: before.revision + 1,
          updatedAt: timestamp(),
        };
        await plans.replace(sql, plan);
        return plan;
      });
    },
  };
}
