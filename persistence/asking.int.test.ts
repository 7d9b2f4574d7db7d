import { afterAll, beforeAll, expect, test } from "vitest";
import type { InteractionId, SessionId } from "../machines/ids.ts";
import type { Store } from "./store.ts";
import { answers, asks, none, question, settlesAsking, standing } from "./testing/questions.ts";
import {
  admission,
  admitted,
  by,
  frozen,
  newNode,
  newSession,
  rivera,
  type StoreScene,
  settlement,
  storeScene,
  take,
} from "./testing/store-scene.ts";

let scene: StoreScene;
let store: Store;
beforeAll(async () => {
  scene = await storeScene();
  store = scene.store;
});
afterAll(() => scene.close());

const MINUTE = 60_000;
const iso = (ms: number) => new Date(ms).toISOString();
const statusOf = async (id: SessionId, asked: { interactionId: InteractionId }) =>
  (await store.interactions.find(id, asked.interactionId))?.status;

test("[IA1] it is open once its turn has settled, whole, for everybody who looks", async () => {
  const id = await newSession(store);
  const until = scene.clock.at + 30 * MINUTE;
  const { fence, turnId, asked } = await asks(store, id, {
    expires_at: iso(until),
    options: [{ id: "a", label: "Yes" }],
  });
  expect(await standing(scene, id)).toEqual({
    status: "awaiting",
    unsettled: 0,
    open: asked.interactionId,
    revision: 1,
    until: new Date(until),
  });
  expect(await store.interactions.find(id, asked.interactionId)).toEqual({
    pending: asked.pending,
    turnId,
    status: "open",
  });
  expect(await store.interactions.open(id)).toEqual(asked.pending);
  expect((await store.sessions.list(rivera)).find(({ sessionId }) => sessionId === id)).toHaveProperty(
    "pendingInteraction",
    true,
  );
  await store.sessions.sleep(fence, frozen(), 10, "resting");
  expect((await take(store, id)).openInteraction).toBe(asked.interactionId);
  const foreign = await newSession(store);
  expect([await store.interactions.find(foreign, asked.interactionId), await store.interactions.open(foreign)]).toEqual(
    [undefined, undefined],
  );
});

test("[IA2] while another turn waits it is superseded from the start, and that turn goes on", async () => {
  const id = await newSession(store);
  const { fence, turnId } = await admitted(store, id);
  await store.inbox.admit(admission(id, by(fence)));
  const asked = question(turnId);
  expect(await store.histories.settle(fence, settlesAsking(asked))).toEqual({ isOpen: false });
  expect(await standing(scene, id)).toEqual({ status: "turning", unsettled: 1, ...none });
  expect([await statusOf(id, asked), await store.interactions.open(id)]).toEqual(["superseded", undefined]);
  // The session decides, whatever the row says.
  await scene.sql`update interactions set status = 'open' where session_id = ${id}`;
  expect([await statusOf(id, asked), await store.interactions.open(id)]).toEqual(["superseded", undefined]);
});

test("[IA3] a settle that is tried again after a lost answer has one effect and tells what is open by then", async () => {
  const id = await newSession(store);
  const { fence, turnId } = await admitted(store, id);
  const asked = question(turnId);
  const settle = () => store.histories.settle(fence, settlesAsking(asked));
  expect([await settle(), await settle()]).toEqual([{ isOpen: true }, { isOpen: true }]);
  expect((await standing(scene, id))?.["unsettled"]).toBe(0);
  await store.inbox.admit(admission(id, by(fence)));
  expect(await settle()).toEqual({ isOpen: false });
  expect(await statusOf(id, asked)).toBe("superseded");
  const waits = await newSession(store);
  const first = await admitted(store, waits);
  await store.inbox.admit(admission(waits, by(first.fence)));
  const late = settlesAsking(question(first.turnId));
  const twice = [await store.histories.settle(first.fence, late), await store.histories.settle(first.fence, late)];
  expect(twice).toEqual([{ isOpen: false }, { isOpen: false }]);
});

