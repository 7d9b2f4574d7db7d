import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type InteractionId, interactionId, type SessionId } from "../machines/ids.ts";
import { OwnershipLost, type Store } from "./store.ts";
import { answers, asks, none, question, settlesAsking, standing } from "./testing/questions.ts";
import {
  admission,
  admitted,
  by,
  fill,
  frozen,
  newCommand,
  type newNode,
  newSession,
  newTurn,
  planOf,
  rivera,
  type StoreScene,
  settlement,
  storeScene,
  take,
} from "./testing/store-scene.ts";

let scene: StoreScene;
let store: Store;
let other: Store;
beforeAll(async () => {
  scene = await storeScene();
  store = scene.store;
  other = await scene.node();
});
afterAll(() => scene.close());

const MINUTE = 60_000;
const iso = (ms: number) => new Date(ms).toISOString();
const statusOf = async (id: SessionId, asked: { interactionId: InteractionId }) =>
  (await store.interactions.find(id, asked.interactionId))?.status;

describe("its end", () => {
  test("[IA6] an answer is a turn; who gave it, with what and for which turn is there at once", async () => {
    const id = await newSession(store);
    const { fence, turnId, asked } = await asks(store, id);
    await store.sessions.sleep(fence, frozen(), 10, "awaiting");
    const resolution = { kind: "answered" as const, selected: ["a"], text: "because" };
    const input = admission(id, answers(asked, { resolution }));
    const admitted_ = await store.inbox.admit(input);
    expect(admitted_.kind === "admitted" && admitted_.taken?.openInteraction).toBe(undefined);
    const resolved = { commandId: input.commandId, turnId: input.turnId, resolution };
    const row = { pending: asked.pending, turnId, status: "answered", resolved };
    expect(await store.interactions.find(id, asked.interactionId)).toEqual(row);
    expect(await standing(scene, id)).toEqual({ status: "turning", unsettled: 1, ...none });
    expect((await store.inbox.open(id)).map(({ kind }) => kind)).toEqual(["resolve"]);

    const again = { ...input, turnId: newTurn() };
    const duplicate = { kind: "duplicate", turnId: input.turnId, state: "waiting", answer: undefined };
    expect(await store.inbox.admit(again)).toEqual(duplicate);
    expect(await store.inbox.earlier(id, input.commandId, "resolve", input.digest)).toEqual(duplicate);
    const conflict = { kind: "conflict" };
    expect(await store.inbox.earlier(id, input.commandId, "message", input.digest)).toEqual(conflict);
    expect(await store.inbox.earlier(id, input.commandId, "resolve", Buffer.from("x"))).toEqual(conflict);
    expect(await store.inbox.earlier(id, newCommand(), "resolve", input.digest)).toBe(undefined);

    // The turn is withdrawn before it begins: what was decided stays decided.
    const owner = await ownerOf(id);
    await store.inbox.cancel({ ...owner, commandId: newCommand(), digest: Buffer.from("c"), target: input.turnId });
    expect(await store.interactions.find(id, asked.interactionId)).toEqual(row);
    expect(await standing(scene, id)).toEqual({ status: "resting", unsettled: 0, ...none });
  });

  test("[D-12] an answer to what is not open is refused and nothing starts: superseded, unknown, foreign, older revision", async () => {
    const id = await newSession(store);
    const first = await asks(store, id);
    const { fence } = first;
    const message = admission(id, by(fence));
    await store.inbox.admit(message);
    const open = question(message.turnId, { revision: 3 });
    await store.histories.settle(fence, settlesAsking(open, 2));
    const elsewhere = await asks(store, await newSession(store));
    const before = await everything(id);
    const no = async (changes: Partial<ReturnType<typeof answers>["resolves"]>) =>
      store.inbox.admit(admission(id, { ...by(fence), ...answers(open, changes) }));
    const refused = [
      await no({ interactionId: first.asked.interactionId, revision: 1 }),
      await no({ interactionId: first.asked.interactionId }),
      await no({ interactionId: interactionId(randomUUID()) }),
      await no({ interactionId: elsewhere.asked.interactionId, revision: 1 }),
      await no({ revision: 2 }),
      await no({ revision: 4 }),
      await store.inbox.admit(admission(id, { ...by(fence), kind: "resolve" })),
    ];
    expect(refused).toEqual(refused.map(() => ({ kind: "not_open" })));
    expect(await everything(id)).toEqual(before);
    // Another node's session first of all: the owner decides.
    expect(await store.inbox.admit(admission(id, answers(open, { revision: 2 })))).toEqual({ kind: "elsewhere" });
    expect((await no({})).kind).toBe("admitted");
    expect(await statusOf(elsewhere.asked.interactionId === open.interactionId ? id : id, first.asked)).toBe(
      "superseded",
    );
  });

  test("[D-13] a message closes what is open; accepting that later is refused and decides nothing", async () => {
    const id = await newSession(store);
    const { fence, turnId, asked } = await asks(store, id, { kind: "plan_proposal" });
    await store.sessions.sleep(fence, frozen(), 10, "awaiting");
    const message = await admitted(store, id);
    expect(message.taken.openInteraction).toBe(undefined);
    const superseded = { pending: asked.pending, turnId, status: "superseded" };
    expect(await store.interactions.find(id, asked.interactionId)).toEqual(superseded);
    const accept = answers(asked, { status: "accepted", resolution: { kind: "accepted" } });
    const late = () => store.inbox.admit(admission(id, { ...by(message.fence), ...accept, queueBound: 0 }));
    expect(await late()).toEqual({ kind: "not_open" });
    await store.histories.settle(message.fence, settlement(message.turnId, 2));
    expect(await late()).toEqual({ kind: "not_open" });
    expect(await store.interactions.find(id, asked.interactionId)).toEqual(superseded);
    expect(await standing(scene, id)).toEqual({ status: "resting", unsettled: 0, ...none });
  });
});

