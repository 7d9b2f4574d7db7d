import type { Sql, TransactionSql } from "postgres";
import { place, type Sealer } from "./sealer.ts";

export type PlanItem = {
  readonly id: string;
  readonly productId: string;
  readonly variantId: string;
  readonly name: string;
  readonly brand: string;
  readonly dosing: string;
};
export type Plan = {
  readonly id: string;
  readonly patientId: string;
  readonly patientName: string;
  readonly status: "draft";
  readonly title: string;
  readonly items: readonly PlanItem[];
  readonly lifestyle: readonly { title: string; detail: string | null }[];
  readonly labs: readonly { id: string; name: string }[];
  readonly notes: string | null;
  readonly revision: number;
  readonly createdBy: string;
  readonly createdAt: string;
  readonly updatedAt: string;
};

/** Stores plans sealed. Every read names the user: a plan of someone else is not found. */
export type Plans = {
  byId(userId: string, id: string): Promise<Plan | undefined>;
  /** Newest first, at most 50. */
  byPatient(userId: string, patientId: string): Promise<readonly Plan[]>;
  /** Reads a plan for a change: others wait until the transaction ends. */
  lock(sql: TransactionSql, userId: string, id: string): Promise<Plan | undefined>;
  insert(sql: TransactionSql, plan: Plan): Promise<void>;
  replace(sql: TransactionSql, plan: Plan): Promise<void>;
};

type Row = { id: string; user_id: string; revision: number; payload: Buffer };

export function postgresPlans(sql: Sql, seal: Sealer): Plans {
  const aad = (userId: string, id: string, revision: number) => place("plans", "payload", userId, id, revision);
  const open = (row: Row): Plan => JSON.parse(seal.open(row.payload, aad(row.user_id, row.id, row.revision))) as Plan;
  const close = (plan: Plan) => seal.seal(JSON.stringify(plan), aad(plan.createdBy, plan.id, plan.revision));

  return {
    async byId(userId, id) {
      const [row] = await sql<Row[]>`
        select id, user_id, revision, payload from platform.plans
        where id = ${withoutNul(id)} and user_id = ${userId}`;
      return row && open(row);
    },

    async byPatient(userId, patientId) {
      const rows = await sql<Row[]>`
        select id, user_id, revision, payload from platform.plans
        where user_id = ${userId} and patient_id = ${withoutNul(patientId)}
        order by updated_at desc, id limit 50`;
      return rows.map(open);
    },

    async lock(transaction, userId, id) {
      const [row] = await transaction<Row[]>`
        select id, user_id, revision, payload from platform.plans
        where id = ${withoutNul(id)} and user_id = ${userId} for update`;
      return row && open(row);
    },

    async insert(transaction, plan) {
      await transaction`
        insert into platform.plans (id, user_id, patient_id, revision, updated_at, payload)
        values (${plan.id}, ${plan.createdBy}, ${plan.patientId}, ${plan.revision}, ${plan.updatedAt}, ${close(plan)})`;
    },

    async replace(transaction, plan) {
      await transaction`
        update platform.plans
        set revision = ${plan.revision}, updated_at = ${plan.updatedAt}, payload = ${close(plan)}
        where id = ${plan.id}`;
    },
  };
}

/** PostgreSQL takes no NUL in text; an id never holds one, so that the id then is simply not found. */
const withoutNul = (id: string): string => id.replaceAll("\0", "\ufffd");
