import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sessionId } from "../machines/ids.ts";
import { OwnershipLost, SEQ_RESERVE } from "./store.ts";
import { question, settlesAsking } from "./testing/questions.ts";
import {
  admission,
  admitted,
  batch,
  by,
  chen,
  frozen,
  LEASE,
  newNode,
  newSession,
  rivera,
  type StoreScene,
  settlement,
  storeScene,
  take,
  wholeTurn,
} from "./testing/store-scene.ts";

let scene: StoreScene;
beforeAll(async () => {
  scene = await storeScene();
});
afterAll(() => scene.close());

const statusOf = async (id: Parameters<typeof wholeTurn>[1]) => (await scene.store.sessions.find(id, rivera))?.status;

test("[SE1] an unknown session and another owner's look the same: find, erase, admit", async () => {
  const { store } = scene;
  const id = await newSession(store);
  const unknown = sessionId(randomUUID());
  expect(await store.sessions.find(id, chen)).toBe(undefined);
  expect(await store.sessions.find(unknown, chen)).toBe(undefined);
  expect(await store.sessions.erase(id, chen)).toBe(false);
  expect(await store.sessions.erase(unknown, chen)).toBe(false);
  expect(await store.inbox.admit(admission(id, { owner: chen }))).toEqual({ kind: "not_found" });
  expect(await store.inbox.admit(admission(unknown))).toEqual({ kind: "not_found" });
});

test("[SE2] list gives the owner's sessions, newest first, with title and status", async () => {
  const { store } = scene;
  const owner = chen;
  const first = await newSession(store, owner);
  const second = await newSession(store, owner);
  const { fence, turnId } = await admitted(store, first, { owner });
  await store.histories.append(fence, batch(turnId, [], { opens: { n: 1, title: "Iron" } }));
  const rows = await store.sessions.list(owner);
  expect(rows.map(({ updatedAt: _, ...row }) => row)).toEqual([
    { sessionId: first, title: "Iron", status: "turning", pendingInteraction: false, nextSeq: 4_098 },
    { sessionId: second, title: null, status: "resting", pendingInteraction: false, nextSeq: 1 },
  ]);
});

test("[SE3] the status follows the session: turning, awaiting, hibernated, also when its owner dies", async () => {
  const { store } = scene;
  const id = await newSession(store);
  const { fence, turnId } = await admitted(store, id);
  expect(await statusOf(id)).toBe("turning");
  await store.histories.settle(fence, settlesAsking(question(turnId)));
  expect(await statusOf(id)).toBe("awaiting");
  expect(await store.sessions.find(id, rivera)).toHaveProperty("pendingInteraction", true);
  const next = admission(id, by(fence));
  await store.inbox.admit(next);
  await store.histories.settle(fence, settlement(next.turnId, 2));
  expect(await statusOf(id)).toBe("resting");
  await scene.expire(id);
  expect(await statusOf(id)).toBe("hibernated");
  await store.sessions.sleep(fence, frozen(), 10, "resting");
  expect(await statusOf(id)).toBe("hibernated");
  const again = await take(store, id);
  expect(await statusOf(id)).toBe("resting");
  const third = admission(id, by(again.fence));
  await store.inbox.admit(third);
  await store.histories.settle(again.fence, settlesAsking(question(third.turnId), 3));
  await scene.expire(id);
  expect(await statusOf(id)).toBe("awaiting");
  await store.sessions.sleep(again.fence, frozen(), 10, "awaiting");
  expect(await statusOf(id)).toBe("awaiting");
});

test("[SE4] a settled turn with others waiting leaves the session turning", async () => {
  const { store } = scene;
  const id = await newSession(store);
  const { fence, turnId } = await admitted(store, id);
  await store.inbox.admit(admission(id, by(fence)));
  await store.histories.settle(fence, settlement(turnId, 1));
  expect(await statusOf(id)).toBe("turning");
});

test("[SE5] take gives everything a new owner needs and raises the epoch; a living lease keeps others out", async () => {
  const { store } = scene;
  const id = await newSession(store);
  const node = newNode();
  const first = {
    fence: { sessionId: id, node, epoch: 1 },
    owner: rivera,
    agent: "assist",
    frozen: undefined,
    nextSeq: 1,
    clean: true,
    anchor: 0,
    turns: 0,
    unsettled: 0,
    openInteraction: undefined,
    unrecordedActions: false,
  };
  expect(await store.sessions.take(id, node, LEASE)).toEqual(first);
  expect(await store.sessions.take(id, newNode(), LEASE)).toBe(undefined);
  await scene.expire(id);
  const heir = newNode();
  expect(await store.sessions.take(id, heir, LEASE)).toEqual({
    ...first,
    fence: { sessionId: id, node: heir, epoch: 2 },
    nextSeq: 1 + SEQ_RESERVE + 1,
    clean: false,
  });
});

test("[SE6] sleep stores the snapshot and the exact next signal number; the next owner goes on from there", async () => {
  const { store } = scene;
  const id = await newSession(store);
  const { fence, turnId } = await admitted(store, id);
  await store.histories.append(fence, batch(turnId, [], { opens: { n: 1, title: "Title" } }));
  await store.histories.settle(fence, settlement(turnId, 1));
  const state = { value: "hibernating", context: { turns: 1 } };
  expect(await store.sessions.sleep(fence, frozen(state), 37, "resting")).toBe("asleep");
  expect((await store.sessions.find(id, rivera))?.nextSeq).toBe(37);
  const again = await take(store, id);
  expect(again).toEqual({
    fence: { ...fence, node: again.fence.node, epoch: 2 },
    owner: rivera,
    agent: "assist",
    frozen: { machine: "session", version: 1, state },
    nextSeq: 37,
    clean: true,
    anchor: 0,
    turns: 1,
    unsettled: 0,
    openInteraction: undefined,
    unrecordedActions: false,
  });
});

