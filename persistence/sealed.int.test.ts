import { inspect } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { callId, commandId, type SessionId, userId } from "../machines/ids.ts";
import type { SealBroken } from "./cipher/failures.ts";
import { StoreRefused } from "./database-error.ts";
import { OwnershipLost, SessionBroken } from "./store.ts";
import { answers, press, pressed, question } from "./testing/questions.ts";
import {
  admission,
  admitted,
  batch,
  chen,
  frozen,
  newKeys,
  newSession,
  newTurn,
  rivera,
  type StoreScene,
  said,
  settlement,
  shown,
  storeScene,
  take,
} from "./testing/store-scene.ts";

let scene: StoreScene;
beforeAll(async () => {
  scene = await storeScene();
});
afterAll(() => scene.close());

const MARKER = "marker-6f1c";
const controls = Array.from({ length: 32 }, (_, code) => String.fromCharCode(code)).join("");
const nasty = `a\u0000b \\u0000 ${controls} \ud800 naïve 👩‍⚕️ ${MARKER}`;

/** A session with every kind of row: one turn settled, one open. */
async function lived(text = nasty, owner = rivera) {
  const { store } = scene;
  const id = await newSession(store, owner);
  const principal = { userId: owner, name: text, flags: [], preferences: {} };
  const grant = { principal, credential: { cookie: text }, expiresAt: Date.now() + 600_000 };
  const { fence, turnId } = await admitted(store, id, { owner, body: { text }, grant });
  const call = {
    turnId,
    callId: callId("c1"),
    name: `look\u0000_up`,
    repeatable: true,
    key: "k",
  };
  const entries = [said(turnId, 0, text)];
  await store.histories.append(fence, batch(turnId, entries, { opens: { n: 1, title: text }, intents: [call] }));
  const asks = question(turnId, { prompt: text, options: [{ id: text, label: text }] });
  await store.histories.settle(fence, settlement(turnId, 1, { turn: shown(turnId, 1, text), asks }));
  await store.sessions.sleep(fence, frozen({ [text]: text }), 10, "resting");
  const resolution = { kind: "answered" as const, selected: [text], text };
  const open = await admitted(store, id, { owner, body: { text }, grant, ...answers(asks, { resolution }) });
  const command = press({ variant: text, plan_id: text });
  await store.actions.intend(open.fence, { command, digest: Buffer.from("digest"), turnId });
  const end = { shown: pressed(command), text };
  await store.actions.finish(open.fence, commandId(command.id), { ...end, state: "done" });
  return { id, turnId, open, text, entries, call, asks, resolution, command, end };
}

test("[H-01] every sealed field gives back exactly the string it got; readable columns lose their NULs only", async () => {
  const { store } = scene;
  const { id, turnId, open, text, entries, call, asks, resolution, command, end } = await lived();
  expect((await store.sessions.find(id, rivera))?.title).toBe(text);
  expect(await store.histories.load(id, 0)).toEqual(entries);
  expect(await store.turns.page(id, 1)).toEqual([shown(turnId, 1, text)]);
  expect((await store.inbox.open(id)).map(({ body }) => body)).toEqual([{ text }]);
  expect((await store.grants.find(id, open.turnId))?.credential).toEqual({ cookie: text });
  expect(open.taken.frozen).toEqual(frozen({ [text]: text }));
  expect(await store.interactions.find(id, asks.interactionId)).toEqual({
    pending: asks.pending,
    turnId,
    status: "answered",
    resolved: { commandId: open.input.commandId, turnId: open.turnId, resolution },
  });
  expect(await store.actions.unrecorded(id)).toEqual([{ command, turnId, state: "done", end }]);
  expect(await store.histories.intents(id, turnId)).toEqual([{ ...call, name: "look_up", state: "intended" }]);
});

