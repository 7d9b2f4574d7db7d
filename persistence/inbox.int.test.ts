import { afterAll, beforeAll, expect, test } from "vitest";
import { OwnershipLost } from "./store.ts";
import { answers, asks } from "./testing/questions.ts";
import {
  admission,
  admitted,
  batch,
  by,
  frozen,
  newCommand,
  newSession,
  newTurn,
  rivera,
  type StoreScene,
  said,
  settlement,
  storeScene,
  take,
} from "./testing/store-scene.ts";

let scene: StoreScene;
beforeAll(async () => {
  scene = await storeScene();
});
afterAll(() => scene.close());

const digest = Buffer.from("cancel");
const grant = {
  principal: { userId: rivera, name: "Dr Rivera", flags: [], preferences: {} },
  credential: { cookie: "session=secret" },
};
const expiresAt = Date.now() + 600_000;

test("[IN1] an admitted command is open, in order, with exactly the body it came with", async () => {
  const { store } = scene;
  const id = await newSession(store);
  const { fence, asked } = await asks(store, id);
  const first = admission(id, { ...by(fence), ...answers(asked), body: { text: "a" } });
  await store.inbox.admit(first);
  const second = admission(id, { ...by(fence), body: { text: "b" } });
  await store.inbox.admit(second);
  const row = { state: "waiting", takeovers: 0 };
  expect(await store.inbox.open(id)).toEqual([
    {
      ...row,
      commandId: first.commandId,
      ordinal: 2,
      kind: "resolve",
      turnId: first.turnId,
      body: { text: "a" },
    },
    {
      ...row,
      commandId: second.commandId,
      ordinal: 3,
      kind: "message",
      turnId: second.turnId,
      body: { text: "b" },
    },
  ]);
});

test("[D-03] the same command again is a duplicate that names its turn, before and after the answer", async () => {
  const { store } = scene;
  const id = await newSession(store);
  const { fence, turnId, input } = await admitted(store, id);
  const again = { ...input, ...by(fence), turnId: newTurn() };
  const duplicate = { kind: "duplicate", turnId, answer: undefined };
  expect(await store.inbox.admit(again)).toEqual({ ...duplicate, state: "waiting" });
  // It came over another node, which does not own the session.
  expect(await store.inbox.admit({ ...again, epoch: undefined })).toEqual({ ...duplicate, state: "waiting" });
  await store.histories.append(fence, batch(turnId, [], { opens: { n: 1, title: "Title" } }));
  expect(await store.inbox.admit(again)).toEqual({ ...duplicate, state: "running" });
  await store.histories.settle(fence, settlement(turnId, 1));
  const settled = { ...duplicate, state: "settled", answer: { outcome: "completed" } };
  expect(await store.inbox.admit(again)).toEqual(settled);
  await store.sessions.sleep(fence, frozen(), 10, "resting");
  expect(await store.inbox.admit({ ...again, epoch: undefined })).toEqual(settled);
  const [row] = await scene.sql`select unsettled, node from sessions where id = ${id}`;
  expect(row).toEqual({ unsettled: 0, node: null });
});

test("[D-03] the same id with other content is a conflict and nothing runs", async () => {
  const { store } = scene;
  const id = await newSession(store);
  const { fence, input } = await admitted(store, id);
  const other = { ...input, ...by(fence), digest: Buffer.from("other") };
  expect(await store.inbox.admit(other)).toEqual({ kind: "conflict" });
  expect(await store.inbox.admit({ ...input, ...by(fence), kind: "resolve" })).toEqual({ kind: "conflict" });
  expect((await store.inbox.open(id)).length).toBe(1);
});

test("[D-03] two copies that arrive at the same moment at two nodes give one turn", async () => {
  const { store } = scene;
  const other = await scene.node();
  for (let round = 0; round < 40; round++) {
    const id = await newSession(store);
    const input = admission(id);
    const results = await Promise.all([
      store.inbox.admit(input),
      other.inbox.admit({ ...input, node: admission(id).node, turnId: newTurn() }),
    ]);
    expect(results.map(({ kind }) => kind).sort()).toEqual(["admitted", "duplicate"]);
    const [{ turnId } = { turnId: newTurn() }, ...more] = await store.inbox.open(id);
    expect(more).toEqual([]);
    // Both may go on: nothing but the key of the inbox tells the copies apart.
    await scene.expire(id);
    const { fence } = await take(store, id);
    const second = admission(id, by(fence));
    const copies = await Promise.all([store.inbox.admit(second), other.inbox.admit(second)]);
    expect(copies.map(({ kind }) => kind).sort()).toEqual(["admitted", "duplicate"]);
    expect((await store.inbox.open(id)).map((row) => row.turnId)).toEqual([turnId, second.turnId]);
  }
});

test("[IN2] the bound counts waiting turns besides the one that runs, also when many arrive at once", async () => {
  const { store } = scene;
  const id = await newSession(store);
  const { fence } = await admitted(store, id);
  const many = Array.from({ length: 9 }, () => store.inbox.admit(admission(id, { ...by(fence), queueBound: 3 })));
  const kinds = (await Promise.all(many)).map(({ kind }) => kind);
  expect(kinds.sort()).toEqual([...Array(3).fill("admitted"), ...Array(6).fill("queue_full")]);
  const ordinals = (await store.inbox.open(id)).map(({ ordinal }) => ordinal);
  expect(ordinals).toEqual([1, 2, 3, 4]);
});

