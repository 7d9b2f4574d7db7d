import { afterAll, beforeAll, expect, test } from "vitest";
import type { InteractionId, SessionId } from "../machines/ids.ts";
import { OwnershipLost, type Store } from "./store.ts";
import { answers, asks, inOrder, none, question, settlesAsking, standing } from "./testing/questions.ts";
import { admission, admitted, by, newSession, type StoreScene, storeScene, take } from "./testing/store-scene.ts";

let scene: StoreScene;
let store: Store;
let other: Store;
beforeAll(async () => {
  scene = await storeScene();
  store = scene.store;
  other = await scene.node();
});
afterAll(() => scene.close());

const statusOf = async (id: SessionId, asked: { interactionId: InteractionId }) =>
  (await store.interactions.find(id, asked.interactionId))?.status;

const ROUNDS = 120;
/** Both at once, or one behind the other at the row's lock, in either order. */
async function race<A, B>(round: number, id: SessionId, one: () => Promise<A>, two: () => Promise<B>) {
  if (round % 3 === 0) return inOrder(scene, id, one, two);
  if (round % 3 === 1) {
    const [second, first] = await inOrder(scene, id, two, one);
    return [first, second] as const;
  }
  return Promise.allSettled([one(), two()]);
}
const kindsOf = (results: readonly PromiseSettledResult<{ readonly kind: string }>[]) =>
  results.map((result) => (result.status === "fulfilled" ? result.value.kind : String(result.reason))).join(" ");

test("[D-12] two answers that race: one is a turn, the other is told that it is closed", async () => {
  const met = new Set<string>();
  for (let round = 0; round < ROUNDS; round++) {
    const id = await newSession(store);
    const { fence, asked } = await asks(store, id);
    const inputs = ["a", "b"].map((choice) =>
      admission(id, {
        ...by(fence),
        ...answers(asked, { resolution: { kind: "answered", selected: [choice] } }),
      }),
    ) as [ReturnType<typeof admission>, ReturnType<typeof admission>];
    const results = await race(
      round,
      id,
      () => store.inbox.admit(inputs[0]),
      () => other.inbox.admit(inputs[1]),
    );
    const kinds = kindsOf(results);
    met.add(kinds);
    const winner = kinds.startsWith("admitted") ? inputs[0] : inputs[1];
    expect((await store.interactions.find(id, asked.interactionId))?.resolved).toEqual({
      commandId: winner.commandId,
      turnId: winner.turnId,
      resolution: winner.resolves?.resolution,
    });
    expect((await store.inbox.open(id)).map(({ turnId }) => turnId)).toEqual([winner.turnId]);
  }
  expect([...met].sort()).toEqual(["admitted not_open", "not_open admitted"]);
});

test("[D-13] an answer and a message that race: the first one decides what became of the question", async () => {
  const met = new Set<string>();
  for (let round = 0; round < ROUNDS; round++) {
    const id = await newSession(store);
    const { fence, asked } = await asks(store, id);
    const results = await race(
      round,
      id,
      () => store.inbox.admit(admission(id, { ...by(fence), ...answers(asked) })),
      () => other.inbox.admit(admission(id, by(fence))),
    );
    const key = `${kindsOf(results)} ${await statusOf(id, asked)}`;
    met.add(key);
    const row = await standing(scene, id);
    expect(row).toEqual({ status: "turning", unsettled: key.startsWith("admitted") ? 2 : 1, ...none });
  }
  expect([...met].sort()).toEqual(["admitted admitted answered", "not_open admitted superseded"]);
});

test("[D-06] a message that arrives as its turn ends with a question supersedes that, in whatever order", async () => {
  const met = new Set<string>();
  for (let round = 0; round < ROUNDS; round++) {
    const id = await newSession(store);
    const { fence, turnId } = await admitted(store, id);
    const asked = question(turnId);
    const [settled, message] = await race(
      round,
      id,
      () => store.histories.settle(fence, settlesAsking(asked)),
      () => other.inbox.admit(admission(id, by(fence))),
    );
    expect([settled.status, kindsOf([message])]).toEqual(["fulfilled", "admitted"]);
    const key = JSON.stringify(settled.status === "fulfilled" && settled.value);
    met.add(key);
    const [stored] = await scene.sql`select status from interactions where session_id = ${id}`;
    expect(stored).toEqual({ status: "superseded" });
    expect(await standing(scene, id)).toEqual({ status: "turning", unsettled: 1, ...none });
  }
  expect([...met].sort()).toEqual(['{"isOpen":false}', '{"isOpen":true}']);
});

test("[IA12] a message whose sender knew nothing of the question, or of one that is gone, closes what is open and nothing else", async () => {
  const met = new Set<string>();
  for (let round = 0; round < ROUNDS; round++) {
    const id = await newSession(store);
    const { fence, asked } = await asks(store, id);
    // Neither knew, the second did, both did: each with every order of arrival.
    const knew = Math.floor(round / 3) % 3;
    const first = admission(id, { ...by(fence), isSomethingOpen: knew === 2 });
    const second = admission(id, { ...by(fence), isSomethingOpen: knew > 0 });
    const results = await race(
      round,
      id,
      () => store.inbox.admit(first),
      () => other.inbox.admit(second),
    );
    expect(kindsOf(results)).toBe("admitted admitted");
    met.add((await store.inbox.open(id)).map(({ turnId }) => (turnId === first.turnId ? "1" : "2")).join());
    expect(await statusOf(id, asked)).toBe("superseded");
    expect(await standing(scene, id)).toEqual({ status: "turning", unsettled: 2, ...none });
  }
  expect([...met].sort()).toEqual(["1,2", "2,1"]);
});

test("[IA10] an answer that is sent before its question is durable is refused without a trace, and taken afterwards", async () => {
  const id = await newSession(store);
  const { fence, turnId } = await admitted(store, id);
  const asked = question(turnId);
  const input = admission(id, { ...by(fence), ...answers(asked) });
  const [settled, early] = await inOrder(
    scene,
    id,
    () => store.histories.settle(fence, settlesAsking(asked)),
    () => other.inbox.admit(input),
  );
  expect([settled, early]).toEqual([
    { status: "fulfilled", value: { isOpen: true } },
    { status: "fulfilled", value: { kind: "not_open" } },
  ]);
  expect((await store.inbox.admit(input)).kind).toBe("admitted");
  const row = await store.interactions.find(id, asked.interactionId);
  expect([row?.status, row?.resolved?.commandId]).toEqual(["answered", input.commandId]);
});

test("[IA11] an owner that was replaced opens and closes nothing", async () => {
  const id = await newSession(store);
  const { fence, turnId } = await admitted(store, id);
  await scene.expire(id);
  await take(other, id);
  const before = await everything(id);
  const asked = question(turnId);
  await expect(store.histories.settle(fence, settlesAsking(asked))).rejects.toEqual(new OwnershipLost(id));
  expect(await store.inbox.admit(admission(id, { ...by(fence), ...answers(asked) }))).toEqual({ kind: "elsewhere" });
  await expect(store.interactions.expire(fence, asked.interactionId)).rejects.toEqual(new OwnershipLost(id));
  expect(await everything(id)).toEqual(before);
});

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