test("[SL1] no column of any table shows what was said, who said it or the cookie", async () => {
  const { id } = await lived(MARKER);
  await lived();
  const hex = Buffer.from(MARKER).toString("hex");
  const tables = await scene.sql<{ name: string }[]>`
    select table_name as name from information_schema.tables where table_schema = 'public'`;
  expect(tables.length).toBeGreaterThan(7);
  for (const { name } of tables) {
    const rows = await scene.sql<{ text: string }[]>`select t::text as text from ${scene.sql(name)} t`;
    const telling = rows.filter(({ text }) => text.includes(MARKER) || text.includes(hex));
    expect({ name, telling }).toEqual({ name, telling: [] });
  }
  expect((await scene.sql`select from entries where session_id = ${id}`).length).toBe(1);
});

test("[SL2] errors show no value and no statement", async () => {
  const owner = userId(`${MARKER}\u0000`);
  const refused = await newSession(scene.store, owner).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(StoreRefused);
  const { id, open, turnId } = await lived(MARKER);
  const clash = batch(turnId, [said(turnId, 0, `${MARKER} again`)]);
  const taken = await scene.store.histories.append(open.fence, clash).catch((error: unknown) => error);
  expect(taken).toBeInstanceOf(StoreRefused);
  for (const error of [refused, taken]) {
    const text = inspect(error, { depth: 9, showHidden: true });
    expect([text.includes(MARKER), text.includes("insert into"), text.includes(id)]).toEqual([false, false, false]);
  }
});

const moves: readonly (readonly [string, string, string])[] = [
  ["entries", "body", "pos = 0"],
  ["blocks", "body", "n = 1"],
  ["inbox", "body", "ordinal = 2"],
  ["inbox", "grant_body", "ordinal = 2"],
  ["interactions", "body", "true"],
  ["interactions", "resolution", "true"],
  ["actions", "body", "true"],
  ["actions", "answer", "true"],
];
test.each(moves)("[H-05] %s.%s moved from another session breaks the session, typed", async (table, column, key) => {
  const from = await lived();
  const to = await lived("other", chen);
  await scene.sql.unsafe(
    `update ${table} set ${column} = (select ${column} from ${table} where session_id = '${from.id}' and ${key})
     where session_id = '${to.id}' and ${key}`,
  );
  await expect(read(table, column, to)).rejects.toEqual(broken(to.id));
  // The other session's rows are as they were.
  await read(table, column, from);
});

test("[H-05] a value moved to another row of its own session is refused as well", async () => {
  const { store } = scene;
  const { id, open } = await lived();
  await store.histories.append(open.fence, batch(open.turnId, [said(open.turnId, 1, "second")]));
  await scene.sql`
    update entries set body = (select body from entries where session_id = ${id} and pos = 0)
    where session_id = ${id} and pos = 1`;
  await expect(store.histories.load(id, 0)).rejects.toEqual(broken(id));
  expect((await scene.sql`select from entries where session_id = ${id}`).length).toBe(2);
});

const within: readonly (readonly [string, string, string])[] = [
  ["interactions", "resolution", "true"],
  ["actions", "answer", "true"],
  ["inbox", "grant_body", "ordinal = 2"],
];
test.each(within)("[H-05] %s.body moved to %s of its own row is refused as well", async (table, column, key) => {
  const one = await lived();
  await scene.sql.unsafe(`update ${table} set ${column} = body where session_id = '${one.id}' and ${key}`);
  const { cause } = await read(table, column, one).then(
    () => expect.unreachable("it opened"),
    (error: { cause: SealBroken }) => error,
  );
  expect([cause.code, cause.place.split(" ")[0]]).toEqual(["integrity", `${table}.${column}`]);
});

test("[H-05] a data key moved to another session opens nothing there", async () => {
  const from = await lived();
  const to = await lived("other", chen);
  await scene.sql`
    update sessions set data_key = (select data_key from sessions where id = ${from.id}) where id = ${to.id}`;
  const fresh = await scene.node();
  await expect(fresh.histories.load(to.id, 0)).rejects.toEqual(broken(to.id));
  await expect(fresh.sessions.find(to.id, chen)).rejects.toEqual(broken(to.id));
});

