import { randomUUID } from "node:crypto";
import type { ReservedSql } from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { callId, commandId, type SessionId, type TurnId } from "../machines/ids.ts";
import { TurnNotOpen } from "./histories.ts";
import { type Fence, OwnershipLost, type Store } from "./store.ts";
import { press, pressed, question, settlesAsking } from "./testing/questions.ts";
import {
  admission,
  admitted,
  batch,
  by,
  frozen,
  LEASE,
  newCommand,
  newSession,
  type StoreScene,
  said,
  settlement,
  shown,
  storeScene,
  take,
} from "./testing/store-scene.ts";

let scene: StoreScene;
let other: Store;
beforeAll(async () => {
  scene = await storeScene();
  other = await scene.node();
});
afterAll(() => scene.close());

test("[D-02] every write under an older epoch is refused by the statement and changes nothing", async () => {
  const { store } = scene;
  const id = await newSession(store);
  const { fence, turnId } = await admitted(store, id);
  await store.histories.append(fence, batch(turnId, [said(turnId, 0)], { opens: { n: 1, title: "Title" } }));
  await scene.expire(id);
  await take(other, id);
  const before = await everything(id);

  const lost = new OwnershipLost(id);
  const writes = [
    store.histories.append(fence, batch(turnId, [said(turnId, 1)])),
    store.histories.append(fence, batch(turnId, [said(turnId, 1)], { opens: { n: 2, title: "Other" } })),
    store.histories.append(fence, batch(turnId, [], { reserveSeq: 90_000 })),
    store.histories.settle(fence, settlement(turnId, 1, { entries: [said(turnId, 1)] })),
    store.inbox.cancel({ fence, commandId: newCommand(), digest: Buffer.from("x"), target: "running" }),
    store.inbox.countTakeover(fence, turnId),
    store.sessions.sleep(fence, frozen(), 99, "resting"),
    store.sessions.release(fence),
    store.interactions.expire(fence, question(turnId).interactionId),
    store.actions.intend(fence, { command: press(), digest: Buffer.from("x"), turnId }),
    store.actions.finish(fence, newCommand(), { state: "done", shown: pressed(press()), text: "done" }),
    store.histories.append(fence, batch(turnId, [], { recorded: [newCommand()] })),
    store.histories.settle(fence, settlesAsking(question(turnId))),
  ];
  for (const write of await Promise.allSettled(writes)) expect(write).toEqual({ status: "rejected", reason: lost });
  expect(await store.sessions.renew([fence], LEASE)).toEqual([]);
  expect(await store.inbox.admit(admission(id, by(fence)))).toEqual({ kind: "elsewhere" });
  expect(await everything(id)).toEqual(before);
});

test("[D-02] a stale owner's row never lands after the take-over has read the history: 400 races", async () => {
  const id = await newSession(scene.store);
  const stale = await scene.node();
  let landed = 0;
  for (let round = 0; round < 400; round++) {
    const { fence } = await take(stale, id);
    await scene.expire(id);
    const turnId = admission(id).turnId;
    const append = async () => {
      for (let wait = round % 4; wait > 0; wait--) await nextTurnOfTheLoop();
      return stale.histories.append(fence, batch(turnId, [said(turnId, round)]));
    };
    const [wrote, read] = await Promise.allSettled([append(), takeAndRead(id, round)]);
    const stored = await scene.store.histories.load(id, round);
    expect(read).toEqual({ status: "fulfilled", value: stored });
    expect(wrote.status).toBe(stored.length === 1 ? "fulfilled" : "rejected");
    landed += stored.length;
    await scene.expire(id);
  }
  // Both outcomes were met, so the two really raced.
  expect(landed).toBeGreaterThan(0);
  expect(landed).toBeLessThan(400);
});

test("[D-02] a take-over waits for every write that has passed its fence, and reads what it wrote", async () => {
  const write = (store: Store, fence: Fence, turn: TurnId): Record<string, () => Promise<unknown>> => ({
    append: () => store.histories.append(fence, batch(turn, [said(turn, 1)], { finished: [call] })),
    opens: () => store.histories.append(fence, batch(turn, [said(turn, 1)], { opens: { n: 1, title: "Title" } })),
    settle: () => store.histories.settle(fence, settlement(turn, 1, { entries: [said(turn, 1)] })),
    cancel: () => store.inbox.cancel({ fence, commandId: newCommand(), digest: Buffer.from("x"), target: turn }),
    countTakeover: () => store.inbox.countTakeover(fence, turn),
    finish: () =>
      store.actions.finish(fence, commandId(button.id), { state: "done", shown: pressed(button), text: "" }),
    recorded: () => store.histories.append(fence, batch(turn, [], { recorded: [commandId(button.id)] })),
  });
  const button = press();
  const call = callId("call-1");
  for (const name of ["append", "opens", "settle", "cancel", "countTakeover", "finish", "recorded"]) {
    const id = await newSession(scene.store);
    const { fence, turnId } = await admitted(scene.store, id);
    const intents = [{ turnId, callId: call, name: "order", repeatable: true, key: "k" }];
    await scene.store.histories.append(fence, batch(turnId, [said(turnId, 0)], { intents }));
    await scene.store.actions.intend(fence, { command: { ...button }, digest: Buffer.from("x"), turnId });
    await scene.expire(id);
    const before = await everything(id);

    const blocker = await scene.sql.reserve();
    try {
      await blocker`begin`;
      await blocker`select from inbox where session_id = ${id} for update`;
      await blocker`select from tool_calls where session_id = ${id} for update`;
      await blocker`select from actions where session_id = ${id} for update`;
      // The write has its lock on the session and waits further on.
      const wrote = write(scene.store, fence, turnId)[name]?.();
      expect(await someoneWaits(1, Promise.resolve(wrote))).toBe(true);
      const seen = take(other, id).then(() => everything(id));
      expect({ name, waits: await someoneWaits(2, seen) }).toEqual({ name, waits: true });
      await blocker`commit`;
      await wrote;
      const after = await everything(id);
      expect({ ...(await seen), session: after.session }).toEqual(after);
      expect({ ...before, session: after.session }).not.toEqual(after);
    } finally {
      blocker.release();
    }
  }
});

