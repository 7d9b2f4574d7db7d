import type { Sql } from "postgres";
import { afterEach, beforeEach, expect, test } from "vitest";
import { keyRing } from "./cipher/key-ring.ts";
import { migrate, readMigrations } from "./migrate.ts";
import { connect, openStore, storeOn } from "./postgres.ts";
import { OwnershipLost } from "./store.ts";
import { type TestDatabase, testDatabase } from "./testing/database.ts";
import { admitted, batch, newKeys, newNode, newSession, wholeTurn } from "./testing/store-scene.ts";
import type { Hindrance, Waits } from "./upgrade.ts";

const known = readMigrations().length;
const found = known - 1;
const OLDER = readMigrations().slice(0, found);
const silentMs = 20_000;

/** A release that knows all but the last migration, and one that knows it, each with a pool of its own. */
let database: TestDatabase;
let pools: readonly [Sql, Sql];
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
  const told: Hindrance[] = [];
  const stopping = new AbortController();
  const clock = { at: 0, asleep: 0, wake: () => {} };
  const how: Waits = {
    signal: stopping.signal,
    onWaiting: (hindrance) => told.push(hindrance),
    clock: {
      monotonic: () => clock.at,
      sleep: (ms, signal) =>
        new Promise((resolve, reject) => {
          clock.asleep += 1;
          if (signal?.aborted) reject(signal.reason);
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

/** A node that starts and has others beside it. */
const opened = (how: Waits, sql = pools[1]) =>
  openStore({ sql, ring, upgrade: { kind: "when_silent", silentMs, ...how } });

/** A transaction that stays open, in which a node says that it lives: its row is not to be seen yet. */
async function beatOnItsWay() {
  const holder = await pools[0].reserve();
  await holder`begin`;
  await holder`insert into nodes (id) values (${newNode()})`;
  return {
    async ends(how: "commit" | "rollback") {
      await holder.unsafe(how);
      holder.release();
    },
  };
}

/** Waits until one backend of this database waits for a lock. */
const someoneWaits = () =>
  expect
    .poll(
      async () =>
        (
          await pools[0]`
            select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
        ).length,
      { interval: 5 },
    )
    .toBe(1);

const heardLast = (age: string) => pools[0]`update nodes set heard = now() - ${age}::interval`;

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
  const opening = opened(how);
  await asleep();
  expect(told).toEqual([{ kind: "heard", found, known, nodes: 1 }]);
  await old.nodes.beat(running);
  await wholeTurn(old, id, 2, 1);
  await rounds(3);
  expect([await appliedVersions(), told.length]).toEqual([found, 1]);
  clock.at += 60_000;
  await rounds(1);
  expect(told.length).toBe(2);

  // Silent, not gone: a process that was killed leaves its row.
  await heardLast("18 seconds");
  await rounds(1);
  expect(await appliedVersions()).toBe(found);
  await heardLast("21 seconds");
  clock.wake();
  const store = await opening;
  expect(await appliedVersions()).toBe(known);
  await wholeTurn(store, id, 3, 2);
  expect((await store.turns.page(id, 5)).map(({ n }) => n)).toEqual([1, 2, 3]);
});

test("[MI6] it waits for nobody where nothing is due, where no node is heard, and in an empty database", async () => {
  const { told, how } = waits();
  const store = await opened(how);
  await store.nodes.beat(newNode());
  await opened(how);
  expect(told).toEqual([]);
  const other = await testDatabase();
  const sql = connect(other.url, { max: 1 });
  try {
    await migrate(sql, OLDER);
    await opened(how, sql);
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
  const opening = opened(how);
  await asleep();
  stopping.abort();
  await expect(opening).rejects.toBe(stopping.signal.reason);
  expect(await appliedVersions()).toBe(found);
});

test("[MI6] where no other node can be, none is waited for, though one was heard just before it was killed", async () => {
  await migrate(pools[0], OLDER);
  await storeOn({ sql: pools[0], ring }).nodes.beat(newNode());
  const { told, how } = waits();
  await openStore({ sql: pools[1], ring, upgrade: { kind: "when_silent", silentMs: 0, ...how } });
  expect([await appliedVersions(), told]).toEqual([known, []]);
});

test("[MI6] a beat that is on its way is heard; who migrates at the same time is told that another one is at it", async () => {
  await migrate(pools[0], OLDER);
  const beat = await beatOnItsWay();
  const other = connect(database.url, { max: 1 });
  try {
    const [first, second] = [waits(), waits()];
    const opening = opened(first.how);
    await someoneWaits();
    const openingToo = opened(second.how, other);
    await second.asleep();
    expect(second.told).toEqual([{ kind: "migrating", found, known }]);
    await beat.ends("commit");
    await first.asleep();
    await second.rounds(1);
    expect([first.told, second.told.slice(1), await appliedVersions()]).toEqual([
      [{ kind: "heard", found, known, nodes: 1 }],
      [{ kind: "heard", found, known, nodes: 1 }],
      found,
    ]);
    await heardLast("21 seconds");
    first.clock.wake();
    await opening;
    second.clock.wake();
    await openingToo;
    expect(await appliedVersions()).toBe(known);
  } finally {
    await other.end({ timeout: 1 });
  }
});

test("[MI9] what a node held is taken from it together with the migration: come back, it finds its fences broken", async () => {
  await migrate(pools[0], OLDER);
  const old = storeOn({ sql: pools[0], ring });
  await old.nodes.beat(newNode());
  const resting = await newSession(old);
  await wholeTurn(old, resting, 1, 0);
  const { fence, turnId } = await admitted(old, await newSession(old));
  await heardLast("21 seconds");
  const store = await opened(waits().how);
  await expect(old.histories.append(fence, batch(turnId, []))).rejects.toThrow(OwnershipLost);
  expect(await old.sessions.renew([fence], 1_000)).toEqual([]);
  expect(await store.sessions.orphans(10)).toEqual([fence.sessionId]);
  const epochs = await pools[0]<{ epoch: number }[]>`
    select epoch::int from sessions order by id = ${resting}`;
  expect(epochs.map(({ epoch }) => epoch)).toEqual([fence.epoch + 1, 1]);
});

test("[MI10] a lock that somebody holds is waited for some seconds at a time, told, and a signal ends it", async () => {
  await migrate(pools[0], OLDER);
  const beat = await beatOnItsWay();
  const { told, stopping, how } = waits();
  const opening = opened(how);
  await someoneWaits();
  stopping.abort();
  await expect(opening).rejects.toBe(stopping.signal.reason);
  expect([told, await appliedVersions()]).toEqual([[{ kind: "locked", found, known }], found]);
  await beat.ends("rollback");
  await opened(waits().how);
  expect(await appliedVersions()).toBe(known);
});

test("[MI10] a database that goes away during the wait is asked again, and that is told; one that never answered is not", async () => {
  await migrate(pools[0], OLDER);
  await storeOn({ sql: pools[0], ring }).nodes.beat(newNode());
  const { told, clock, how, asleep } = waits();
  const opening = opened(how);
  await asleep();
  const beat = await beatOnItsWay();
  clock.wake();
  await someoneWaits();
  await pools[0]`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`;
  await expect.poll(() => told.at(-1), { interval: 5 }).toMatchObject({ kind: "unavailable" });
  await beat.ends("rollback");
  await heardLast("21 seconds");
  clock.wake();
  await opening;
  expect(await appliedVersions()).toBe(known);
  expect(told.map(({ kind }) => kind)).toEqual(["heard", "unavailable"]);

  const never = waits();
  const sql = connect("postgres://user:secret@127.0.0.1:1/none", { max: 1 });
  try {
    await expect(opened(never.how, sql)).rejects.toHaveProperty("code", "unavailable");
    expect(never.told).toEqual([]);
  } finally {
    await sql.end({ timeout: 1 });
  }
});

test("[MI7] a worker never migrates: it waits for a node of its release, also in an empty database", async () => {
  const { told, clock, how, rounds, asleep } = waits();
  const opening = openStore({ sql: pools[1], ring, upgrade: { kind: "by_a_node", ...how } });
  await asleep();
  expect((await pools[0]`select from pg_tables where schemaname = 'public'`).length).toBe(0);
  await migrate(pools[0], OLDER);
  await rounds(2);
  expect([await appliedVersions(), told]).toEqual([found, [{ kind: "due", found: 0, known }]]);
  await openStore({ sql: pools[0], ring });
  clock.wake();
  const store = await opening;
  await wholeTurn(store, await newSession(store), 1, 0);
  await pools[0]`insert into dormouse_migrations (version, name) values (9000, '9000_later.sql')`;
  const refused = openStore({ sql: pools[1], ring, upgrade: { kind: "by_a_node", ...how } });
  await expect(refused).rejects.toHaveProperty("code", "database_newer");
});