test("[SE7] signal numbers are never used twice: an owner that dies leaves its whole reservation behind", async () => {
  const { store } = scene;
  const id = await newSession(store);
  const { fence, turnId } = await admitted(store, id);
  const held = await store.inbox.admit(admission(id, by(fence, 5_000)));
  expect(held).toEqual({ kind: "admitted", ordinal: 2, taken: undefined, reservedSeq: 5_000 + SEQ_RESERVE });
  await store.histories.append(fence, batch(turnId, [], { reserveSeq: 20_000 }));
  await store.sessions.release(fence);
  expect((await store.sessions.find(id, rivera))?.nextSeq).toBe(20_001);
  expect((await take(store, id)).nextSeq).toBe(20_001);
  await scene.expire(id);
  expect((await take(store, id)).nextSeq).toBe(20_001 + SEQ_RESERVE + 1);
});

test("[SE8] sleep refuses while anything waits, also a message that arrives at the same moment", async () => {
  const { store } = scene;
  const other = await scene.node();
  const met = new Set<string>();
  for (let round = 0; round < 60; round++) {
    const id = await newSession(store);
    const { fence } = await take(store, id);
    const [slept, admission_] = await Promise.all([
      store.sessions.sleep(fence, frozen(), 10, "resting"),
      other.inbox.admit(admission(id, by(fence))),
    ]);
    met.add(`${slept} ${admission_.kind}`);
  }
  // Whoever came first, never both: a message that was admitted to a session that then fell asleep.
  expect([...met].filter((pair) => pair !== "asleep elsewhere" && pair !== "busy admitted")).toEqual([]);
});

test("[SE9] sleep and release that are tried again after a lost answer are done already", async () => {
  const { store } = scene;
  const id = await newSession(store);
  const first = await take(store, id);
  await store.sessions.sleep(first.fence, frozen(), 10, "resting");
  expect(await store.sessions.sleep(first.fence, frozen(), 10, "resting")).toBe("asleep");
  const second = await take(store, id);
  await store.sessions.release(second.fence);
  await store.sessions.release(second.fence);
  await take(store, id);
  await expect(store.sessions.release(second.fence)).rejects.toThrow(OwnershipLost);
  await expect(store.sessions.sleep(first.fence, frozen(), 10, "resting")).rejects.toThrow(OwnershipLost);
});

test("[SE10] renew extends the leases that are still ours and names them; a late renewal keeps the epoch", async () => {
  const { store } = scene;
  const kept = await take(store, await newSession(store));
  const late = await take(store, await newSession(store));
  const lost = await take(store, await newSession(store));
  await scene.expire(late.fence.sessionId);
  await scene.expire(lost.fence.sessionId);
  await take(store, lost.fence.sessionId);
  const ours = await store.sessions.renew([kept.fence, late.fence, lost.fence], LEASE);
  expect([...ours].sort()).toEqual([kept.fence.sessionId, late.fence.sessionId].sort());
  expect(await store.sessions.take(late.fence.sessionId, newNode(), LEASE)).toBe(undefined);
  expect(await store.sessions.renew([], LEASE)).toEqual([]);
});

test("[SE11] orphans are sessions with work and no living lease; released work is one at once", async () => {
  const fresh = await storeScene();
  try {
    const { store } = fresh;
    const idle = await newSession(store);
    await take(store, idle);
    await fresh.expire(idle);
    const busy = await newSession(store);
    const parked = await admitted(store, busy);
    expect(await store.sessions.orphans(10)).toEqual([]);
    await store.sessions.release(parked.fence);
    expect(await store.sessions.orphans(10)).toEqual([busy]);
    const dead = await newSession(store);
    await admitted(store, dead);
    await fresh.expire(dead);
    expect(await store.sessions.orphans(10)).toEqual([busy, dead]);
    expect(await store.sessions.orphans(1)).toEqual([busy]);
  } finally {
    await fresh.close();
  }
});

test("[SE12] raiseAll takes every session away from other nodes and from nobody else", async () => {
  const fresh = await storeScene();
  try {
    const { store } = fresh;
    const node = newNode();
    const own = await admitted(store, await newSession(store), { node });
    const theirs = await admitted(store, await newSession(store));
    await wholeTurn(store, await newSession(store), 1, 0);
    expect(await store.sessions.raiseAll(node)).toBe(1);
    expect(await store.sessions.orphans(10)).toEqual([theirs.fence.sessionId]);
    await store.histories.append(own.fence, batch(own.turnId, []));
    await expect(store.histories.append(theirs.fence, batch(theirs.turnId, []))).rejects.toThrow(OwnershipLost);
    const { clean, fence } = await take(store, theirs.fence.sessionId);
    expect({ clean, epoch: fence.epoch }).toEqual({ clean: false, epoch: theirs.fence.epoch + 2 });
  } finally {
    await fresh.close();
  }
});

test("[SE13] erase removes every row and the key; what its owner still writes is refused", async () => {
  const { store } = scene;
  const id = await newSession(store);
  const { fence, turnId } = await admitted(store, id);
  expect(await store.sessions.erase(id, rivera)).toBe(true);
  await expect(store.histories.append(fence, batch(turnId, []))).rejects.toThrow(OwnershipLost);
  await expect(store.sessions.sleep(fence, frozen(), 1, "resting")).rejects.toThrow(OwnershipLost);
  expect(await store.histories.load(id, 0)).toEqual([]);
  expect(await store.inbox.admit(admission(id))).toEqual({ kind: "not_found" });
});
