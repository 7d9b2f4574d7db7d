import { randomUUID } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Sql } from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sessionId } from "../machines/ids.ts";
import { type KeyRing, keyRing } from "./cipher/key-ring.ts";
import { newDataKey, sessionCipher } from "./cipher/session-cipher.ts";
import { DatabaseError } from "./database-error.ts";
import { DatabaseNewer, MigrationsMissing, migrate, readMigrations } from "./migrate.ts";
import { connect, openStore } from "./postgres.ts";
import { StoreUnavailable } from "./store.ts";
import { testDatabase } from "./testing/database.ts";
import {
  newCommand,
  newKeys,
  newNode,
  newSession,
  newTurn,
  rivera,
  type StoreScene,
  storeScene,
  wholeTurn,
} from "./testing/store-scene.ts";

let scene: StoreScene;
beforeAll(async () => {
  scene = await storeScene();
});
afterAll(() => scene.close());

const versions = readMigrations().map(({ version }) => version);

test("[MI1] nodes that start together on an empty database migrate it once", async () => {
  const database = await testDatabase();
  const pools = [1, 2, 3].map(() => connect(database.url, { max: 2 }));
  try {
    const applied = await Promise.all(pools.map((sql) => migrate(sql)));
    expect(applied.filter((list) => list.length > 0)).toEqual([versions]);
    const sql = connect(database.url, { max: 1 });
    pools.push(sql);
    const rows = await sql<{ version: number }[]>`select version from dormouse_migrations order by version`;
    expect(rows.map(({ version }) => version)).toEqual(versions);
  } finally {
    await Promise.all(pools.map((sql) => sql.end()));
    await database.drop();
  }
});

test("[MI2] a migration that fails leaves the database as it was; a later run goes on", async () => {
  const database = await testDatabase();
  const sql = connect(database.url, { max: 1 });
  const good = { version: 1, name: "0001_good.sql", sql: "create table one (id int); create table two (id int)" };
  const bad = { version: 2, name: "0002_bad.sql", sql: "create table three (id int); select nothing from nowhere" };
  try {
    await expect(migrate(sql, [good, bad])).rejects.toHaveProperty("code", "store_refused");
    expect(await migrate(sql, [good])).toEqual([1]);
    expect(await migrate(sql, [good, { ...bad, sql: "create table three (id int)" }])).toEqual([2]);
    expect(await migrate(sql, [good, bad])).toEqual([]);
  } finally {
    await sql.end();
    await database.drop();
  }
});

test("[MI3] a database of a later release is refused and left alone", async () => {
  const database = await testDatabase();
  const sql = connect(database.url, { max: 1 });
  try {
    await migrate(sql);
    await sql`insert into dormouse_migrations (version, name) values (9000, '9000_later.sql')`;
    const refused = openStore({ sql, ring: keyRing(newKeys("k1")) });
    await expect(refused).rejects.toEqual(new DatabaseNewer(9000, versions.length));
  } finally {
    await sql.end();
    await database.drop();
  }
});

test.each([6, 8])(
  "[MI5] of a filled database at migration %i: open turns keep their grants, ended ones and those that are over have none",
  async (from) => {
    const database = await testDatabase();
    const sql = connect(database.url, { max: 1 });
    try {
      await migrate(sql, readMigrations().slice(0, 6));
      const ring = keyRing(newKeys("k1"));
      const { id, turns, grant } = await sessionOfOldRelease(sql, ring);
      await migrate(sql, readMigrations().slice(0, from));
      const store = await openStore({ sql, ring });
      const found = async () => {
        const granted = await Promise.all(turns.map(({ turnId }) => store.grants.find(id, turnId)));
        return granted.flatMap((one, at) => (one ? [[turns[at]?.name, one]] : []));
      };
      expect(await found()).toEqual([["running", grant]]);
      expect((await sql`select from inbox where grant_body is not null`).length).toBe(3);
      expect(await store.grants.sweep()).toBe(2);
      expect(await found()).toEqual([["running", grant]]);
      expect((await sql`select from inbox where body is not null`).length).toBe(3);
    } finally {
      await sql.end();
      await database.drop();
    }
  },
);

test.each([true, false])(
  "[MI8] migrated, the server knows the columns of a filled table, and nothing of an empty one: %s",
  async (isFilled) => {
    const database = await testDatabase();
    const sql = connect(database.url, { max: 1 });
    try {
      await migrate(sql, readMigrations().slice(0, 6));
      if (isFilled) await sessionOfOldRelease(sql, keyRing(newKeys("k1")));
      await migrate(sql);
      const counted = await sql<{ name: string }[]>`
      select relname as name from pg_class where relname in ('sessions', 'inbox') and reltuples >= 0`;
      const columns = await sql<{ name: string }[]>`
      select tablename || '.' || attname as name from pg_stats
      where (tablename, attname) in (('sessions', 'status'), ('sessions', 'unsettled'), ('inbox', 'state'))`;
      const known = [...counted, ...columns].map(({ name }) => name).sort();
      const all = ["inbox", "inbox.state", "sessions", "sessions.status", "sessions.unsettled"];
      expect(known).toEqual(isFilled ? all : []);
    } finally {
      await sql.end();
      await database.drop();
    }
  },
);

