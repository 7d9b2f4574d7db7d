import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { hangs, after as heldBack, type Move, says, scriptedModel } from "../models/scripted.ts";
import { gate, holding, losing, replacing } from "./testing/held.ts";
import { cancelledOf, codeOf, echo, kill, sessionOn, takeOver, turnOf, turnsOf } from "./testing/looks.ts";
import { Client, database, node } from "./testing/scene.ts";
import { sweep } from "./upkeep.ts";

let db: Awaited<ReturnType<typeof database>>;
beforeAll(async () => {
  db = await database();
});
afterAll(() => db.end());

const seqsOf = (client: Client) => client.signals.flatMap((signal) => ("seq" in signal ? [signal.seq] : []));
const aMoment = () => new Promise((resolve) => setImmediate(resolve));

describe("cancel against what happens meanwhile", () => {
  test("D-04 [SE21] a turn that is still being opened ends as cancelled, with its number and its user entry", async () => {
    const opening = gate();
    const { client, id, directory } = await sessionOn(db.store, { opening: () => opening.opened });
    const said = await client.say("one");
    const receipt = await client.stop();
    opening.open();
    await client.asleep();
    await directory.whenEmpty();
    client.clear();
    await client.say("two");
    await client.asleep();
    const entries = await db.store.histories.load(id, 0);
    expect([cancelledOf(receipt), await turnsOf(db.store, id), entries.map(({ entry }) => entry.kind)]).toEqual([
      [turnOf(said)],
      [
        [1, "one", "cancelled"],
        [2, "two", "completed", "echo two"],
      ],
      ["user", "user", "assistant"],
    ]);
  });

  test("D-04 [SE22] a turn cancelled while it was being opened settles as cancelled after its owner died", async () => {
    const opening = gate();
    const first = await sessionOn(db.store, { opening: () => opening.opened });
    const said = await first.client.say("one");
    const receipt = await first.client.stop();
    kill(first);
    const model = scriptedModel(echo);
    const next = node(db.store, { model });
    await takeOver(next);
    await sweep(next.directory, next.world, () => undefined);
    await next.directory.whenEmpty();
    expect([cancelledOf(receipt), await turnsOf(db.store, first.id), model.requests.length]).toEqual([
      [turnOf(said)],
      [[1, "one", "cancelled"]],
      0,
    ]);
  });

  test("D-05 [SE23] a waiting turn does not start while it is being withdrawn", async () => {
    const held = holding(db.store, "inbox.cancel", "before");
    const answer = gate();
    const model = scriptedModel(heldBack(answer.opened, echo));
    const { client, id, directory } = await sessionOn(held.store, { model });
    await client.say("one");
    const two = await client.say("two");
    held.arm();
    const asked = client.stop(turnOf(two));
    await held.arrived;
    answer.open();
    await client.until("turn_completed");
    await aMoment();
    held.go();
    const receipt = await asked;
    await client.asleep();
    await directory.whenEmpty();
    expect([
      cancelledOf(receipt),
      await turnsOf(db.store, id),
      model.requests.length,
      client.of("turn_started").length,
    ]).toEqual([[turnOf(two)], [[1, "one", "completed", "echo one"]], 1, 1]);
  });

  test("D-05 [SE24] what a refused cancel took out of the queue waits again at its place", async () => {
    const answer = gate();
    const { client, id } = await sessionOn(db.store, { model: scriptedModel(heldBack(answer.opened, echo)) });
    await client.say("one");
    const two = await client.say("two");
    await client.say("three");
    const command = { type: "cancel" as const, id: "00000000-0000-4000-8000-00000000d005" };
    await client.deliver({ ...command, turn_id: "00000000-0000-4000-8000-0000000000aa" });
    const receipt = await client.deliver({ ...command, turn_id: turnOf(two) });
    answer.open();
    await client.asleep();
    expect([codeOf(receipt), (await turnsOf(db.store, id)).map(([, text]) => text)]).toEqual([
      "conflict",
      ["one", "two", "three"],
    ]);
  });

  test("[SE25] once the outcome is being written a cancel says that nothing was cancelled", async () => {
    const append = holding(db.store, "histories.append", "before");
    const settle = holding(append.store, "histories.settle", "before");
    const { client, directory, id } = await sessionOn(settle.store, {
      model: scriptedModel(heldBack(append.arrived, echo)),
    });
    append.arm();
    settle.arm();
    await client.say("one");
    await append.arrived;
    const asked = client.stop();
    await vi.waitFor(() => {
      const turn = directory.resident(id)?.actor.getSnapshot().children["turn"]?.getSnapshot();
      expect(turn && "value" in turn && turn.value).toBe("settling");
    });
    append.go();
    const receipt = await asked;
    settle.go();
    await client.asleep();
    expect([cancelledOf(receipt), await turnsOf(db.store, id)]).toEqual([[], [[1, "one", "completed", "echo one"]]]);
  });

  test("[SE26] a cancel whose answer was lost is asked for again, and the turn ends as its receipt says", async () => {
    const lossy = losing(db.store, "inbox.cancel");
    const { client, id } = await sessionOn(lossy.store, { model: scriptedModel(hangs("half")) });
    const said = await client.say("one");
    await client.until("llm_delta");
    lossy.arm();
    const receipt = await client.stop();
    await client.asleep();
    expect([cancelledOf(receipt), await turnsOf(db.store, id)]).toEqual([
      [turnOf(said)],
      [[1, "one", "cancelled", "half"]],
    ]);
  });

  test("[SE27] an answer whose stream closes after the cancel is not written twice", async () => {
    const closing = gate();
    const closed = gate();
    const answer = gate();
    const slow: Move = async function* (request, signal, turn) {
      try {
        yield* says("whole answer")(request, signal, turn);
      } finally {
        closing.open();
        await closed.opened;
      }
    };
    const model = scriptedModel(slow, heldBack(answer.opened, echo));
    const { client, id } = await sessionOn(db.store, { model });
    await client.say("one");
    await closing.opened;
    await client.say("two");
    await client.stop();
    await client.until("turn_started", ({ data }) => data.n === 2);
    closed.open();
    await aMoment();
    answer.open();
    await client.asleep();
    const entries = await db.store.histories.load(id, 0);
    expect(entries.map(({ entry }) => entry.kind)).toEqual(["user", "assistant", "user", "assistant"]);
    expect(await turnsOf(db.store, id)).toEqual([
      [1, "one", "cancelled", "whole answer"],
      [2, "two", "completed", "echo two"],
    ]);
  });
});

