import { afterAll, beforeAll, expect, test } from "vitest";
import { callId } from "../machines/ids.ts";
import { StoreRefused } from "./database-error.ts";
import { TurnNotOpen } from "./histories.ts";
import {
  admission,
  admitted,
  batch,
  by,
  newCommand,
  newSession,
  rivera,
  type StoreScene,
  said,
  settlement,
  shown,
  storeScene,
  wholeTurn,
} from "./testing/store-scene.ts";

let scene: StoreScene;
beforeAll(async () => {
  scene = await storeScene();
});
afterAll(() => scene.close());

const call = (turnId: ReturnType<typeof admission>["turnId"], id: string) => ({
  turnId,
  callId: callId(id),
  name: "treatment_plan_create",
  repeatable: true,
  key: `key-${id}`,
});

test("[HI1] load gives what was appended, in order, from the anchor on; a batch is one row", async () => {
  const { store } = scene;
  const id = await newSession(store);
  const { fence, turnId } = await admitted(store, id);
  const all = Array.from({ length: 7 }, (_, pos) => said(turnId, pos, `text ${pos}`));
  await store.histories.append(fence, batch(turnId, all.slice(0, 1)));
  await store.histories.append(fence, batch(turnId, all.slice(1, 5)));
  await store.histories.append(fence, batch(turnId, all.slice(5)));
  for (let anchor = 0; anchor <= 7; anchor++) {
    expect(await store.histories.load(id, anchor)).toEqual(all.slice(anchor));
  }
  const rows = await scene.sql`select pos, count, kind, tokens from entries where session_id = ${id} order by pos`;
  expect([...rows]).toEqual([
    { pos: 0, count: 1, kind: "user", tokens: 3 },
    { pos: 1, count: 4, kind: "user", tokens: 12 },
    { pos: 5, count: 2, kind: "user", tokens: 6 },
  ]);
});

test("[HI2] a batch that opens a turn makes it run, counts it, and sets a title only where none is", async () => {
  const { store } = scene;
  const id = await newSession(store);
  const { fence, turnId } = await admitted(store, id);
  await store.histories.append(fence, batch(turnId, [said(turnId, 0)], { opens: { n: 1, title: "First" } }));
  expect((await store.inbox.open(id)).map(({ state }) => state)).toEqual(["running"]);
  await store.histories.settle(fence, settlement(turnId, 1));
  const next = admission(id, by(fence));
  await store.inbox.admit(next);
  await store.histories.append(fence, batch(next.turnId, [], { opens: { n: 2, title: "Second" } }));
  expect((await store.sessions.find(id, rivera))?.title).toBe("First");
  const [row] = await scene.sql`select turns from sessions where id = ${id}`;
  expect(row).toEqual({ turns: 2 });
});

test("[HI3] a turn that was withdrawn or settled can't be opened, and nothing of the batch is written", async () => {
  const { store } = scene;
  const id = await newSession(store);
  const { fence, turnId } = await admitted(store, id);
  await store.inbox.cancel({ fence, commandId: newCommand(), digest: Buffer.from("x"), target: turnId });
  const opens = batch(turnId, [said(turnId, 0)], { opens: { n: 1, title: "T" }, intents: [call(turnId, "c1")] });
  await expect(store.histories.append(fence, opens)).rejects.toEqual(new TurnNotOpen(id, turnId));
  expect(await store.histories.load(id, 0)).toEqual([]);
  expect(await store.histories.intents(id, turnId)).toEqual([]);
});

test("[HI4] intents are durable with their batch, in order, until finished, also within one batch", async () => {
  const { store } = scene;
  const id = await newSession(store);
  const { fence, turnId } = await admitted(store, id);
  const [a, b, c] = [call(turnId, "c1"), call(turnId, "c2"), call(turnId, "c3")];
  await store.histories.append(fence, batch(turnId, [said(turnId, 0)], { intents: [b, a] }));
  await store.histories.append(fence, batch(turnId, [], { intents: [c], finished: [a.callId, c.callId] }));
  expect(await store.histories.intents(id, turnId)).toEqual([
    { ...b, state: "intended" },
    { ...a, state: "finished" },
    { ...c, state: "finished" },
  ]);
});

test("[HI9] the end of a call without an intent finds nothing to end", async () => {
  const { store } = scene;
  const id = await newSession(store);
  const { fence, turnId } = await admitted(store, id);
  const [a, b] = [call(turnId, "c1"), call(turnId, "c2")];
  await store.histories.append(fence, batch(turnId, [said(turnId, 0)], { intents: [a], finished: [b.callId] }));
  await store.histories.settle(fence, settlement(turnId, 1, { finished: [a.callId, b.callId] }));
  expect(await store.histories.intents(id, turnId)).toEqual([{ ...a, state: "finished" }]);
});

