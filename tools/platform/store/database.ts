import postgres, { type Sql } from "postgres";

/** Any number; every process that prepares the platform's schema waits for the same one. */
const PREPARING = 7_205_011;

const SCHEMA = `
  create schema if not exists platform;
  create table if not exists platform.logins (
    token_hash bytea primary key,
    user_id text not null,
    expires_at timestamptz not null
  );
  create index if not exists logins_by_expiry on platform.logins (expires_at);
  create table if not exists platform.plans (
    id text primary key,
    user_id text not null,
    patient_id text not null,
    revision integer not null,
    updated_at timestamptz not null,
    payload bytea not null
  );
  create index if not exists plans_by_patient on platform.plans (user_id, patient_id, updated_at desc);
  create table if not exists platform.idempotency_keys (
    user_id text not null,
    key_hash bytea not null,
    created_at timestamptz not null,
    payload bytea,
    primary key (user_id, key_hash)
  );
`;

/** Connects and creates what is missing. Several processes may start at once. The caller ends the connection. */
export async function openDatabase(url: string): Promise<Sql> {
  // Unnamed statements and a lock that ends with its transaction also work behind a transaction pooler.
  const sql = postgres(url, { max: 5, prepare: false, connect_timeout: 10, onnotice: () => {} });
  try {
    await sql.begin(async (transaction) => {
      await transaction`select pg_advisory_xact_lock(${PREPARING})`;
      await transaction.unsafe(SCHEMA);
    });
    return sql;
  } catch (error) {
    await sql.end({ timeout: 1 });
    throw error;
  }
}