test("[MI4] migrations are found from the compiled folder, and only in a package named dormouse", () => {
  const root = mkdtempSync(join(tmpdir(), "dm-migrations-"));
  try {
    const compiled = join(root, "dist", "persistence");
    const sources = join(root, "persistence", "migrations");
    mkdirSync(compiled, { recursive: true });
    mkdirSync(sources, { recursive: true });
    writeFileSync(join(sources, "0001_first.sql"), "select 1");
    writeFileSync(join(root, "package.json"), '{"name": "another"}');
    expect(() => readMigrations(compiled)).toThrow(MigrationsMissing);
    writeFileSync(join(root, "package.json"), '{"name": "dormouse"}');
    expect(readMigrations(compiled)).toEqual([{ version: 1, name: "0001_first.sql", sql: "select 1" }]);
    writeFileSync(join(sources, "0003_third.sql"), "select 3");
    expect(() => readMigrations(compiled)).toThrow("migration 0003_third.sql is not number 2");
  } finally {
    rmSync(root, { recursive: true });
  }
});

/** A session with a turn in every state, as they lay in the tables of migration 6; of two the login is over. */
async function sessionOfOldRelease(sql: Sql, ring: KeyRing) {
  const id = sessionId(randomUUID());
  const dataKey = newDataKey();
  const cipher = sessionCipher(dataKey, id);
  const grant = {
    principal: { userId: rivera, name: "Dr Rivera", flags: [], preferences: {} },
    credential: { cookie: "c" },
  };
  await sql`
    insert into sessions (id, owner, agent, data_key, unsettled) values (${id}, ${rivera}, 'assist', ${ring.wrap(dataKey, id)}, 3)`;
  const turns = [
    { name: "running", state: "running", minutes: 60, isOpen: true },
    { name: "waiting, over", state: "waiting", minutes: -1, isOpen: true },
    { name: "cancelled, over", state: "cancelled", minutes: -1, isOpen: true },
    { name: "settled", state: "settled", minutes: 60, isOpen: false },
    { name: "withdrawn", state: "withdrawn", minutes: 60, isOpen: false },
  ].map((turn) => ({ ...turn, turnId: newTurn() }));
  for (const { turnId, state, minutes, isOpen } of turns) {
    await sql`
      insert into inbox (session_id, command_id, kind, ordinal, turn_id, digest, state, body)
      values (${id}, ${newCommand()}, 'message', 1, ${turnId}, '', ${state}, ${isOpen ? Buffer.of(1) : null})`;
    const body = cipher.seal({ table: "grants", column: "body", row: turnId }, grant);
    await sql`
      insert into grants (session_id, turn_id, expires_at, body)
      values (${id}, ${turnId}, now() + ${minutes}::int * interval '1 minute', ${body})`;
  }
  return { id, turns, grant };
}

test("[H-04] connections that the server ends, idle or busy, are replaced; what was not stored is said to be so", async () => {
  const { store, sql } = scene;
  const id = await newSession(store);
  await wholeTurn(store, id, 1, 0);
  const endOthers = () => sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid()`;
  for (let round = 0; round < 5; round++) {
    await endOthers();
    await expect
      .poll(() =>
        store.sessions.list(rivera).then(
          (rows) => rows.length,
          () => 0,
        ),
      )
      .toBeGreaterThan(0);
  }
  // A statement that is cut while it waits for a lock.
  const someoneWaits = async () =>
    (await sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`).length >
    0;
  const blocker = await sql.reserve();
  await blocker`begin`;
  await blocker`select from sessions where id = ${id} for update`;
  const cut = store.sessions.take(id, newNode(), 1_000).catch((error: unknown) => error);
  await expect.poll(someoneWaits, { interval: 5 }).toBe(true);
  await blocker`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`;
  expect(await cut).toBeInstanceOf(StoreUnavailable);
  await blocker`rollback`;
  blocker.release();
  await expect.poll(() => store.sessions.take(id, newNode(), 1_000).then(Boolean, () => false)).toBe(true);
});

test("[ST2] a database that does not answer is StoreUnavailable, retryable, and tells no address", async () => {
  const sql = connect("postgres://user:secret@127.0.0.1:1/none", { max: 1 });
  try {
    const failed = await openStore({ sql, ring: keyRing(newKeys("k1")) }).catch((error: unknown) => error);
    expect(failed).toEqual(new StoreUnavailable(new DatabaseError("ECONNREFUSED", undefined)));
  } finally {
    await sql.end({ timeout: 1 });
  }
});

test("[ST3] without named statements, as behind a pooler, a turn works the same", async () => {
  const sql = connect(scene.url, { max: 2, prepare: false });
  try {
    const store = await openStore({ sql, ring: keyRing(scene.keys) });
    const id = await newSession(store);
    await wholeTurn(store, id, 1, 0);
    await wholeTurn(store, id, 2, 1);
    expect((await store.turns.page(id, 5)).map(({ n }) => n)).toEqual([1, 2]);
    const [row] = await sql`select count(*)::int as named from pg_prepared_statements where from_sql = false`;
    expect(row).toEqual({ named: 0 });
  } finally {
    await sql.end();
  }
});

test("[ST4] notices of the server reach the given function as codes only", async () => {
  const codes: string[] = [];
  const sql = connect(scene.url, { max: 1, onNotice: (code) => codes.push(code) });
  await sql`create table if not exists sessions ()`;
  await sql.end();
  expect(codes).toEqual(["42P07"]);
});
