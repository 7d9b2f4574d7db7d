import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { callId } from "../machines/ids.ts";
import { OwnershipLost, SessionBroken, type SubagentKey, type SubagentOutcome } from "./store.ts";
import {
  admitted,
  newSession,
  newTurn,
  rivera,
  type StoreScene,
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
const MINUTE = 60_000;
const request = { question: `What of ${SECRET}?` };
const result = { reflection: SECRET, sources: [] };
const finished: SubagentOutcome = { state: "finished", result };
const inAMinute = () => scene.clock.at + MINUTE;

/** A running turn that has asked for research. */
async function asked() {
  const id = await newSession(scene.store);
  const { fence, turnId } = await admitted(scene.store, id);
  const key = { sessionId: id, turnId, callId: callId("call-1") };
  const deadline = inAMinute();
  const begin = () => scene.store.subagents.begin(fence, { ...key, kind: "research", request, deadline });
  return { id, fence, key, deadline, begin, begun: await begin() };
}

const waiting = (key: SubagentKey, deadline: number) => ({
  ...key,
  kind: "research",
  attempt: 0,
  deadline,
  request,
  state: "waiting",
});

describe("sub-agents", () => {
  test("[SA1] begun once: whoever begins it again gets what is there, with its first deadline", async () => {
    const { fence, key, deadline, begun, begin } = await asked();
    expect(begun).toEqual({ isNew: true, row: waiting(key, deadline) });
    expect(await begin()).toEqual({ isNew: false, row: waiting(key, deadline) });
    const other = { ...key, kind: "plan_builder" as const, request: "another", deadline: deadline + MINUTE };
    expect(await scene.store.subagents.begin(fence, other)).toEqual({ isNew: false, row: waiting(key, deadline) });
  });

  test("[SA1] only by the session's owner; a take-over finds what its predecessor began", async () => {
    const { id, key, deadline, fence, begin } = await asked();
    await scene.expire(id);
    const { fence: next } = await take(scene.store, id);
    await expect(begin()).rejects.toThrow(OwnershipLost);
    const input = { ...key, kind: "research" as const, request, deadline: deadline + MINUTE };
    expect(await scene.store.subagents.begin(next, input)).toEqual({ isNew: false, row: waiting(key, deadline) });
    const fresh = { ...input, callId: callId("call-2") };
    await expect(scene.store.subagents.begin(fence, fresh)).rejects.toThrow(OwnershipLost);
    expect(await scene.store.subagents.load({ ...key, callId: callId("call-2") })).toBeUndefined();
  });

  test("[SA2] a claim begins the next attempt, twice at most", async () => {
    const { key, deadline } = await asked();
    const claim = () => scene.store.subagents.claim(key);
    const running = { ...waiting(key, deadline), state: "running" };
    expect([await claim(), await claim(), await claim()]).toEqual([
      { kind: "claimed", row: { ...running, attempt: 1 } },
      { kind: "claimed", row: { ...running, attempt: 2 } },
      { kind: "refused", code: "attempts_exhausted" },
    ]);
    expect(await scene.store.subagents.standing(key)).toEqual({ state: "running", attempt: 2 });
  });

  test("D-15 [SA2] what has ended, whose time is over or what was never begun is not claimed", async () => {
    const { subagents } = scene.store;
    const [ended, late] = [await asked(), await asked()];
    await subagents.cancel(ended.key, "cancelled");
    const unknown = { ...ended.key, turnId: newTurn() };
    scene.clock.at += MINUTE;
    const claims = [await subagents.claim(ended.key), await subagents.claim(late.key), await subagents.claim(unknown)];
    expect(claims).toEqual(["ended", "late", "unknown"].map((code) => ({ kind: "refused", code })));
    expect([await subagents.standing(unknown), await subagents.load(unknown)]).toEqual([undefined, undefined]);
  });

  test("G-01 [SA3] only the latest attempt ends it; the same end again is still its own", async () => {
    const { subagents } = scene.store;
    const { key, deadline } = await asked();
    expect(await subagents.finish(key, 0, finished)).toBe(false);
    await subagents.claim(key);
    await subagents.claim(key);
    const other: SubagentOutcome = { state: "finished", result: "of the first attempt" };
    expect([await subagents.finish(key, 1, other), await subagents.finish(key, 2, finished)]).toEqual([false, true]);
    expect([await subagents.finish(key, 2, finished), await subagents.finish(key, 1, other)]).toEqual([true, false]);
    expect(await subagents.finish(key, 2, { state: "failed", code: "overloaded" })).toBe(false);
    expect(await subagents.load(key)).toEqual({ ...waiting(key, deadline), attempt: 2, state: "finished", result });
  });

  test("D-15 [SA3] a failure is an end with a readable code; what comes after the deadline is none", async () => {
    const { subagents } = scene.store;
    const [failing, late] = [await asked(), await asked()];
    await subagents.claim(failing.key);
    await subagents.claim(late.key);
    expect(await subagents.finish(failing.key, 1, { state: "failed", code: "no_sources" })).toBe(true);
    scene.clock.at += MINUTE;
    expect(await subagents.finish(late.key, 1, finished)).toBe(false);
    const code = "no_sources";
    const ends = [await subagents.load(failing.key), await subagents.standing(late.key)];
    expect(ends).toEqual([
      { ...waiting(failing.key, failing.deadline), attempt: 1, state: "failed", code },
      { state: "running", attempt: 1 },
    ]);
  });

  test("[SA4] a bundle is stored with the result that names it, or not at all", async () => {
    const { subagents, bundles } = scene.store;
    const { id, key } = await asked();
    const [first, second] = [randomUUID(), randomUUID()];
    const withBundle = (bundleId: string): SubagentOutcome => ({ ...finished, bundle: { bundleId, body: [SECRET] } });
    await subagents.claim(key);
    await subagents.claim(key);
    await subagents.finish(key, 1, withBundle(first));
    await subagents.finish(key, 2, withBundle(second));
    expect([await bundles.find(id, first), await bundles.find(id, second)]).toEqual([undefined, [SECRET]]);
    const foreign = await newSession(scene.store);
    expect([await bundles.find(foreign, second), await bundles.find(id, "no id")]).toEqual([undefined, undefined]);
    const plain = await asked();
    await subagents.claim(plain.key);
    expect(await subagents.finish(plain.key, 1, finished)).toBe(true);
    const rows = await scene.sql`select bundle_id from bundles where session_id = ${plain.id}`;
    expect([...rows]).toEqual([]);
  });

  test("D-15 [SA5] cancelled once, whether it waits or runs; nothing ends it after that", async () => {
    const { subagents } = scene.store;
    const [waits, runs, done] = [await asked(), await asked(), await asked()];
    await subagents.claim(runs.key);
    await subagents.claim(done.key);
    await subagents.finish(done.key, 1, finished);
    const cancelled = await Promise.all([waits, runs, done].map(({ key }) => subagents.cancel(key, "cancelled")));
    expect([cancelled, await subagents.cancel(runs.key, "late")]).toEqual([[true, true, false], false]);
    expect(await subagents.finish(runs.key, 1, finished)).toBe(false);
    expect(await subagents.load(runs.key)).toEqual({
      ...waiting(runs.key, runs.deadline),
      attempt: 1,
      state: "cancelled",
      code: "cancelled",
    });
  });

  test("G-01 [SA6] whoever races, each attempt is given once and one end is seen", async () => {
    const others = await Promise.all([scene.node(), scene.node(), scene.node()]);
    for (let n = 0; n < 10; n++) {
      const { key } = await asked();
      const claims = await Promise.all(others.map(({ subagents }) => subagents.claim(key)));
      const attempts = claims.flatMap((claim) => (claim.kind === "claimed" ? [claim.row.attempt] : []));
      expect(attempts.sort()).toEqual([1, 2]);
      const ends = await Promise.all([
        others[0]?.subagents.finish(key, 1, { state: "finished", result: 1 }),
        others[1]?.subagents.finish(key, 2, { state: "finished", result: 2 }),
        others[2]?.subagents.cancel(key, "cancelled"),
      ]);
      expect(ends.filter((isSeen) => isSeen)).toHaveLength(1);
      expect(ends[0]).toBe(false);
      expect((await scene.store.subagents.load(key))?.state).toBe(ends[2] ? "cancelled" : "finished");
    }
  });

  test("[SA7] nothing of it is readable at rest, it opens nowhere else, and it goes with its session", async () => {
    const { subagents, bundles } = scene.store;
    const [one, other] = [await asked(), await asked()];
    await subagents.claim(one.key);
    const bundleId = randomUUID();
    await subagents.finish(one.key, 1, { ...finished, bundle: { bundleId, body: SECRET } });
    for (const table of ["subagents", "bundles"]) {
      const rows =
        await scene.sql`select row_to_json(t)::text as row from ${scene.sql(table)} t where session_id = ${one.id}`;
      expect(rows).toHaveLength(1);
      const row = String(rows[0]?.["row"]);
      // `bytea` is shown in hex.
      for (const form of [SECRET, Buffer.from(SECRET).toString("hex")]) expect(row).not.toContain(form);
    }
    await scene.sql`
      update subagents set request = (select request from subagents where session_id = ${one.id})
      where session_id = ${other.id}`;
    await expect(subagents.load(other.key)).rejects.toThrow(SessionBroken);

    await scene.store.histories.settle(one.fence, settlement(one.key.turnId, 1));
    expect(await scene.store.sessions.erase(one.id, rivera)).toBe(true);
    expect([await subagents.load(one.key), await bundles.find(one.id, bundleId)]).toEqual([undefined, undefined]);
    const ends = [await subagents.finish(one.key, 1, finished), await subagents.cancel(one.key, "late")];
    expect([...ends, await subagents.claim(one.key)]).toEqual([false, false, { kind: "refused", code: "unknown" }]);
    const left = await scene.sql`
      select from subagents where session_id = ${one.id} union all select from bundles where session_id = ${one.id}`;
    expect(left).toHaveLength(0);
  });

  test("[CA2] each sub-agent of a turn has model calls of its own, beside those of the turn", async () => {
    const { id, key } = await asked();
    const row = {
      sessionId: id,
      turnId: key.turnId,
      step: 1,
      attempt: 1,
      profile: "cheap",
      issuer: "gemini-api",
      outcome: "ok",
      usage: { input: 1, output: 1, thinking: 0, cached: 0 },
      ms: 5,
      projector: 1,
    };
    const purpose = "subagent" as const;
    const calls = ["a", "b", "b"].map((call) => ({ ...row, purpose, callId: callId(call) }));
    await scene.store.calls.record([row, { ...row, purpose: "summary" }, ...calls]);
    const stored = await scene.sql`select purpose, call_id from model_calls where session_id = ${id} order by 1, 2`;
    expect([...stored].map(({ purpose: why, call_id }) => [why, call_id])).toEqual([
      ["subagent", "a"],
      ["subagent", "b"],
      ["summary", ""],
      ["turn", ""],
    ]);
  });

  test("[SM1] a summary is wanted while its anchor stands and there is no draft", async () => {
    const { summaries } = scene.store;
    const id = await newSession(scene.store);
    const wanted = async () => [await summaries.isWanted(id, 0), await summaries.isWanted(id, 4)];
    expect(await wanted()).toEqual([true, false]);
    const draft = { from: 0, to: 2, text: SECRET, digest: "d", passes: 1, profile: "cheap", clipped: [] };
    await summaries.keep(id, draft);
    expect([...(await wanted()), await summaries.isWanted(newTurn() as never, 0)]).toEqual([false, false, false]);
  });
});
