import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { PlacedEntry, SummaryEntry } from "../machines/conversation/entries.ts";
import { callId, type TurnId } from "../machines/ids.ts";
import type { SummaryDraft } from "./store.ts";
import {
  admitted,
  batch,
  newSession,
  newTurn,
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

const SECRET = "Kestrelwood";
const summary = (turnId: TurnId, pos: number, from: number, to: number): PlacedEntry => ({
  pos,
  tokens: 9,
  entry: { kind: "summary", turnId, text: SECRET, from, to } satisfies SummaryEntry,
});
const draft = (from: number, to: number, text = SECRET): SummaryDraft => ({
  from,
  to,
  text,
  digest: "d".repeat(64),
  passes: 1,
  profile: "cheap",
  clipped: [],
});

/** A session with three entries whose turn runs. */
async function begun() {
  const id = await newSession(scene.store);
  const { fence, turnId } = await admitted(scene.store, id);
  const entries = [0, 1, 2].map((pos) => said(turnId, pos));
  await scene.store.histories.append(fence, batch(turnId, entries, { opens: { n: 1, title: "T" } }));
  const anchor = async () => {
    const [row] = await scene.sql<{ anchor: number }[]>`select anchor from sessions where id = ${id}`;
    return row?.anchor;
  };
  return { id, fence, turnId, anchor };
}

describe("anchor", () => {
  test("[AN1] it moves with the summary, in one statement; a load begins there, and nothing is deleted", async () => {
    const { id, fence, turnId, anchor } = await begun();
    scene.statements.length = 0;
    await scene.store.histories.append(
      fence,
      batch(turnId, [summary(turnId, 3, 0, 2)], { anchor: { from: 0, to: 2 } }),
    );
    expect([scene.statements.length, await anchor()]).toEqual([1, 2]);
    const load = async (from: number) => (await scene.store.histories.load(id, from)).map(({ pos }) => pos);
    expect([await load(2), await load(0)]).toEqual([
      [2, 3],
      [0, 1, 2, 3],
    ]);
    await scene.expire(id);
    expect((await take(scene.store, id)).anchor).toBe(2);
  });

  test("[AN2] only from where it is: a summary for another anchor leaves it, and so does one written twice", async () => {
    const { fence, turnId, anchor } = await begun();
    const first = batch(turnId, [summary(turnId, 3, 0, 2)], { anchor: { from: 0, to: 2 } });
    await scene.store.histories.append(fence, first);
    await scene.store.histories.append(fence, first);
    await scene.store.histories.append(
      fence,
      batch(turnId, [summary(turnId, 4, 0, 1)], { anchor: { from: 0, to: 1 } }),
    );
    expect(await anchor()).toBe(2);
    await scene.store.histories.settle(
      fence,
      settlement(turnId, 1, { entries: [summary(turnId, 5, 2, 3)], anchor: { from: 2, to: 3 } }),
    );
    expect(await anchor()).toBe(3);
  });

  test("[AN3] a stale owner moves nothing", async () => {
    const { id, fence, turnId, anchor } = await begun();
    await scene.expire(id);
    await take(scene.store, id);
    const late = batch(turnId, [summary(turnId, 3, 0, 2)], { anchor: { from: 0, to: 2 } });
    await expect(scene.store.histories.append(fence, late)).rejects.toMatchObject({ code: "ownership_lost" });
    expect([await anchor(), (await scene.store.histories.load(id, 0)).length]).toEqual([0, 3]);
  });
});

describe("drafts", () => {
  test("[DF1] one for each anchor, only while the anchor is there; gone when it moves; sealed", async () => {
    const { id, fence, turnId } = await begun();
    const { summaries, histories } = scene.store;
    expect([await summaries.keep(id, draft(0, 1)), await summaries.keep(id, draft(0, 2, "other"))]).toEqual([
      true,
      false,
    ]);
    expect([await summaries.find(id, 0), await summaries.keep(id, draft(7, 9))]).toEqual([draft(0, 1), false]);
    const [row] = await scene.sql<{ body: Buffer }[]>`select body from summaries where session_id = ${id}`;
    expect(row?.body.includes(SECRET)).toBe(false);
    await histories.append(fence, batch(turnId, [summary(turnId, 3, 0, 2)], { anchor: { from: 0, to: 2 } }));
    expect([await summaries.find(id, 0), await summaries.keep(id, draft(0, 1))]).toEqual([undefined, false]);
  });

  test("[DF2] one moved to another session's row is not taken for a draft", async () => {
    const [one, two] = [await begun(), await begun()];
    await scene.store.summaries.keep(one.id, draft(0, 1));
    await scene.sql`
      insert into summaries (session_id, anchor, until_pos, body)
      select ${two.id}, anchor, until_pos, body from summaries where session_id = ${one.id}`;
    await expect(scene.store.summaries.find(two.id, 0)).rejects.toMatchObject({ code: "session_unavailable" });
  });
});

describe("long results", () => {
  test("C-12 stored whole once, sealed, readable by their own session only; the same call again replaces it", async () => {
    const { id, fence, turnId } = await begun();
    const { results } = scene.store;
    const text = `${SECRET} 😀 `.repeat(2_000);
    const call = callId("call-1");
    await results.keep(fence, { turnId, callId: call, text: "first" });
    await results.keep(fence, { turnId, callId: call, text });
    const other = await newSession(scene.store);
    expect([await results.read(id, call), await results.read(id, "call-2"), await results.read(other, call)]).toEqual([
      text,
      undefined,
      undefined,
    ]);
    const [row] = await scene.sql<{ body: Buffer }[]>`select body from results where session_id = ${id}`;
    expect(row?.body.includes(SECRET)).toBe(false);
  });

  test("[RE1] a stale owner keeps nothing", async () => {
    const { id, fence, turnId } = await begun();
    await scene.expire(id);
    await take(scene.store, id);
    const late = scene.store.results.keep(fence, { turnId: newTurn(), callId: callId("c"), text: "late" });
    await expect(late).rejects.toMatchObject({ code: "ownership_lost" });
    expect([await scene.store.results.read(id, "c"), turnId.length]).toEqual([undefined, 36]);
  });
});
