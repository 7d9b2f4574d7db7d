import { afterAll, beforeAll, expect, test } from "vitest";
import { keyRing } from "./cipher/key-ring.ts";
import { connect, storeOn } from "./postgres.ts";
import { answers, asks } from "./testing/questions.ts";
import {
  admission,
  admitted,
  batch,
  by,
  fill,
  frozen,
  newCommand,
  newSession,
  planOf,
  rivera,
  type StoreScene,
  said,
  settlement,
  storeScene,
  wholeTurn,
} from "./testing/store-scene.ts";

let scene: StoreScene;
beforeAll(async () => {
  scene = await storeScene();
});
afterAll(() => scene.close());

test("[ST1] a turn costs four statements: admit, append, settle, sleep", async () => {
  const id = await newSession(scene.store);
  await wholeTurn(scene.store, id, 1, 0);
  scene.statements.length = 0;
  await wholeTurn(scene.store, id, 2, 1);
  const changed = scene.statements.map((text) => [...new Set(text.match(/(?<=insert into )\w+/g))].sort());
  expect(changed).toEqual([["inbox"], ["entries"], ["blocks"], []]);
});

test.each([
  ["in a new database, of which nothing is known", async () => {}],
  ["in a database that was used for a while", fill],
])("[ST5] a turn finds its session, its row and an earlier copy by their whole keys %s", async (_, before) => {
  const fresh = await storeScene();
  try {
    await before(fresh);
    const id = await newSession(fresh.store);
    fresh.statements.length = 0;
    const { fence, turnId } = await admitted(fresh.store, id);
    await fresh.store.inbox.admit(admission(id, by(fence)));
    await fresh.store.histories.append(fence, batch(turnId, [said(turnId, 0)], { opens: { n: 1, title: "T" } }));
    await fresh.store.histories.settle(fence, settlement(turnId, 1));
    const statements = fresh.statements.filter((one) => /inbox|entries/.test(one));
    const used = await Promise.all(statements.map((text) => planOf(fresh, text)));
    const session = "(id = $)";
    const copy = "((session_id = $) AND (command_id = $))";
    const row = "((session_id = $) AND (turn_id = $))";
    const closing = [row, session, "(id = t.session_id)"];
    expect(used).toEqual([[copy, session], [copy, session], closing, closing]);
  } finally {
    await fresh.close();
  }
});

test("[ST6] no write of a turn to its session's row touches an index, falling asleep and being taken included", async () => {
  const fresh = await storeScene();
  const sql = connect(fresh.url, { max: 1 });
  try {
    const store = storeOn({ sql, ring: keyRing(fresh.keys) });
    const id = await newSession(store);
    for (let n = 1; n <= 3; n++) await wholeTurn(store, id, n, n - 1);
    // A connection tells what it has done some seconds later, if nobody asks it to.
    await sql`select pg_stat_force_next_flush()`;
    const written = async () => {
      const [row] = await fresh.sql`
        select n_tup_upd::int as updates, n_tup_hot_upd::int as on_their_page
        from pg_stat_user_tables where relname = 'sessions'`;
      return row;
    };
    await expect.poll(written).toEqual({ updates: 12, on_their_page: 12 });
  } finally {
    await sql.end();
    await fresh.close();
  }
});

test("[D-14] one snapshot a session, whose size depends on the state alone; columns and rows grow with content only", async () => {
  const id = await newSession(scene.store);
  const sizes: number[] = [];
  for (let n = 1; n <= 60; n++) {
    await wholeTurn(scene.store, id, n, n - 1);
    const [row] = await scene.sql<{ bytes: number }[]>`
      select octet_length(snapshot) as bytes from sessions where id = ${id}`;
    sizes.push(row?.bytes ?? 0);
  }
  expect(new Set(sizes).size).toBe(1);
  const [rows] = await scene.sql`
    select (select count(*)::int from sessions where id = ${id}) as sessions,
      (select count(*)::int from entries where session_id = ${id}) as entries,
      (select count(*)::int from blocks where session_id = ${id}) as blocks,
      (select count(*)::int from inbox where session_id = ${id} and body is not null) as bodies,
      (select count(*)::int from inbox where session_id = ${id} and grant_body is not null) as grants`;
  expect(rows).toEqual({ sessions: 1, entries: 60, blocks: 60, bodies: 0, grants: 0 });

  expect(await scene.store.sessions.erase(id, rivera)).toBe(true);
  const [left] = await scene.sql`
    select (select count(*)::int from sessions where id = ${id}) as sessions,
      (select count(*)::int from entries where session_id = ${id}) as entries,
      (select count(*)::int from blocks where session_id = ${id}) as blocks,
      (select count(*)::int from inbox where session_id = ${id}) as inbox`;
  expect(left).toEqual({ sessions: 0, entries: 0, blocks: 0, inbox: 0 });
});

test("[ST1] a message that closes what is open costs one statement when its sender knows of that, else two", async () => {
  const costs: number[] = [];
  for (const isSomethingOpen of [true, false]) {
    const id = await newSession(scene.store);
    const { fence, asked } = await asks(scene.store, id);
    scene.statements.length = 0;
    const message = admission(id, { ...by(fence), isSomethingOpen });
    expect((await scene.store.inbox.admit(message)).kind).toBe("admitted");
    costs.push(scene.statements.length);
    expect((await scene.store.interactions.find(id, asked.interactionId))?.status).toBe("superseded");
    // Nothing is open any more: who believes so is admitted all the same.
    expect((await scene.store.inbox.admit(admission(id, { ...by(fence), isSomethingOpen }))).kind).toBe("admitted");
  }
  expect(costs).toEqual([1, 2]);
});

test("[ST1] a turn that asks, its answer and a turn that tells of a button cost no statement more", async () => {
  const id = await newSession(scene.store);
  await scene.store.sessions.find(id, rivera);
  scene.statements.length = 0;
  const { fence, asked } = await asks(scene.store, id);
  await scene.store.sessions.sleep(fence, frozen(), 10, "awaiting");
  const { fence: next, turnId } = await admitted(scene.store, id, answers(asked));
  const recorded = [newCommand()];
  await scene.store.histories.append(next, batch(turnId, [said(turnId, 1)], { opens: { n: 2, title: "T" }, recorded }));
  await scene.store.histories.settle(next, settlement(turnId, 2));
  expect(scene.statements.length).toBe(6);
});
