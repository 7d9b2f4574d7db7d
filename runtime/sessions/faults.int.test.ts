import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { SessionId } from "../../machines/ids.ts";
import { realClock } from "../effects.ts";
import { calls, hangs, after as heldBack, type Move, scriptedModel } from "../models/scripted.ts";
import { gate, holding, losing, replacing } from "./testing/held.ts";
import { codeOf, echo, kill, sessionOn, takeOver, turnsOf } from "./testing/looks.ts";
import { Client, database, node, rivera } from "./testing/scene.ts";
import { sweep } from "./upkeep.ts";

let db: Awaited<ReturnType<typeof database>>;
beforeAll(async () => {
  db = await database();
});
afterAll(() => db.end());

const rowsOf = async (id: SessionId) => {
  const rows = await db.sql`select state from inbox where session_id = ${id} and turn_id is not null order by ordinal`;
  return rows.map((row) => row["state"]);
};

describe("faults of one session", () => {
  test("D-11 [SE34] a command that is refused because the session can't be read is not kept", async () => {
    const { client, id, directory } = await sessionOn(db.store);
    await client.say("hello");
    await client.asleep();
    await directory.whenEmpty();
    await db.sql`update entries set body = set_byte(body, 40, get_byte(body, 40) # 1) where session_id = ${id}`;
    const next = node(db.store, { model: scriptedModel(echo) });
    const receipt = await (await Client.open(next.conversations, id)).say("continue");
    expect([codeOf(receipt), await rowsOf(id)]).toEqual(["session_unavailable", ["settled", "withdrawn"]]);
  });

  test("D-11 [SE35] waiting work of a session that can't be read is tried less and less often, and kept", async () => {
    const one = await sessionOn(db.store, { model: scriptedModel(hangs("half")) });
    const { client, id } = one;
    await client.say("one");
    await client.until("llm_delta");
    await one.directory.resident(id)?.flush();
    kill(one);
    await db.sql`update entries set body = set_byte(body, 40, get_byte(body, 40) # 1) where session_id = ${id}`;
    let now = 0;
    let taken = 0;
    const counted = replacing(db.store, "sessions.take", (real) => (...input) => {
      if (input[0] === id) taken += 1;
      return real(...input);
    });
    const next = node(counted, { model: scriptedModel(echo), clock: { ...realClock, monotonic: () => now } });
    await takeOver(next);
    for (; now < 3_600_000; now += 3_000) await sweep(next.directory, next.world, () => undefined);
    // 3, 6, 12 … seconds, at most ten minutes.
    expect(taken).toBe(13);
    expect(await rowsOf(id)).toEqual(["running"]);
  });

  test("[SE36] a chart that throws is replaced at once, and what it began is stopped", async () => {
    let busy = 0;
    const slow: Move = async function* (request, signal, turn) {
      busy += 1;
      try {
        yield* hangs("half")(request, signal, turn);
      } finally {
        busy -= 1;
      }
    };
    const { client, id, directory, faults } = await sessionOn(db.store, { model: scriptedModel(slow, echo) });
    await client.say("one");
    await client.until("llm_delta");
    directory.resident(id)?.actor.send({
      type: "message.admitted",
      get turnId(): never {
        throw new Error("a bug");
      },
    });
    await client.asleep();
    expect([busy, await turnsOf(db.store, id), faults.length]).toEqual([0, [[1, "one", "completed", "echo one"]], 1]);
    expect(client.of("resync").length).toBe(2);
  });

  test("[SE40] after a take-over the turn that was begun goes first, also before an older one nobody knew of", async () => {
    const lossy = losing(db.store, "inbox.admit");
    const first = gate();
    const model = scriptedModel(heldBack(first.opened, echo), hangs("half"));
    const one = await sessionOn(lossy.store, { model });
    const { client, id } = one;
    await client.say("one");
    lossy.arm();
    await client.say("two");
    await client.say("three");
    first.open();
    await client.until("llm_delta", ({ data }) => data.text === "half");
    await one.directory.resident(id)?.flush();
    kill(one);
    const next = node(db.store, { model: scriptedModel(echo) });
    await takeOver(next);
    await sweep(next.directory, next.world, () => undefined);
    await next.directory.whenEmpty();
    expect(await turnsOf(db.store, id)).toEqual([
      [1, "one", "completed", "echo one"],
      [2, "three", "completed", "echo three"],
      [3, "two", "completed", "echo two"],
    ]);
  });

  test("[SE41] a client that never heard the last number, because the answer to sleep was lost, comes back to all", async () => {
    const lossy = losing(db.store, "sessions.sleep");
    const { client, conversations, directory, id } = await sessionOn(lossy.store);
    lossy.arm();
    await client.say("one");
    await client.until("turn_completed");
    await vi.waitFor(() => expect(directory.resident(id)?.actor.getSnapshot().context.restless).toBe(1));
    directory.resident(id)?.actor.send({
      type: "message.admitted",
      get turnId(): never {
        throw new Error("a bug");
      },
    });
    await vi.waitFor(() => expect(client.closed?.code).toBe(1012));
    const heard = client.signals.flatMap((signal) => ("seq" in signal ? [signal.seq] : [])).at(-1);
    const again = await Client.open(conversations, id, heard);
    expect([heard, again.signals.map(({ kind }) => kind).slice(0, 2)]).toEqual([10, ["session_opened", "resync"]]);
  });

  test("[SE37] clients of a turn that can't be stored come back to what is, and the turn is taken up again", async () => {
    let fails = 1;
    const refusing = replacing(db.store, "histories.settle", (real) => (...input) => {
      fails -= 1;
      return fails >= 0 ? Promise.reject(new Error("a value that no table takes")) : real(...input);
    });
    const { client, id, directory, world } = await sessionOn(refusing);
    await client.say("one");
    await vi.waitFor(() => expect(client.closed?.code).toBe(1012));
    await directory.whenEmpty();
    const later = { ...world.clock, monotonic: () => world.clock.monotonic() + 3_000 };
    expect(directory.setbacks.mayTry(id)).toBe(false);
    const next = node(db.store, { model: scriptedModel(echo), clock: later });
    await sweep(next.directory, next.world, () => undefined);
    await next.directory.whenEmpty();
    expect(await turnsOf(db.store, id)).toEqual([[1, "one", "completed", "echo one"]]);
  });

  test("[SE38] a session that is read while the node drains is left to the next owner", async () => {
    const before = await sessionOn(db.store);
    await before.client.say("one");
    await before.client.asleep();
    const { id } = before;
    const held = holding(db.store, "histories.load", "after");
    const model = scriptedModel(echo);
    const { conversations, directory } = node(held.store, { model });
    const client = await Client.open(conversations, id);
    held.arm();
    const asked = client.say("two");
    await held.arrived;
    directory.beginDrain();
    held.go();
    const receipt = await asked;
    await directory.whenEmpty();
    const rows = await db.sql`select node, unsettled from sessions where id = ${id}`;
    expect([receipt.kind, [...rows], model.requests]).toEqual(["message_accepted", [{ node: null, unsettled: 1 }], []]);
  });

  test("[SE39] erasing a session whose turn runs ends its clients with the word that it is gone", async () => {
    const { client, id, conversations, directory, faults } = await sessionOn(db.store, {
      model: scriptedModel(calls("x"), hangs("half")),
    });
    await client.say("one");
    await client.until("llm_delta");
    await conversations.erase(id, rivera);
    await directory.whenEmpty();
    expect([client.closed?.code, directory.isEmpty, faults]).toEqual([1000, true, []]);
  });
});
