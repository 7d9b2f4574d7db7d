import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type CommandId, commandId, type SessionId } from "../machines/ids.ts";
import type { ActionCommand } from "../machines/protocol/commands.ts";
import { type Fence, OwnershipLost, type Store } from "./store.ts";
import { inOrder, press, pressed } from "./testing/questions.ts";
import {
  admitted,
  batch,
  frozen,
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
let store: Store;
let other: Store;
beforeAll(async () => {
  scene = await storeScene();
  store = scene.store;
  other = await scene.node();
});
afterAll(() => scene.close());

const digest = Buffer.from("digest");
const idOf = (command: ActionCommand) => commandId(command.id);
/** A session whose turn `turnId` runs. */
async function begun() {
  const id = await newSession(store);
  const { fence, turnId } = await admitted(store, id);
  const card = newTurn();
  const intend = (command: ActionCommand, by = store) => by.actions.intend(fence, { command, digest, turnId: card });
  return { id, fence, turnId, card, intend };
}
const done = (command: ActionCommand) => ({ state: "done", shown: pressed(command), text: "added" }) as const;
const failed = (command: ActionCommand) => ({ state: "failed", shown: pressed(command), text: "refused" }) as const;
async function counted(id: SessionId) {
  const [row] = await scene.sql<{ n: number }[]>`select unrecorded_actions as n from sessions where id = ${id}`;
  return row?.n;
}
const untold = async (id: SessionId) => (await store.actions.unrecorded(id)).map(({ command }) => command.id);

describe("what was pressed", () => {
  test("[AC1] it is durable before its call leaves, ends once, and is to be told until a turn has told it", async () => {
    const { id, fence, turnId, card, intend } = await begun();
    const [one, two] = [press(), press({ variant: "v2", plan_id: "plan-1" })];
    expect([await intend(one), await intend(two)]).toEqual([{ kind: "intended" }, { kind: "intended" }]);
    await store.actions.finish(fence, idOf(two), done(two));
    await store.actions.finish(fence, idOf(two), failed(two));
    await store.actions.finish(fence, commandId(press().id), failed(two));
    const rows = [
      { command: one, turnId: card, state: "intended" },
      { command: two, turnId: card, state: "done", end: { shown: pressed(two), text: "added" } },
    ];
    expect(await store.actions.unrecorded(id)).toEqual(rows);
    expect([await counted(id), await store.actions.unrecorded(await newSession(store))]).toEqual([2, []]);
    await store.histories.settle(fence, settlement(turnId, 1));
    await store.sessions.sleep(fence, frozen(), 10, "resting");
    expect((await admitted(store, id)).taken.unrecordedActions).toBe(true);
    await scene.expire(id);
    expect((await take(store, id)).unrecordedActions).toBe(true);
    expect(await store.sessions.erase(id, rivera)).toBe(true);
    expect((await scene.sql`select from actions where session_id = ${id}`).length).toBe(0);
  });

  test("[AC2] the same command again is known as it stands, a failed one too; its id with other content is a conflict", async () => {
    const { id, fence, card, intend } = await begun();
    const command = press();
    await intend(command);
    const row = { command, turnId: card, state: "intended" };
    expect(await intend(command)).toEqual({ kind: "known", isSameCommand: true, row });
    const conflict = await store.actions.intend(fence, { command, digest: Buffer.from("other"), turnId: card });
    expect(conflict).toEqual({ kind: "conflict" });
    await store.actions.finish(fence, idOf(command), failed(command));
    const ended = { ...row, state: "failed", end: { shown: pressed(command), text: "refused" } };
    expect(await intend(command)).toEqual({ kind: "known", isSameCommand: true, row: ended });
    expect(await counted(id)).toBe(1);
    // Its own row comes before another command's for the same thing.
    const heir = press();
    expect(await intend(heir)).toEqual({ kind: "intended" });
    expect(await intend(command)).toEqual({ kind: "known", isSameCommand: true, row: ended });
  });

  test("[AC3] the same item of the same card and plan is under way once; ended, it may be pressed again; anything else is another thing", async () => {
    const { id, fence, card, intend } = await begun();
    const first = press({ plan_id: "plan-1" });
    await intend(first);
    const second = press({ plan_id: "plan-1" });
    const known = { kind: "known", isSameCommand: false };
    const row = { command: first, turnId: card, state: "intended" };
    expect(await intend(second)).toEqual({ ...known, row });
    const others = [
      press(),
      press({ plan_id: "plan-2" }),
      press({ plan_id: "plan-1", variant: "v2" }),
      press({ plan_id: "plan-1", block_id: "0b000000-0000-4000-8000-000000000000" }),
    ];
    for (const one of others) expect(await intend(one)).toEqual({ kind: "intended" });
    await store.actions.finish(fence, idOf(first), failed(first));
    expect(await intend(second)).toEqual({ kind: "intended" });
    await store.actions.finish(fence, idOf(second), done(second));
    const third = press({ plan_id: "plan-1" });
    expect(await intend(third)).toEqual({ kind: "intended" });
    const end = { shown: pressed(second), text: "added" };
    const ended = { command: second, turnId: card, state: "done", end };
    expect(await intend(second)).toEqual({ kind: "known", isSameCommand: true, row: ended });
    const underWay = { command: third, turnId: card, state: "intended" };
    expect(await intend(press({ plan_id: "plan-1" }))).toEqual({ ...known, row: underWay });
    expect(await counted(id)).toBe(7);
    const elsewhere = await begun();
    expect(await elsewhere.intend(press({ plan_id: "plan-1" }))).toEqual({ kind: "intended" });
  });

  test("[AC4] a button that is pressed twice at the same moment is done once", async () => {
    const met = new Set<string>();
    for (let round = 0; round < 100; round++) {
      const { id, intend } = await begun();
      const [one, two] = [press(), press()];
      const run = [() => intend(one), () => intend(two, other)] as const;
      const results =
        round % 2 === 0 ? await inOrder(scene, id, ...run) : await Promise.allSettled(run.map((press_) => press_()));
      const kinds = results.map((result) =>
        result.status === "fulfilled" ? result.value.kind : String(result.reason),
      );
      met.add(kinds.toSorted().join(" "));
      const winner = kinds[0] === "intended" ? one : two;
      expect([await untold(id), await counted(id)]).toEqual([[winner.id], 1]);
    }
    expect([...met]).toEqual(["intended known"]);
  });

  test("[AC5] what was done with the cards of some turns, in order, without what failed or is on its way", async () => {
    const { id, fence } = await begun();
    const [a, b, c] = [newTurn(), newTurn(), newTurn()];
    const turns = [a, b, c, a, a, a];
    const commands = turns.map((_, index) => press({ variant: `v${index}` }));
    for (const [index, command] of commands.entries()) {
      await store.actions.intend(fence, { command, digest, turnId: turns[index] ?? a });
      const end = index === 3 ? failed(command) : done(command);
      if (index !== 4) await store.actions.finish(fence, idOf(command), end);
    }
    const expected = [0, 1, 5].map((index) => ({
      ...pressed(commands[index] ?? press()),
      turnId: turns[index],
    }));
    expect(await store.actions.shown(id, [b, a])).toEqual(expected);
    expect([await store.actions.shown(id, []), await store.actions.shown(id, [newTurn()])]).toEqual([[], []]);
  });
});

describe("what was told", () => {
  test("[AC6] a batch that tells the model of actions counts each once, in an append and in a settle", async () => {
    const { id, fence, turnId, intend } = await begun();
    const commands = [1, 2, 3, 4].map((index) => press({ variant: `v${index}` }));
    const [a, b, c, d] = commands.map(idOf) as [CommandId, CommandId, CommandId, CommandId];
    for (const command of commands) await intend(command);
    await store.histories.append(
      fence,
      batch(turnId, [said(turnId, 0)], { recorded: [a], opens: { n: 1, title: "T" } }),
    );
    expect([await untold(id), await counted(id)]).toEqual([[b, c, d], 3]);
    // Named again, besides one of nobody's.
    const again = batch(turnId, [], { recorded: [a, commandId(press().id), b] });
    await store.histories.append(fence, again);
    await store.histories.append(fence, again);
    expect([await untold(id), await counted(id)]).toEqual([[c, d], 2]);
    const last = settlement(turnId, 1, { recorded: [c] });
    await store.histories.settle(fence, last);
    await store.histories.settle(fence, last);
    expect([await untold(id), await counted(id)]).toEqual([[d], 1]);
  });

  test("[AC7] told and pressed at the same moment, in either order: the count is exact", async () => {
    for (let round = 0; round < 60; round++) {
      const { id, fence, turnId, intend } = await begun();
      const [old, late] = [press(), press({ variant: "v2" })];
      await intend(old);
      const tell = () => store.histories.append(fence, batch(turnId, [said(turnId, 0)], { recorded: [idOf(old)] }));
      const settle = () => store.histories.settle(fence, settlement(turnId, 1, { recorded: [idOf(old)] }));
      const told: () => Promise<unknown> = round % 4 < 2 ? tell : settle;
      const presses = () => intend(late, other);
      const results =
        round % 2 === 0 ? await inOrder(scene, id, told, presses) : await inOrder(scene, id, presses, told);
      expect(results.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled"]);
      expect([await untold(id), await counted(id)]).toEqual([[late.id], 1]);
    }
  });

  test("[AC8] a batch that is refused tells nothing; an owner that was replaced presses, ends and tells nothing", async () => {
    const { id, fence, turnId, intend } = await begun();
    const command = press();
    await intend(command);
    await store.histories.append(fence, batch(turnId, [said(turnId, 0)]));
    const clash = batch(turnId, [said(turnId, 0, "other")], { recorded: [idOf(command)] });
    await expect(store.histories.append(fence, clash)).rejects.toHaveProperty("code", "store_refused");
    expect([await untold(id), await counted(id)]).toEqual([[command.id], 1]);
    await scene.expire(id);
    await take(other, id);
    const before = await everything(fence);
    const lost = new OwnershipLost(id);
    await expect(intend(press({ variant: "v2" }))).rejects.toEqual(lost);
    await expect(intend(command)).rejects.toEqual(lost);
    await expect(store.actions.finish(fence, idOf(command), done(command))).rejects.toEqual(lost);
    const tells = batch(turnId, [], { recorded: [idOf(command)] });
    await expect(store.histories.append(fence, tells)).rejects.toEqual(lost);
    expect(await everything(fence)).toEqual(before);
  });
});

async function everything({ sessionId: id }: Fence) {
  const { sql } = scene;
  return {
    session: await sql`select * from sessions where id = ${id}`,
    actions: await sql`select * from actions where session_id = ${id} order by ordinal`,
  };
}