test("[IA4] a higher revision goes on in the same row, unless that was answered or accepted; a lower one changes nothing", async () => {
  const id = await newSession(store);
  const { fence, asked } = await asks(store, id);
  let n = 1;
  const again = async (revision: number) => {
    const message = admission(id, by(fence));
    await store.inbox.admit(message);
    const next = question(message.turnId, { id: asked.pending.id, revision, prompt: `revision ${revision}` });
    n += 1;
    return { next, ...(await store.histories.settle(fence, settlesAsking(next, n))) };
  };
  const second = await again(2);
  expect(second.isOpen).toBe(true);
  expect(await store.interactions.find(id, asked.interactionId)).toEqual({
    pending: second.next.pending,
    turnId: second.next.turnId,
    status: "open",
  });
  const old = admission(id, { ...by(fence), ...answers(asked) });
  expect(await store.inbox.admit(old)).toEqual({ kind: "not_open" });

  const dismissal = { status: "dismissed", resolution: { kind: "dismissed" } } as const;
  const dismissed = admission(id, { ...by(fence), ...answers(second.next, dismissal) });
  expect((await store.inbox.admit(dismissed)).kind).toBe("admitted");
  await store.histories.settle(fence, settlement(dismissed.turnId, 10));
  n = 10;
  expect((await again(2)).isOpen).toBe(false);
  expect(await statusOf(id, asked)).toBe("dismissed");
  const third = await again(3);
  expect(third.isOpen).toBe(true);
  expect(await store.interactions.find(id, asked.interactionId)).toEqual({
    pending: third.next.pending,
    turnId: third.next.turnId,
    status: "open",
  });

  const accepted = admission(id, {
    ...by(fence),
    ...answers(third.next, { status: "accepted", resolution: { kind: "accepted" } }),
  });
  expect((await store.inbox.admit(accepted)).kind).toBe("admitted");
  await store.histories.settle(fence, settlement(accepted.turnId, 20));
  n = 20;
  expect((await again(4)).isOpen).toBe(false);
  expect(await standing(scene, id)).toEqual({ status: "resting", unsettled: 0, ...none });
  expect(await store.interactions.find(id, asked.interactionId)).toEqual({
    pending: third.next.pending,
    turnId: third.next.turnId,
    status: "accepted",
    resolved: { commandId: accepted.commandId, turnId: accepted.turnId, resolution: { kind: "accepted" } },
  });
});

test("[IA5] it stays through sleep, release, take-overs and a node that takes everything away", async () => {
  const fresh = await storeScene();
  try {
    const id = await newSession(fresh.store);
    const { fence, asked } = await asks(fresh.store, id);
    const node = newNode();
    await fresh.store.sessions.release(fence);
    const second = await take(fresh.store, id);
    await fresh.store.sessions.sleep(second.fence, frozen(), 10, "awaiting");
    await take(fresh.store, id);
    expect(await fresh.store.sessions.raiseAll(node)).toBe(1);
    const { openInteraction } = await take(fresh.store, id);
    const row = await fresh.store.sessions.find(id, rivera);
    expect([openInteraction, row?.status, row?.pendingInteraction]).toEqual([asked.interactionId, "awaiting", true]);
    expect(await fresh.store.sessions.erase(id, rivera)).toBe(true);
    expect((await fresh.sql`select from interactions`).length).toBe(0);
  } finally {
    await fresh.close();
  }
});

test("[IA7] the status is what is open, not what the caller says: a turn that asks nothing leaves nothing open", async () => {
  const id = await newSession(store);
  const { fence, turnId } = await admitted(store, id);
  const plain = settlement(turnId, 1, { status: "awaiting" });
  expect([await store.histories.settle(fence, plain), await store.histories.settle(fence, plain)]).toEqual([
    { isOpen: false },
    { isOpen: false },
  ]);
  expect(await standing(scene, id)).toEqual({ status: "resting", unsettled: 0, ...none });
  expect(await store.sessions.sleep(fence, frozen(), 10, "awaiting")).toBe("asleep");
  expect((await standing(scene, id))?.["status"]).toBe("hibernated");
  const open = await asks(store, await newSession(store));
  await store.sessions.sleep(open.fence, frozen(), 10, "resting");
  expect((await standing(scene, open.fence.sessionId))?.["status"]).toBe("awaiting");
});
