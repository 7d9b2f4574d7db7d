import { afterAll, beforeAll, expect, test } from "vitest";
import type { SessionId, TurnId } from "../machines/ids.ts";
import type { AdmitInput, ModelCallRow } from "./store.ts";
import { inOrder } from "./testing/questions.ts";
import {
  admission,
  admitted,
  batch,
  by,
  chen,
  newNode,
  newSession,
  newTurn,
  rivera,
  type StoreScene,
  said,
  settlement,
  storeScene,
} from "./testing/store-scene.ts";

let scene: StoreScene;
beforeAll(async () => {
  scene = await storeScene();
});
afterAll(() => scene.close());

const grantOf = (cookie: string, ms = 600_000) => ({
  principal: { userId: rivera, name: "Dr Rivera", flags: ["labs"], preferences: { tone: "brief" } },
  credential: { cookie },
  expiresAt: Date.now() + ms,
});
const grant = ({ principal, credential }: ReturnType<typeof grantOf>) => ({ principal, credential });

test("[GR1] a grant is there for its own turn until it expires", async () => {
  const { store } = scene;
  const id = await newSession(store);
  const living = grantOf("a");
  const { fence, turnId } = await admitted(store, id, { grant: living });
  const dead = admission(id, { ...by(fence), grant: grantOf("b", -1_000) });
  await store.inbox.admit(dead);
  expect(await store.grants.find(id, turnId)).toEqual(grant(living));
  expect(await store.grants.find(id, dead.turnId)).toBe(undefined);
  expect(await store.grants.find(id, newTurn())).toBe(undefined);
});

test("[GR2] refresh renews the grants of unsettled turns, for the owner only, and revives a revoked one", async () => {
  const { store } = scene;
  const id = await newSession(store);
  const { fence, turnId } = await admitted(store, id, { grant: grantOf("old") });
  await store.histories.settle(fence, settlement(turnId, 1));
  const [second, third] = [admission(id, { ...by(fence), grant: grantOf("old") }), admission(id, by(fence))];
  await store.inbox.admit(second);
  await store.inbox.admit(third);
  await store.grants.refresh(id, chen, grantOf("foreign"));
  expect(await store.grants.find(id, second.turnId)).toEqual(grant(grantOf("old")));
  await store.grants.refresh(id, rivera, grantOf("new"));
  const all = [turnId, second.turnId, third.turnId].map((turn) => store.grants.find(id, turn));
  expect(await Promise.all(all)).toEqual([undefined, grant(grantOf("new")), grant(grantOf("new"))]);
  await store.grants.revoke(id);
  expect(await store.grants.find(id, second.turnId)).toBe(undefined);
});