describe("answers of the database that come late or never", () => {
  test("[SE28] a message whose admission was stored but not answered is run all the same, once", async () => {
    const lossy = losing(db.store, "inbox.admit");
    const answer = gate();
    const { client, id } = await sessionOn(lossy.store, { model: scriptedModel(heldBack(answer.opened, echo)) });
    await client.say("one");
    lossy.arm();
    const receipt = await client.say("two", "00000000-0000-4000-8000-00000000a001");
    answer.open();
    await client.asleep();
    expect([codeOf(receipt), await turnsOf(db.store, id)]).toEqual([
      "unavailable",
      [
        [1, "one", "completed", "echo one"],
        [2, "two", "completed", "echo two"],
      ],
    ]);
  });

  test("D-03 [SE29] the same message sent again after a lost answer joins the queue of the turn that runs", async () => {
    const lossy = losing(db.store, "inbox.admit");
    const answer = gate();
    const { client, id, directory } = await sessionOn(lossy.store, {
      model: scriptedModel(heldBack(answer.opened, echo)),
    });
    await client.say("one");
    lossy.arm();
    await client.say("two", "00000000-0000-4000-8000-00000000a001");
    const again = await client.say("two", "00000000-0000-4000-8000-00000000a001");
    const waiting = directory.resident(id)?.queue.map(({ text }) => text);
    answer.open();
    await client.asleep();
    expect([
      again.kind === "message_accepted" && again.data.duplicate,
      waiting,
      (await turnsOf(db.store, id)).length,
    ]).toEqual([true, ["two"], 2]);
  });

  test("[SE30] a client that attaches while the session falls asleep goes on with the next number", async () => {
    const held = holding(db.store, "sessions.find", "after");
    const settings = { hibernateAfterMs: 50 };
    const { client, conversations, directory, id } = await sessionOn(held.store, { settings });
    await client.say("one");
    await client.until("turn_completed");
    held.arm();
    const joining = Client.open(conversations, id);
    await held.arrived;
    await directory.whenEmpty();
    held.go();
    const other = await joining;
    await other.say("two");
    await other.asleep();
    expect([other.of("resync").map(({ seq, state }) => [seq, state.status]), seqsOf(other)[0]]).toEqual([
      [[11, "hibernated"]],
      12,
    ]);
  });

  test("[SE31] a client that attaches between the settle statement and its answer sees the turn once", async () => {
    const held = holding(db.store, "histories.settle", "after");
    const { client, id, conversations } = await sessionOn(held.store);
    held.arm();
    await client.say("one");
    await held.arrived;
    const other = await Client.open(conversations, id);
    held.go();
    await other.asleep();
    expect([other.of("resync").map(({ turns }) => turns.length), other.of("turn_completed").length]).toEqual([[1], 1]);
  });

  test("[SE32] a client that leaves while an unclean take-over reads its turns hears the new owner when it is back", async () => {
    const first = await sessionOn(db.store, { model: scriptedModel(hangs("half")) });
    await first.client.say("one");
    await first.client.until("llm_delta");
    await first.directory.resident(first.id)?.flush();
    kill(first);
    const held = holding(db.store, "turns.page", "after");
    const answer = gate();
    const next = node(held.store, { model: scriptedModel(heldBack(answer.opened, echo)) });
    await takeOver(next);
    const before = await Client.open(next.conversations, first.id);
    held.arm();
    const swept = sweep(next.directory, next.world, () => undefined);
    await held.arrived;
    before.leave();
    held.go();
    await swept;
    const seq = before.of("resync")[0]?.seq;
    const back = await Client.open(next.conversations, first.id, seq);
    answer.open();
    await back.asleep();
    // Its cursor is from before the take-over: what it held of that turn is void.
    expect([back.of("resync").map(({ turns }) => turns.length), back.of("turn_completed").length]).toEqual([[1], 1]);
    expect(await turnsOf(db.store, first.id)).toEqual([[1, "one", "completed", "echo one"]]);
  });

  test("[SE33] a socket whose login can't be stored is not let in, and nothing of it stays", async () => {
    const fault = replacing(db.store, "grants.refresh", () => () => Promise.reject(new Error("no")));
    const { client, id, conversations, directory } = await sessionOn(fault, { model: scriptedModel(hangs("half")) });
    await client.say("one");
    await client.until("llm_delta");
    const audience = directory.audience(id);
    await expect(Client.open(conversations, id)).rejects.toMatchObject({ code: "unavailable" });
    expect(audience.size).toBe(1);
  });
});
