import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { ISql, Sql, TransactionSql } from "postgres";
import { Failure } from "../machines/failure.ts";
import { asked, isConnectionLost, isLockMissed } from "./database-error.ts";
import { raised } from "./fence.ts";

/** The database was migrated by a later release. */
export class DatabaseNewer extends Failure {
  readonly code = "database_newer";
  readonly retryable = false;
  constructor(found: number, known: number) {
    super(
      `the database is at migration ${found}, this release knows ${known}: start a release that is at least as new, ` +
        "or restore a backup from before the upgrade",
    );
  }
}

/** The installation lacks its migration files, or they are misnamed. */
export class MigrationsMissing extends Failure {
  readonly code = "migrations_missing";
  readonly retryable = false;
}

export type Migration = { readonly version: number; readonly name: string; readonly sql: string };

/** Any number, the same in every release: two nodes that start together take turns. */
const LOCK = 7_361_893;
/** A migration that does not get a table in this time is rolled back, so that who asks for it can say so and hear a signal. */
const LOCK_MS = 3_000;

/** Migrations are due. */
export type Due = { readonly kind: "due"; readonly found: number; readonly known: number };

/** Migrations are due, and what keeps a node from applying them now. */
export type Hindered =
  /** Nodes run on the database as it is. */
  | (Omit<Due, "kind"> & { readonly kind: "heard"; readonly nodes: number })
  /** Another process is at it. */
  | (Omit<Due, "kind"> & { readonly kind: "migrating" })
  /** Somebody holds a table: a backup, an open transaction. */
  | (Omit<Due, "kind"> & { readonly kind: "locked" });

/** Brings the database to the newest migration in one transaction. Returns the versions it applied. */
export async function migrate(sql: Sql, migrations = readMigrations()): Promise<readonly number[]> {
  return transaction(sql, async (tx) => {
    // Who waits for the lock finds what the one before has done.
    await tx`select pg_advisory_xact_lock(${LOCK})`;
    return apply(tx, await foundOrRefused(tx, migrations), migrations);
  });
}

/**
 * The same, unless a node was heard within `silentMs` (0: none is waited for) or somebody else holds a lock: then it
 * changes nothing and tells that, within seconds. What nodes held is taken from them: their fences are broken.
 */
export async function migrateUnheard(
  sql: Sql,
  silentMs: number,
  migrations = readMigrations(),
): Promise<Hindered | undefined> {
  const needed = await due(sql, migrations);
  if (needed === undefined) return undefined;
  try {
    return await transaction(sql, (tx) => attempt(tx, needed, silentMs, migrations));
  } catch (error) {
    if (isLockMissed(error)) return { ...needed, kind: "locked" };
    throw error;
  }
}

async function attempt(
  tx: TransactionSql,
  needed: Due,
  silentMs: number,
  migrations: readonly Migration[],
): Promise<Hindered | undefined> {
  const [lock] = await tx<{ is_ours: boolean }[]>`
    select pg_try_advisory_xact_lock(${LOCK}) as is_ours, set_config('lock_timeout', ${`${LOCK_MS}ms`}, true)`;
  if (!lock?.is_ours) return { ...needed, kind: "migrating" };
  const found = await foundOrRefused(tx, migrations);
  if (found === needed.known) return undefined;
  if (found > 0) {
    // No beat comes between the look and the end of the migration; one that was on its way is seen.
    await tx`lock table nodes in share row exclusive mode`;
    const nodes = silentMs > 0 ? await heard(tx, silentMs) : 0;
    if (nodes > 0) return { ...needed, kind: "heard", nodes };
  }
  await apply(tx, found, migrations);
  // After the migrations, which leave the columns as this release knows them.
  if (found > 0) await tx`update sessions set ${raised(tx)} where node is not null`;
  return undefined;
}

/** Whether migrations are due; changes nothing. */
export async function due(sql: Sql, migrations = readMigrations()): Promise<Due | undefined> {
  const known = newest(migrations);
  const [table] = await asked(
    sql<{ is_there: boolean }[]>`select to_regclass('dormouse_migrations') is not null as is_there`,
  );
  if (!table?.is_there) return { kind: "due", found: 0, known };
  const found = await asked(newestApplied(sql));
  if (found > known) throw new DatabaseNewer(found, known);
  return found === known ? undefined : { kind: "due", found, known };
}

function transaction<T>(sql: Sql, run: (tx: TransactionSql) => Promise<T>): Promise<T> {
  const done = sql.begin(async (tx) => {
    try {
      // In an object: the driver would wait for what an array holds.
      return { result: await run(tx) };
    } catch (error) {
      // The driver would send its rollback to a socket that is gone, which ends the process. It rejects without that.
      if (isConnectionLost(error)) await new Promise<never>(() => {});
      throw error;
    }
  });
  return asked(done.then(({ result }) => result));
}

/** Under the lock: the newest migration that was applied. */
async function foundOrRefused(tx: TransactionSql, migrations: readonly Migration[]): Promise<number> {
  await tx`create table if not exists dormouse_migrations (
    version integer primary key, name text not null, applied_at timestamptz not null default now())`;
  const found = await newestApplied(tx);
  const known = newest(migrations);
  if (found > known) throw new DatabaseNewer(found, known);
  return found;
}

async function apply(tx: TransactionSql, found: number, migrations: readonly Migration[]): Promise<readonly number[]> {
  const missing = migrations.filter(({ version }) => version > found);
  for (const { version, name, sql } of missing) {
    await tx.unsafe(sql);
    await tx`insert into dormouse_migrations (version, name) values (${version}, ${name})`;
  }
  return missing.map(({ version }) => version);
}

async function newestApplied(sql: ISql): Promise<number> {
  const [row] = await sql<
    { version: number }[]
  >`select coalesce(max(version), 0)::int as version from dormouse_migrations`;
  return row?.version ?? 0;
}

/** Not by `now()`: that is when the transaction began, before it waited for the lock. */
async function heard(sql: ISql, silentMs: number): Promise<number> {
  const [row] = await sql<{ nodes: number }[]>`
    select count(*)::int as nodes from nodes
    where heard > clock_timestamp() - ${silentMs}::float8 * interval '1 millisecond'`;
  return row?.nodes ?? 0;
}

const newest = (migrations: readonly Migration[]): number => migrations.at(-1)?.version ?? 0;

/** The files of `persistence/migrations`, in order: `0001_name.sql`, numbered without a gap. */
export function readMigrations(from = dirname(fileURLToPath(import.meta.url))): readonly Migration[] {
  const folder = join(packageRoot(from), "persistence", "migrations");
  if (!existsSync(folder)) throw new MigrationsMissing(`no folder ${folder}: install the whole package`);
  const names = readdirSync(folder).filter((name) => name.endsWith(".sql"));
  return names.sort().map((name, index) => {
    const version = Number(/^(\d{4})_/.exec(name)?.[1]);
    if (version !== index + 1) throw new MigrationsMissing(`migration ${name} is not number ${index + 1}`);
    return { version, name, sql: readFileSync(join(folder, name), "utf8") };
  });
}

// The compiled code lies in dist/persistence, but the .sql files stay beside the sources.
function packageRoot(from: string): string {
  for (let folder = from; ; folder = dirname(folder)) {
    if (nameOf(join(folder, "package.json")) === "dormouse") return folder;
    if (folder === dirname(folder)) throw new MigrationsMissing(`no package "dormouse" above ${from}`);
  }
}

function nameOf(manifest: string): unknown {
  if (!existsSync(manifest)) return undefined;
  return (JSON.parse(readFileSync(manifest, "utf8")) as { name?: unknown }).name;
}