test("[HI9] what an earlier release kept of a read-only call is no intent, and becomes one where its tool writes by now", async () => {
  const { store, sql } = scene;
  const id = await newSession(store);
  const { fence, turnId } = await admitted(store, id);
  const [kept, ours] = [call(turnId, "c1"), call(turnId, "c2")];
  await sql`
    insert into tool_calls (session_id, turn_id, call_id, name, read_only, repeatable, key, state)
    values (${id}, ${turnId}, ${kept.callId}, ${kept.name}, true, true, ${kept.key}, 'intended')`;
  await store.histories.append(fence, batch(turnId, [said(turnId, 0)], { intents: [ours] }));
  expect(await store.histories.intents(id, turnId)).toEqual([{ ...ours, state: "intended" }]);
  // Its tool writes by now, so the call leaves with an intent of today; asked for again after a lost answer it stays as it is.
  const now = { ...kept, repeatable: false, key: "today" };
  await store.histories.append(fence, batch(turnId, [], { intents: [now] }));
  await store.histories.append(fence, batch(turnId, [], { intents: [{ ...now, repeatable: true }] }));
  expect(await store.histories.intents(id, turnId)).toEqual([
    { ...now, state: "intended" },
    { ...ours, state: "intended" },
  ]);
  await store.histories.append(fence, batch(turnId, [], { finished: [now.callId] }));
  await store.histories.append(fence, batch(turnId, [], { intents: [now] }));
  expect((await store.histories.intents(id, turnId)).map(({ state }) => state)).toEqual(["finished", "intended"]);
});

test("[HI5] an append that is tried again after a lost answer is done; other content at its place is refused whole", async () => {
  const { store } = scene;
  const id = await newSession(store);
  const { fence, turnId } = await admitted(store, id);
  const first = batch(turnId, [said(turnId, 0)], { intents: [call(turnId, "c1")] });
  await store.histories.append(fence, first);
  await store.histories.append(fence, first);
  await Promise.all([store.histories.append(fence, first), store.histories.append(fence, first)]);
  const other = batch(turnId, [said(turnId, 0, "other")], { intents: [call(turnId, "c2")] });
  await expect(store.histories.append(fence, other)).rejects.toThrow(StoreRefused);
  expect(await store.histories.load(id, 0)).toEqual(first.entries);
  expect((await store.histories.intents(id, turnId)).length).toBe(1);
});

test("[HI6] settle stores entries, blocks and outcome, ends the grant and counts, all at once", async () => {
  const { store } = scene;
  const id = await newSession(store);
  const principal = { userId: rivera, name: "Dr Rivera", flags: [], preferences: {} };
  const grant = { principal, credential: { cookie: "c" }, expiresAt: Date.now() + 600_000 };
  const { fence, turnId } = await admitted(store, id, { grant });
  expect(await store.grants.find(id, turnId)).toEqual({ principal, credential: { cookie: "c" } });
  const done = settlement(turnId, 1, { entries: [said(turnId, 0)], intents: [call(turnId, "c1")], reserveSeq: 9_000 });
  await store.histories.settle(fence, done);
  expect(await store.turns.page(id, 20)).toEqual([done.turn]);
  expect(await store.histories.load(id, 0)).toEqual(done.entries);
  expect(await store.inbox.open(id)).toEqual([]);
  expect(await store.grants.find(id, turnId)).toBe(undefined);
  const [row] = await scene.sql`
    select status, turns, unsettled, seq_reserved::int from sessions where id = ${id}`;
  expect(row).toEqual({ status: "resting", turns: 1, unsettled: 0, seq_reserved: 9_000 });
});

test("[HI7] settle has one effect: the same again is done, another one for that turn is refused", async () => {
  const { store } = scene;
  const id = await newSession(store);
  const { fence, turnId } = await admitted(store, id);
  await store.inbox.admit(admission(id, by(fence)));
  const done = settlement(turnId, 1, { entries: [said(turnId, 0)] });
  await store.histories.settle(fence, done);
  await store.histories.settle(fence, done);
  const other = { ...done, outcome: "failed" as const, turn: shown(turnId, 1, "other") };
  await expect(store.histories.settle(fence, other)).rejects.toEqual(new TurnNotOpen(id, turnId));
  expect(await store.turns.page(id, 20)).toEqual([done.turn]);
  const [row] = await scene.sql`select unsettled from sessions where id = ${id}`;
  expect(row).toEqual({ unsettled: 1 });
});

test("[HI8] a settlement whose entries meet others at their place is refused whole: the turn stays open", async () => {
  const { store } = scene;
  const id = await newSession(store);
  const { fence, turnId } = await admitted(store, id);
  await store.histories.append(fence, batch(turnId, [said(turnId, 0)]));
  const clash = settlement(turnId, 1, { entries: [said(turnId, 0, "other")] });
  await expect(store.histories.settle(fence, clash)).rejects.toThrow(StoreRefused);
  expect((await store.inbox.open(id)).length).toBe(1);
  expect(await store.turns.page(id, 20)).toEqual([]);
});

test("[TU1] turns are paged from the newest back, each page oldest first", async () => {
  const { store } = scene;
  const id = await newSession(store);
  for (let n = 1; n <= 5; n++) await wholeTurn(store, id, n, n);
  const page = async (limit: number, before?: number) => (await store.turns.page(id, limit, before)).map(({ n }) => n);
  expect(await page(2)).toEqual([4, 5]);
  expect(await page(2, 4)).toEqual([2, 3]);
  expect(await page(2, 2)).toEqual([1]);
  expect(await page(20)).toEqual([1, 2, 3, 4, 5]);
});
