import { afterEach, beforeEach, expect, test } from "vitest";
import { keyRing } from "./cipher/key-ring.ts";
import { type Due, migrate, readMigrations } from "./migrate.ts";
import { connect, openStore, storeOn } from "./postgres.ts";
import { type TestDatabase, testDatabase } from "./testing/database.ts";
import { newKeys, newNode, newSession, wholeTurn } from "./testing/store-scene.ts";
import type { Waits } from "./upgrade.ts";

const known = readMigrations().length;
const found = known - 1;
const OLDER = readMigrations().slice(0, found);

/** A release that knows all but the last migration, and one that knows it, each with a pool of its own. */
let database: TestDatabase;
let pools: readonly [ReturnType<typeof connect>, ReturnType<typeof connect>];
const ring = keyRing(newKeys("k1"));
beforeEach(async () => {
  database = await testDatabase();
  pools = [connect(database.url, { max: 2 }), connect(database.url, { max: 2 })];
});
afterEach(async () => {
  await Promise.all(pools.map((sql) => sql.end({ timeout: 1 })));
  await database.drop();
});

/** A clock whose sleeps end when the test says so. */
function waits() {
  const told: Due[] = [];
  const stopping = new AbortController();
  const clock = { at: 0, asleep: 0, wake: () => {} };
  const how: Waits = {
    signal: stopping.signal,
    onWaiting: (due) => told.push(due),
    clock: {
      monotonic: () => clock.at,
      sleep: (ms, signal) =>
        new Promise((resolve, reject) => {
          clock.asleep += 1;
          clock.wake = () => {
            clock.at += ms;
            resolve();
          };
          signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
        }),
    },
  };
  const rounds = async (count: number) => {
    for (let left = count; left > 0; left--) {
      const before = clock.asleep;
      clock.wake();
      await expect.poll(() => clock.asleep, { interval: 1 }).toBe(before + 1);
    }
  };
  const asleep = () => expect.poll(() => clock.asleep, { interval: 1 }).toBeGreaterThan(0);
  return { told, stopping, clock, how, rounds, asleep };
}

async function appliedVersions(): Promise<number> {
  const [row] = await pools[0]`select count(*)::int as count from dormouse_migrations`;
  return row?.["count"];
}

test("[MI6] a node of a newer release leaves the database alone until the running one is silent, and says so", async () => {
  await migrate(pools[0], OLDER);
  const old = storeOn({ sql: pools[0], ring });
  const running = newNode();
  await old.nodes.beat(running);
  const id = await newSession(old);
  await wholeTurn(old, id, 1, 0);

  const { told, clock, how, rounds, asleep } = waits();
  const opening = openStore({ sql: pools[1], ring, upgrade: { kind: "when_silent", ...how } });
  await asleep();
  expect(told).toEqual([{ found, known, nodes: 1 }]);
  await old.nodes.beat(running);
  await wholeTurn(old, id, 2, 1);
  await rounds(3);
  expect([await appliedVersions(), told.length]).toEqual([found, 1]);
  clock.at += 60_000;
  await rounds(1);
  expect(told.length).toBe(2);

  // Silent, not gone: a process that was killed leaves its row.
  await pools[0]`update nodes set heard = now() - interval '6 seconds'`;
  clock.wake();
  const store = await opening;
  expect(await appliedVersions()).toBe(known);
  await wholeTurn(store, id, 3, 2);
  expect((await store.turns.page(id, 5)).map(({ n }) => n)).toEqual([1, 2, 3]);
});

test("[MI6] it waits for nobody where nothing is due, where no node is heard, and in an empty database", async () => {
  const { told, how } = waits();
  const open = () => openStore({ sql: pools[1], ring, upgrade: { kind: "when_silent", ...how } });
  const store = await open();
  await store.nodes.beat(newNode());
  await open();
  expect(told).toEqual([]);
  const other = await testDatabase();
  const sql = connect(other.url, { max: 1 });
  try {
    await migrate(sql, OLDER);
    await openStore({ sql, ring, upgrade: { kind: "when_silent", ...how } });
    expect(told).toEqual([]);
  } finally {
    await sql.end();
    await other.drop();
  }
});

test("[MI6] told to stop while it waits, it stops and has changed nothing", async () => {
  await migrate(pools[0], OLDER);
  await storeOn({ sql: pools[0], ring }).nodes.beat(newNode());
  const { how, stopping, asleep } = waits();
  const opening = openStore({ sql: pools[1], ring, upgrade: { kind: "when_silent", ...how } });
  await asleep();
  stopping.abort();
  await expect(opening).rejects.toBe(stopping.signal.reason);
  expect(await appliedVersions()).toBe(found);
});

test("[MI7] a worker never migrates: it waits for a node of its release, also in an empty database", async () => {
  const { told, clock, how, rounds, asleep } = waits();
  const opening = openStore({ sql: pools[1], ring, upgrade: { kind: "by_a_node", ...how } });
  await asleep();
  expect((await pools[0]`select from pg_tables where schemaname = 'public'`).length).toBe(0);
  await migrate(pools[0], OLDER);
  await rounds(2);
  expect([await appliedVersions(), told]).toEqual([found, [{ found: 0, known, nodes: 0 }]]);
  await openStore({ sql: pools[0], ring });
  clock.wake();
  const store = await opening;
  await wholeTurn(store, await newSession(store), 1, 0);
  await pools[0]`insert into dormouse_migrations (version, name) values (9000, '9000_later.sql')`;
  const refused = openStore({ sql: pools[1], ring, upgrade: { kind: "by_a_node", ...how } });
  await expect(refused).rejects.toHaveProperty("code", "database_newer");
});
