import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Sql } from "postgres";
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

/** Brings the database to the newest migration in one transaction. Returns the versions it applied. */
export async function migrate(sql: Sql, migrations = readMigrations()): Promise<readonly number[]> {
  const known = migrations.at(-1)?.version ?? 0;
  return asked(
    sql.begin(async (tx) => {
      await tx`select pg_advisory_xact_lock(${LOCK})`;
      await tx`create table if not exists dormouse_migrations (
        version integer primary key, name text not null, applied_at timestamptz not null default now())`;
      const [row] = await tx<
        { version: number }[]
      >`select coalesce(max(version), 0)::int as version from dormouse_migrations`;
      const found = row?.version ?? 0;
      if (found > known) throw new DatabaseNewer(found, known);
      const due = migrations.filter(({ version }) => version > found);
      for (const migration of due) {
        await tx.unsafe(migration.sql);
        await tx`insert into dormouse_migrations (version, name) values (${migration.version}, ${migration.name})`;
      }
      return due.map(({ version }) => version);
    }),
  );
}

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