describe("its time", () => {
  test("[D-09] over, it reads as expired to everybody before anybody has closed it, and may not be answered", async () => {
    const id = await newSession(store);
    const t0 = scene.clock.at;
    const { fence, turnId, asked } = await asks(store, id, { expires_at: iso(t0 + 30 * MINUTE) });
    await store.sessions.sleep(fence, frozen(), 10, "awaiting");
    const seen = async () => {
      const row = await store.sessions.find(id, rivera);
      const listed = (await store.sessions.list(rivera)).find(({ sessionId }) => sessionId === id);
      return [
        row?.status,
        row?.pendingInteraction,
        listed?.status,
        listed?.pendingInteraction,
        await statusOf(id, asked),
      ];
    };
    try {
      scene.clock.at = t0 + 30 * MINUTE - 1;
      expect(await seen()).toEqual(["awaiting", true, "awaiting", true, "open"]);
      scene.clock.at = t0 + 30 * MINUTE;
      expect(await seen()).toEqual(["hibernated", false, "hibernated", false, "expired"]);
      expect(await store.inbox.admit(admission(id, answers(asked)))).toEqual({ kind: "not_open" });
      // (b) Whoever takes it is told that it is still to be closed.
      const taken = await take(store, id);
      expect([taken.openInteraction, (await store.sessions.find(id, rivera))?.status]).toEqual([
        asked.interactionId,
        "resting",
      ]);
      expect(await store.inbox.admit(admission(id, { ...by(taken.fence), ...answers(asked) }))).toEqual({
        kind: "not_open",
      });
      await store.inbox.admit(admission(id, by(taken.fence)));
      scene.clock.at = t0;
      expect(await store.interactions.find(id, asked.interactionId)).toEqual({
        pending: asked.pending,
        turnId,
        status: "expired",
      });
    } finally {
      scene.clock.at = t0;
    }
  });

  test("[IA8] expire closes it once, when its time is over and not before; only its owner may", async () => {
    const id = await newSession(store);
    const t0 = scene.clock.at;
    const { fence, asked } = await asks(store, id, { expires_at: iso(t0 + MINUTE) });
    const expire = (what = asked.interactionId) => store.interactions.expire(fence, what);
    try {
      scene.clock.at = t0 + MINUTE - 1;
      expect(await expire()).toBe(false);
      expect((await standing(scene, id))?.["status"]).toBe("awaiting");
      scene.clock.at = t0 + MINUTE;
      expect(await expire(interactionId(randomUUID()))).toBe(false);
      const lost = store.interactions.expire({ ...fence, epoch: fence.epoch + 1 }, asked.interactionId);
      await expect(lost).rejects.toEqual(new OwnershipLost(id));
      expect((await standing(scene, id))?.["open"]).toBe(asked.interactionId);
      const both = await Promise.all([expire(), other.interactions.expire(fence, asked.interactionId)]);
      expect(both.sort()).toEqual([false, true]);
      expect(await expire()).toBe(false);
      expect(await standing(scene, id)).toEqual({ status: "resting", unsettled: 0, ...none });
      scene.clock.at = t0;
      expect([await statusOf(id, asked), await expire()]).toEqual(["expired", false]);
    } finally {
      scene.clock.at = t0;
    }
  });

  test("[IA9] one without an end is open for ever; orphans are told of one that is over, once nobody holds its session", async () => {
    const fresh = await storeScene();
    try {
      const { sessions, interactions } = fresh.store;
      const never = await asks(fresh.store, await newSession(fresh.store));
      const id = await newSession(fresh.store);
      const due = fresh.clock.at + MINUTE;
      const { fence, asked } = await asks(fresh.store, id, { expires_at: iso(due) });
      await sessions.release(never.fence);
      await sessions.sleep(fence, frozen(), 10, "awaiting");
      expect(await sessions.orphans(10)).toEqual([]);
      fresh.clock.at = due;
      expect(await sessions.orphans(10)).toEqual([id]);
      const heir = await take(fresh.store, id);
      expect(await sessions.orphans(10)).toEqual([]);
      expect(await interactions.expire(heir.fence, asked.interactionId)).toBe(true);
      await sessions.release(heir.fence);
      expect(await sessions.orphans(10)).toEqual([]);
      expect((await sessions.find(id, rivera))?.status).toBe("hibernated");
      fresh.clock.at = due + 1e12;
      expect((await interactions.find(never.fence.sessionId, never.asked.interactionId))?.status).toBe("open");
      const sweep = fresh.statements.find((text) => text.includes("as orphans")) ?? "";
      await fill(fresh);
      expect(await planOf(fresh, sweep)).toEqual(["(id = inbox.session_id)", "(open_until <= $)"]);
    } finally {
      await fresh.close();
    }
  });
});

async function ownerOf(id: SessionId) {
  const [row] = await scene.sql<{ node: ReturnType<typeof newNode>; epoch: string }[]>`
    select node, epoch from sessions where id = ${id}`;
  if (!row) throw new Error("no session");
  return { fence: { sessionId: id, node: row.node, epoch: Number(row.epoch) } };
}

/** Every row that an interaction may change. */
async function everything(id: SessionId) {
  const { sql } = scene;
  return {
    session: await sql`select * from sessions where id = ${id}`,
    inbox: await sql`select * from inbox where session_id = ${id} order by command_id`,
    blocks: await sql`select * from blocks where session_id = ${id} order by turn_id`,
    interactions: await sql`select * from interactions where session_id = ${id} order by interaction_id`,
  };
}