test("[IN3] a session that another node holds is elsewhere; one that sleeps is taken with the snapshot", async () => {
  const { store } = scene;
  const id = await newSession(store);
  const first = await admitted(store, id);
  expect(await store.inbox.admit(admission(id))).toEqual({ kind: "elsewhere" });
  // The owner's own admissions extend its lease.
  await scene.expire(id);
  const second = admission(id, by(first.fence));
  await store.inbox.admit(second);
  expect(await store.inbox.admit(admission(id))).toEqual({ kind: "elsewhere" });
  await store.histories.settle(first.fence, settlement(second.turnId, 2));
  await store.histories.settle(first.fence, settlement(first.turnId, 1));
  await store.sessions.sleep(first.fence, frozen({ value: "hibernating" }), 12, "resting");
  const input = admission(id);
  expect(await store.inbox.admit(input)).toEqual({
    kind: "admitted",
    ordinal: 3,
    reservedSeq: 12 + 4096,
    taken: {
      fence: { sessionId: id, node: input.node, epoch: 2 },
      owner: rivera,
      agent: "assist",
      frozen: { machine: "session", version: 1, state: { value: "hibernating" } },
      nextSeq: 12,
      clean: true,
      anchor: 0,
      turns: 2,
      unsettled: 1,
      openInteraction: undefined,
      unrecordedActions: false,
    },
  });
});

test("[IN4] a cancel of the running turn is durable and answered alike again; another digest is a conflict", async () => {
  const { store } = scene;
  const id = await newSession(store);
  const { fence, turnId } = await admitted(store, id);
  await store.histories.append(fence, batch(turnId, [], { opens: { n: 1, title: "Title" } }));
  const cancel = { fence, commandId: newCommand(), digest, target: "running" as const };
  expect(await store.inbox.cancel(cancel)).toEqual({ kind: "cancelled", running: turnId, withdrawn: undefined });
  expect(await store.inbox.cancel(cancel)).toEqual({ kind: "duplicate", cancelled: [turnId] });
  expect(await store.inbox.cancel({ ...cancel, digest: Buffer.from("x") })).toEqual({ kind: "conflict" });
  expect((await store.inbox.open(id)).map(({ state }) => state)).toEqual(["cancelled"]);
  // A second stop still finds the turn that winds down.
  const second = { ...cancel, commandId: newCommand(), target: turnId };
  expect(await store.inbox.cancel(second)).toEqual({ kind: "cancelled", running: turnId, withdrawn: undefined });

  await store.histories.settle(fence, settlement(turnId, 1, { outcome: "cancelled" }));
  const late = { ...cancel, commandId: newCommand() };
  expect(await store.inbox.cancel(late)).toEqual({ kind: "cancelled", running: undefined, withdrawn: undefined });
  expect(await store.inbox.cancel(late)).toEqual({ kind: "duplicate", cancelled: [] });
  const [row] = await scene.sql`select state, answer from inbox where turn_id = ${turnId}`;
  expect(row).toEqual({ state: "settled", answer: { outcome: "cancelled" } });
});

test("[IN5] a waiting turn is withdrawn only when named: it leaves the queue and its grant goes", async () => {
  const { store } = scene;
  const id = await newSession(store);
  const { fence, turnId } = await admitted(store, id);
  await store.histories.append(fence, batch(turnId, [], { opens: { n: 1, title: "Title" } }));
  const waiting = admission(id, { ...by(fence), grant: { ...grant, expiresAt } });
  await store.inbox.admit(waiting);
  const cancel = { fence, commandId: newCommand(), digest, target: waiting.turnId };
  const withdrawn = { kind: "cancelled", running: undefined, withdrawn: waiting.turnId };
  expect(await store.inbox.cancel(cancel)).toEqual(withdrawn);
  expect(await store.grants.find(id, waiting.turnId)).toBe(undefined);
  expect((await store.inbox.open(id)).map((row) => row.turnId)).toEqual([turnId]);
  const [row] = await scene.sql`select unsettled, status from sessions where id = ${id}`;
  expect(row).toEqual({ unsettled: 1, status: "turning" });
  const again = { ...waiting, turnId: newTurn() };
  expect(await store.inbox.admit(again)).toEqual({
    kind: "duplicate",
    turnId: waiting.turnId,
    state: "withdrawn",
    answer: undefined,
  });
});

test("[IN6] a cancelled turn that the next owner opens again stays cancelled", async () => {
  const { store } = scene;
  const id = await newSession(store);
  const { fence, turnId } = await admitted(store, id);
  const opens = batch(turnId, [said(turnId, 0)], { opens: { n: 1, title: "Title" } });
  await store.histories.append(fence, opens);
  await store.inbox.cancel({ fence, commandId: newCommand(), digest, target: turnId });
  await store.sessions.release(fence);
  const heir = await store.sessions.take(id, fence.node, 30_000);
  if (!heir) throw new Error("not taken");
  await store.histories.append(heir.fence, { ...opens, entries: [] });
  expect((await store.inbox.open(id)).map(({ state }) => state)).toEqual(["cancelled"]);
});

test("[IN7] take-overs of a turn are counted, by its owner only", async () => {
  const { store } = scene;
  const id = await newSession(store);
  const { fence, turnId } = await admitted(store, id);
  expect(await store.inbox.countTakeover(fence, turnId)).toBe(1);
  expect(await store.inbox.countTakeover(fence, turnId)).toBe(2);
  await expect(store.inbox.countTakeover({ ...fence, epoch: 0 }, turnId)).rejects.toThrow(OwnershipLost);
  expect((await store.inbox.open(id)).map(({ takeovers }) => takeovers)).toEqual([2]);
});