test("[D-02] without the row lock a stale row does land after the take-over has read: the race is real", async () => {
  const outcomeOf = async (lock: "" | "for share" | "for key share") => {
    const id = await newSession(scene.store);
    const { fence } = await take(scene.store, id);
    await scene.expire(id);
    const slow = await scene.sql.reserve();
    try {
      await slow`begin`;
      await guardedInsert(slow, fence, lock);
      // The owner is slow to commit. Does the take-over wait for it?
      const takeOver = take(other, id).then(() => rows(id));
      const waits = await someoneWaits(1, takeOver);
      await slow`commit`;
      return { waits, seen: await takeOver, stored: await rows(id) };
    } finally {
      slow.release();
    }
  };
  const breach = { waits: false, seen: 0, stored: 1 };
  expect(await outcomeOf("")).toEqual(breach);
  expect(await outcomeOf("for key share")).toEqual(breach);
  expect(await outcomeOf("for share")).toEqual({ waits: true, seen: 1, stored: 1 });
});

test("[FE1] renewals, admissions and cancels that run meanwhile disturb no turn: all counters are exact", async () => {
  const { store } = scene;
  const id = await newSession(store);
  const first = await admitted(store, id);
  const { fence } = first;
  let { turnId } = first;
  const renewals = { running: true };
  const renewing = (async () => {
    while (renewals.running) await other.sessions.renew([fence], LEASE);
  })();
  for (let n = 1; n <= 100; n++) {
    const next = admission(id, by(fence));
    const opens = { n, title: "Title" };
    const [, admission_] = await Promise.all([
      store.histories.append(fence, batch(turnId, [said(turnId, n - 1)], { opens })),
      store.inbox.admit(next),
    ]);
    expect(admission_.kind).toBe("admitted");
    const [settled] = await Promise.all([
      store.histories.settle(fence, settlement(turnId, n)),
      other.inbox.cancel({ fence, commandId: newCommand(), digest: Buffer.from("x"), target: "running" }),
    ]);
    expect(settled).toEqual({ isOpen: false });
    turnId = next.turnId;
  }
  await store.histories.settle(fence, settlement(turnId, 101));
  renewals.running = false;
  await renewing;
  const [counters] = await scene.sql`
    select unsettled, turns, next_ordinal, status from sessions where id = ${id}`;
  expect(counters).toEqual({ unsettled: 0, turns: 101, next_ordinal: 102, status: "resting" });
});

test("[FE2] two settlements of one turn that race have one effect", async () => {
  const { store } = scene;
  for (let round = 0; round < 50; round++) {
    const id = await newSession(store);
    const { fence, turnId } = await admitted(store, id);
    await store.inbox.admit(admission(id, by(fence)));
    const results = await Promise.allSettled([
      store.histories.settle(fence, settlement(turnId, 1)),
      other.histories.settle(fence, settlement(turnId, 1, { outcome: "failed", turn: shown(turnId, 1, "late") })),
    ]);
    const refused = results.filter((result) => result.status === "rejected");
    expect(refused.map(({ reason }) => reason)).toEqual([new TurnNotOpen(id, turnId)]);
    const [row] = await scene.sql`select unsettled from sessions where id = ${id}`;
    expect(row).toEqual({ unsettled: 1 });
  }
});

async function takeAndRead(id: SessionId, anchor: number) {
  await take(other, id);
  return other.histories.load(id, anchor);
}

function guardedInsert(sql: ReservedSql, fence: Fence, lock: "" | "for share" | "for key share") {
  const { sessionId: id, node, epoch } = fence;
  return sql`
    with o as (select id from sessions where id = ${id} and node = ${node} and epoch = ${epoch} ${sql.unsafe(lock)})
    insert into entries (session_id, pos, count, turn_id, kind, tokens, epoch, digest, body)
    select id, 0, 1, ${randomUUID()}, 'user', 1, ${epoch}, '', '' from o`;
}

async function rows(id: SessionId): Promise<number> {
  return (await scene.sql`select from entries where session_id = ${id}`).length;
}

/** Whether `count` statements of this database came to wait for locks before `over` ended. */
async function someoneWaits(count: number, over: Promise<unknown>): Promise<boolean> {
  for (;;) {
    const [row] = await scene.sql<{ waiting: number }[]>`
      select count(*)::int as waiting from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`;
    if (row && row.waiting >= count) return true;
    if (await Promise.race([over.then(() => true), nextTurnOfTheLoop().then(() => false)])) return false;
  }
}

const nextTurnOfTheLoop = () => new Promise((resolve) => setImmediate(resolve));

/** Every row of the session, as it is stored. */
async function everything(id: SessionId) {
  const { sql } = scene;
  return {
    session: await sql`select * from sessions where id = ${id}`,
    inbox: await sql`select * from inbox where session_id = ${id} order by command_id`,
    entries: await sql`select * from entries where session_id = ${id} order by pos`,
    blocks: await sql`select * from blocks where session_id = ${id}`,
    calls: await sql`select * from tool_calls where session_id = ${id}`,
    interactions: await sql`select * from interactions where session_id = ${id}`,
    actions: await sql`select * from actions where session_id = ${id}`,
  };
}