test("[GR5] a refresh that waits while a turn settles gives that one no grant, and the next one its own", async () => {
  const { store } = scene;
  const id = await newSession(store);
  const { fence, turnId } = await admitted(store, id, { grant: grantOf("old") });
  const next = admission(id, { ...by(fence), grant: grantOf("old") });
  await store.inbox.admit(next);
  const other = await scene.node();
  const results = await inOrder(
    scene,
    id,
    () => store.histories.settle(fence, settlement(turnId, 1)),
    () => other.grants.refresh(id, rivera, grantOf("new")),
  );
  expect(results.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled"]);
  expect(await store.grants.find(id, next.turnId)).toEqual(grant(grantOf("new")));
  const [ended] = await scene.sql`select state, grant_body, grant_expires_at from inbox where turn_id = ${turnId}`;
  expect(ended).toEqual({ state: "settled", grant_body: null, grant_expires_at: null });
});

test("[GR3] a grant of another user than the owner is never stored", async () => {
  const { store } = scene;
  const id = await newSession(store, chen);
  const foreign = admission(id, { owner: chen, grant: grantOf("a") });
  await expect(store.inbox.admit(foreign)).rejects.toThrow(TypeError);
  expect(await store.inbox.open(id)).toEqual([]);
});

test("[GR4] sweep removes what expired, nothing else, and waits for no row; a turn that has ended can't hold one", async () => {
  const fresh = await storeScene();
  try {
    const { store } = fresh;
    const id = await newSession(store);
    const { fence, turnId } = await admitted(store, id, { grant: grantOf("a") });
    const [over, busy] = [grantOf("b", -1_000), grantOf("c", -1_000)].map((grant) =>
      admission(id, { ...by(fence), grant }),
    ) as [AdmitInput, AdmitInput];
    await store.inbox.admit(over);
    await store.inbox.admit(busy);
    const ended = admission(id, by(fence));
    await store.inbox.admit(ended);
    await store.histories.settle(fence, settlement(ended.turnId, 1));
    const late = fresh.sql`
      update inbox set grant_body = 'x', grant_expires_at = now() where turn_id = ${ended.turnId}`;
    await expect(late).rejects.toHaveProperty("constraint_name", "inbox_grant");
    const blocker = await fresh.sql.reserve();
    await blocker`begin`;
    await blocker`select from inbox where turn_id = ${busy.turnId} for update`;
    expect(await store.grants.sweep()).toBe(1);
    await blocker`commit`;
    blocker.release();
    expect(await store.grants.sweep()).toBe(1);
    expect(await store.grants.sweep()).toBe(0);
    expect(await store.grants.find(id, turnId)).toEqual(grant(grantOf("a")));
  } finally {
    await fresh.close();
  }
});

test("[NO1] a node hears the others that beat lately; leaving removes it and the long silent", async () => {
  const { store, sql } = scene;
  const [self, other, silent, gone] = [newNode(), newNode(), newNode(), newNode()];
  for (const node of [self, other, silent, gone, other]) await store.nodes.beat(node);
  await sql`update nodes set heard = now() - interval '1 minute' where id = ${silent}`;
  await sql`update nodes set heard = now() - interval '2 days' where id = ${gone}`;
  expect(await store.nodes.others(self, 5_000)).toEqual([other]);
  expect([...(await store.nodes.others(self, 120_000))].sort()).toEqual([other, silent].sort());
  await store.nodes.leave(other);
  expect(await store.nodes.others(self, 1e12)).toEqual([silent]);
});

function callRow(
  sessionId: SessionId,
  turnId: TurnId,
  step: number,
  changes: Partial<ModelCallRow> = {},
): ModelCallRow {
  return {
    sessionId,
    turnId,
    step,
    attempt: 1,
    profile: "gemini",
    issuer: "gemini-api",
    outcome: "ok",
    usage: { input: 10, output: 5, thinking: 0, cached: 2 },
    ms: 12.6,
    projector: 1,
    ...changes,
  };
}

test("[H-08] the third of ten rows is refused: nine are stored, it is reported, and the turn is untouched", async () => {
  const { store, sql, bad } = scene;
  const id = await newSession(store);
  const { fence, turnId } = await admitted(store, id);
  await store.histories.append(fence, batch(turnId, [said(turnId, 0)], { opens: { n: 1, title: "T" } }));
  const rows = Array.from({ length: 10 }, (_, step) => callRow(id, turnId, step + 1));
  rows[2] = callRow(id, turnId, 3, { usage: { input: Number.NaN, output: 0, thinking: 0, cached: 0 } });
  rows[3] = callRow(id, turnId, 4, { profile: "gem\u0000ini\ud800" });
  bad.length = 0;
  await store.calls.record(rows);
  await store.histories.settle(fence, settlement(turnId, 1));
  expect(bad).toEqual(["refused_23502"]);
  const stored = await sql`select step, profile, ms from model_calls where session_id = ${id} order by step`;
  const kept = [1, 2, 4, 5, 6, 7, 8, 9, 10].map((step) => ({
    step,
    profile: step === 4 ? "gemini\ufffd" : "gemini",
    ms: 13,
  }));
  expect([...stored]).toEqual(kept);
  expect((await store.turns.page(id, 1)).length).toBe(1);
});

test("[CA1] rows of an erased session, and rows that were recorded before, harm nobody", async () => {
  const { store, bad } = scene;
  const id = await newSession(store);
  bad.length = 0;
  await store.calls.record([callRow(id, newTurn(), 1)]);
  const turnId = newTurn();
  await store.calls.record([callRow(id, turnId, 1), callRow(id, turnId, 1)]);
  expect(bad).toEqual([]);
  await store.sessions.erase(id, rivera);
  await store.calls.record([callRow(id, turnId, 1), callRow(id, turnId, 2)]);
  expect(bad).toEqual(["refused_23503", "refused_23503"]);
  await store.calls.record([]);
});