const corruptions: readonly [string, string, unknown][] = [
  ["(a) cut", "substr(snapshot, 1, octet_length(snapshot) / 2)", { broken: "integrity" }],
  ["(a) empty", "''::bytea", { broken: "integrity" }],
  ["(b) changed", "set_byte(snapshot, 30, 255 - get_byte(snapshot, 30))", { broken: "integrity" }],
  ["moved", "title", { broken: "integrity" }],
];
test.each(corruptions)(
  "[D-11] %s snapshot: the session is taken, says so, and its entries still open",
  async (_, expression, expected) => {
    const { store } = scene;
    const { id, open, entries } = await lived();
    await store.sessions.release(open.fence);
    await scene.sql.unsafe(`update sessions set snapshot = ${expression} where id = '${id}'`);
    const taken = await take(store, id);
    expect({ frozen: taken.frozen, turns: taken.turns }).toEqual({ frozen: expected, turns: 1 });
    expect(await store.histories.load(id, 0)).toEqual(entries);
    await store.sessions.release(taken.fence);
    const again = await admitted(store, id);
    expect(again.taken.frozen).toEqual(expected);
  },
);

test("[D-11] (b) without the master key nothing is opened and nothing is written over", async () => {
  const { id, open } = await lived();
  await scene.store.sessions.release(open.fence);
  const stranger = await scene.node(newKeys("k9"));
  await expect(stranger.inbox.admit(admission(id))).rejects.toEqual(broken(id));
  const taken = await take(stranger, id);
  expect(taken.frozen).toEqual({ broken: "session_unavailable" });
  await expect(stranger.histories.load(id, 0)).rejects.toEqual(broken(id));
  await expect(stranger.inbox.open(id)).rejects.toEqual(broken(id));
  await stranger.sessions.release(taken.fence);
  expect(await scene.store.histories.load(id, 0)).toHaveLength(1);
  // One session that can't be opened does not hide the list.
  scene.bad.length = 0;
  const rows = await stranger.sessions.list(rivera);
  expect(rows.map(({ sessionId }) => sessionId)).toContain(id);
  expect(rows.every(({ title }) => title === null)).toBe(true);
  expect(new Set(scene.bad)).toEqual(new Set(["title_broken"]));
});

test("[D-11] (c) a state of another form comes back as it is; entries of another form break the session", async () => {
  const { store } = scene;
  const { id, open } = await lived();
  await store.histories.settle(open.fence, settlement(open.turnId, 2));
  await store.sessions.sleep(open.fence, frozen({}), 20, "resting");
  const { fence, frozen: state } = await take(store, id);
  expect(state).toEqual({ machine: "session", version: 1, state: {} });
  const turn = newTurn();
  await store.histories.append(fence, batch(turn, [{ pos: 1, tokens: 1, entry: { nothing: true } as never }]));
  await expect(store.histories.load(id, 0)).rejects.toEqual(broken(id));
});

test("[D-11] (e) rows of a session that is gone can't exist, so none is taken for a new one", async () => {
  const { store } = scene;
  const { id, open } = await lived();
  await store.sessions.erase(id, rivera);
  expect(await store.sessions.take(id, open.fence.node, 1_000)).toBe(undefined);
  await expect(store.histories.append(open.fence, batch(open.turnId, []))).rejects.toEqual(new OwnershipLost(id));
  const orphan = scene.sql`
    insert into blocks (session_id, turn_id, n, epoch, digest, body) values (${id}, ${newTurn()}, 1, 1, '', '')`;
  await expect(orphan).rejects.toHaveProperty("code", "23503");
});

const broken = (id: SessionId) => {
  const { code, message } = new SessionBroken(id, undefined);
  return expect.objectContaining({ code, message });
};

function read(table: string, column: string, { id, open, asks }: Awaited<ReturnType<typeof lived>>): Promise<unknown> {
  const { store } = scene;
  if (column === "grant_body") return store.grants.find(id, open.turnId);
  switch (table) {
    case "entries":
      return store.histories.load(id, 0);
    case "blocks":
      return store.turns.page(id, 20);
    case "inbox":
      return store.inbox.open(id);
    case "interactions":
      return store.interactions.find(id, asks.interactionId);
    case "actions":
      return store.actions.unrecorded(id);
    default:
      throw new TypeError(`nobody reads ${table}`);
  }
}
