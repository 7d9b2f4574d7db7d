import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { ISql, Sql, TransactionSql } from "postgres";
import { Failure } from "../machines/failure.ts";
import { asked } from "./database-error.ts";

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

/** Migrations are due, and nodes are heard that run on the database as it is. */
export type Due = { readonly found: number; readonly known: number; readonly nodes: number };

/** Brings the database to the newest migration in one transaction. Returns the versions it applied. */
export async function migrate(sql: Sql, migrations = readMigrations()): Promise<readonly number[]> {
  return locked(sql, migrations, (tx, found) => apply(tx, found, migrations));
}

/** The same, unless migrations are due and a node was heard within `silentMs`: then it changes nothing and tells that. */
export async function migrateUnheard(
  sql: Sql,
  silentMs: number,
  migrations = readMigrations(),
): Promise<Due | undefined> {
  const known = newest(migrations);
  return locked(sql, migrations, async (tx, found) => {
    const nodes = found > 0 && found < known ? await heard(tx, silentMs) : 0;
    if (nodes > 0) return { found, known, nodes };
    await apply(tx, found, migrations);
    return undefined;
  });
}

/** Whether migrations are due; changes nothing. */
export async function due(sql: Sql, silentMs: number, migrations = readMigrations()): Promise<Due | undefined> {
  const known = newest(migrations);
  const [table] = await asked(
    sql<{ is_there: boolean }[]>`select to_regclass('dormouse_migrations') is not null as is_there`,
  );
  if (!table?.is_there) return { found: 0, known, nodes: 0 };
  const found = await asked(newestApplied(sql));
  if (found > known) throw new DatabaseNewer(found, known);
  if (found === known) return undefined;
  return { found, known, nodes: found > 0 ? await asked(heard(sql, silentMs)) : 0 };
}

/** One process at a time: who waits for the lock finds what the one before has done. */
function locked<T>(
  sql: Sql,
  migrations: readonly Migration[],
  run: (tx: TransactionSql, found: number) => Promise<T>,
): Promise<T> {
  const known = newest(migrations);
  const done = sql.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(${LOCK})`;
    await tx`create table if not exists dormouse_migrations (
      version integer primary key, name text not null, applied_at timestamptz not null default now())`;
    const found = await newestApplied(tx);
    if (found > known) throw new DatabaseNewer(found, known);
    // In an object: the driver would wait for what an array holds.
    return { result: await run(tx, found) };
  });
  return asked(done.then(({ result }) => result));
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
