import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { projectBedrock } from "../../machines/conversation/project-bedrock.ts";
import { projectGemini } from "../../machines/conversation/project-gemini.ts";
import { realChance } from "../effects.ts";
import { calls, callsAll, decides, says, scriptedModel } from "../models/scripted.ts";
import {
  askingOn,
  choose,
  entriesOf,
  opened,
  PROPOSED,
  QUESTION,
  receiptOf,
  resolve,
  turnsOf,
} from "./testing/asking-scene.ts";
import { gate, holding } from "./testing/held.ts";
import { JumpingClock } from "./testing/jumping-clock.ts";
import { takeOver } from "./testing/looks.ts";
import { Client, database, node, rivera } from "./testing/scene.ts";
import { sweep } from "./upkeep.ts";

const MINUTE = 60_000;
const clock = new JumpingClock();
let db: Awaited<ReturnType<typeof database>>;
beforeAll(async () => {
  db = await database(undefined, clock.now);
});
afterAll(() => db.end());

describe("interactions", () => {
  test("[IT1] a question ends its turn, sleeps with the session, and its answer begins a turn of its own", async () => {
    const { id, client, conversations, directory } = await askingOn(db.store);
    await client.say("ask me");
    const pending = await opened(client);
    await directory.whenEmpty();
    const [listed] = await conversations.list(rivera);
    const page = await conversations.page(id, rivera);
    expect([listed?.status, listed?.pending_interaction, page.state]).toEqual([
      "awaiting",
      true,
      { status: "awaiting", pending_interaction: pending, queue: [] },
    ]);
    expect(pending).toEqual({
      ...QUESTION,
      id: pending.id,
      revision: 1,
      schema: { type: "array", items: { type: "string", enum: ["capsules", "powder"] }, minItems: 1, maxItems: 1 },
    });
    client.clear();
    const receipt = await resolve(client, pending, choose("powder"));
    await client.asleep();
    expect(receiptOf(receipt)).toEqual({ interaction_id: pending.id, result: "accepted", open: null });
    expect(client.of("interaction_resolved")).toEqual([
      { interaction_id: pending.id, resolution: choose("powder"), by: "user" },
    ]);
    expect(await turnsOf(db.store, id)).toEqual([
      { cause: "message", input: "ask me", outcome: "awaiting", blocks: ["interaction_request"] },
      {
        cause: "resolution",
        input: "Powder",
        outcome: "completed",
        blocks: [`[Interaction ${pending.id}, single_choice: "Capsules or powder?". The user chose: Powder (powder).]`],
      },
    ]);
    expect((await conversations.page(id, rivera)).state.pending_interaction).toBe(null);
  });

  test("[IT2] what is open survives the process, and another one takes the answer", async () => {
    const first = await askingOn(db.store);
    await first.client.say("ask me");
    const pending = await opened(first.client);
    await first.directory.whenEmpty();
    const next = node(db.store, first.options);
    const client = await Client.open(next.conversations, first.id);
    expect(client.of("resync").map(({ state }) => state.pending_interaction)).toEqual([pending]);
    await resolve(client, pending, choose("capsules"));
    await client.asleep();
    expect((await turnsOf(db.store, first.id)).map(({ outcome }) => outcome)).toEqual(["awaiting", "completed"]);
  });

  test("D-12 an answer to what is not open starts no turn and says what is open", async () => {
    const { id, client, conversations } = await askingOn(db.store);
    await client.say("ask one");
    const first = await opened(client);
    client.clear();
    await client.say("ask two");
    const second = await opened(client);
    const other = await askingOn(db.store);
    await other.client.say("ask three");
    const foreign = await opened(other.client);
    const open = { id: second.id, revision: 1 };
    const told = async (one: { id: string; revision: number }, option: string) =>
      receiptOf(await resolve(client, one, choose(option)));
    expect(await told(first, "powder")).toEqual({ interaction_id: first.id, result: "stale", open });
    const never = { id: realChance.uuid(), revision: 1 };
    expect(await told(never, "powder")).toEqual({ interaction_id: never.id, result: "not_found", open });
    expect(await told(foreign, "powder")).toEqual({ interaction_id: foreign.id, result: "not_found", open });
    expect(await told({ ...second, revision: 2 }, "powder")).toEqual({
      interaction_id: second.id,
      result: "stale",
      open,
    });
    expect(await told(second, "tea")).toEqual({
      interaction_id: second.id,
      result: "invalid",
      open,
      message: "that option was not offered",
    });
    expect((await turnsOf(db.store, id)).length).toBe(2);
    expect((await conversations.page(id, rivera)).state.pending_interaction).toEqual(second);
    expect(receiptOf(await resolve(client, second, choose("powder"))).result).toBe("accepted");
  });

  test("[IT3] the same answer again is a duplicate, under any id; the same id with another answer is a conflict", async () => {
    const { id, client } = await askingOn(db.store);
    await client.say("ask me");
    const pending = await opened(client);
    const command = realChance.uuid();
    const first = await resolve(client, pending, choose("powder"), command);
    const again = await resolve(client, pending, choose("powder"), command);
    const other = await resolve(client, pending, choose("powder"));
    const late = await resolve(client, pending, choose("capsules"));
    const conflict = await resolve(client, pending, choose("capsules"), command);
    const turn = first.kind === "interaction_receipt" ? first.data.turn_id : undefined;
    expect([again, other].map((one) => one.kind === "interaction_receipt" && one.data.turn_id)).toEqual([turn, turn]);
    expect([first, again, other, late, conflict].map(receiptOf)).toEqual([
      { interaction_id: pending.id, result: "accepted", open: null },
      { interaction_id: pending.id, result: "accepted", open: null, duplicate: true },
      { interaction_id: pending.id, result: "duplicate", open: null },
      { interaction_id: pending.id, result: "stale", open: null },
      { code: "conflict" },
    ]);
    await client.asleep();
    expect((await turnsOf(db.store, id)).length).toBe(2);
  });

  test("D-13 a message instead of an answer withdraws the card; accepting it later is stale and writes nothing", async () => {
    const { id, client, conversations } = await askingOn(db.store);
    await client.say("propose a plan");
    const pending = await opened(client);
    client.clear();
    await client.say("what is the shipping time?");
    await client.asleep();
    expect(client.of("interaction_resolved")).toEqual([
      { interaction_id: pending.id, resolution: null, by: "superseded" },
    ]);
    expect(receiptOf(await resolve(client, pending, { kind: "accepted" }))).toEqual({
      interaction_id: pending.id,
      result: "stale",
      open: null,
    });
    expect((await conversations.page(id, rivera)).state).toEqual({
      status: "hibernated",
      pending_interaction: null,
      queue: [],
    });
    const entries = await entriesOf(db.store, id);
    expect(entries.map((entry) => entry.kind)).toEqual([
      "user",
      "assistant",
      "tool_result",
      "interaction",
      "resolution",
      "user",
      "assistant",
    ]);
    const request = { system: "", tools: [], entries, maxOutputTokens: 100, thinking: false };
    const gemini = projectGemini(request, "gemini-api").contents.map(({ role }) => role);
    const bedrock = projectBedrock(request, "bedrock-claude").messages.map(({ role }) => role);
    expect([gemini, bedrock]).toEqual([
      ["user", "model", "user", "model", "user"],
      ["user", "assistant", "user", "assistant", "user"],
    ]);
    const told = entries.flatMap((entry) => (entry.kind === "resolution" ? [entry.by, entry.text] : []));
    expect(told).toEqual([
      "superseded",
      `[Interaction ${pending.id}, plan_proposal: "A plan for sleep". It was withdrawn without an answer: the user did not wait for it. Nothing was decided by it.]`,
    ]);
  });

  test("[IT13] a message to a session that sleeps with its question here is admitted by one statement", async () => {
    const { id, client, directory } = await askingOn(db.store);
    await client.say("ask me");
    await opened(client);
    await directory.whenEmpty();
    const before = db.statements.length;
    await client.say("never mind");
    const admitting = db.statements.slice(before).filter((text) => text.includes("insert into inbox"));
    await client.asleep();
    expect([admitting.length, (await turnsOf(db.store, id)).length]).toEqual([1, 2]);
  });

  test("[IT4] where a message waits already, what the turn asks is withdrawn at once and the message is answered", async () => {
    const held = gate();
    const model = scriptedModel(
      decides(({ entries }) => {
        const isFirst = !entries.some((entry) => entry.kind === "assistant");
        return isFirst ? calls("ask") : says("answered");
      }),
    );
    const tool = {
      name: "ask",
      run: async () => {
        await held.opened;
        return { kind: "pause" as const, asked: QUESTION };
      },
    };
    const one = node(db.store, { model, tools: [tool] });
    const id = await one.conversations.create(rivera);
    const client = await Client.open(one.conversations, id);
    await client.say("first");
    await client.until("tool_call_started");
    await client.say("second");
    held.open();
    await client.asleep();
    expect(client.of("interaction_resolved").map(({ by }) => by)).toEqual(["superseded"]);
    expect(client.of("state_changed").map(({ status }) => status)).toEqual([
      "turning",
      "resting",
      "turning",
      "resting",
      "hibernated",
    ]);
    expect((await turnsOf(db.store, id)).map(({ outcome }) => outcome)).toEqual(["awaiting", "completed"]);
    const kinds = (await entriesOf(db.store, id)).map((entry) => entry.kind);
    expect(kinds).toEqual(["user", "assistant", "tool_result", "interaction", "resolution", "user", "assistant"]);
  });

  test("[IT5] of two questions in one answer the first is put and the second gets an error result", async () => {
    const model = scriptedModel(callsAll([{ tool: "ask" }, { tool: "propose" }]), says("unused"));
    const tools = [QUESTION, PROPOSED].map((one, at) => ({
      name: at === 0 ? "ask" : "propose",
      run: async () => ({ kind: "pause" as const, asked: one }),
    }));
    const one = node(db.store, { model, tools });
    const id = await one.conversations.create(rivera);
    const client = await Client.open(one.conversations, id);
    await client.say("go");
    const pending = await opened(client);
    expect(pending.kind).toBe("single_choice");
    const results = (await entriesOf(db.store, id)).flatMap((entry) =>
      entry.kind === "tool_result" ? [[entry.name, entry.outcome]] : [],
    );
    expect(results.toSorted()).toEqual([
      ["ask", "ok"],
      ["propose", "error"],
    ]);
    expect(client.of("block_started").map(({ type }) => type)).toEqual(["interaction_request"]);
  });

  test("D-09 a question expires at its absolute time, once, whatever sleep comes between; a late answer is told so", async () => {
    const half = { ...QUESTION, expiresInMs: 30 * MINUTE };
    const rested = await askingOn(db.store, { clock, settings: { hibernateAfterMs: 60 * MINUTE } }, half);
    const slept = await askingOn(db.store, { clock }, half);
    const read = await askingOn(db.store, { clock }, half);
    for (const { client } of [rested, slept, read]) await client.say("ask me");
    const [awake, asleep, listed] = await Promise.all([rested, slept, read].map(({ client }) => opened(client)));
    await Promise.all([slept, read].map(({ directory }) => directory.whenEmpty()));
    clock.jump(20 * MINUTE);
    // (d) thawed and asleep again before its time.
    for (const _ of [1, 2, 3]) {
      await slept.directory.inOrder(slept.id, () => slept.directory.wake(slept.id));
      await slept.directory.whenEmpty();
    }
    expect((await slept.conversations.page(slept.id, rivera)).state.pending_interaction).toEqual(asleep);
    clock.jump(9 * MINUTE);
    expect((await slept.conversations.page(slept.id, rivera)).state.status).toBe("awaiting");
    rested.client.clear();
    clock.jump(2 * MINUTE);
    // (a) awake: it expires by itself.
    await rested.client.until("state_changed", ({ data }) => data.status === "resting");
    expect(rested.client.of("interaction_resolved")).toEqual([
      { interaction_id: awake?.id, resolution: null, by: "expired" },
    ]);
    // (c) never thawed: it reads as expired.
    const reading = { status: "hibernated", pending_interaction: null, queue: [] };
    expect((await read.conversations.page(read.id, rivera)).state).toEqual(reading);
    const row = (await read.conversations.list(rivera)).find(({ session_id }) => session_id === read.id);
    expect([row?.status, row?.pending_interaction]).toEqual(["hibernated", false]);
    // (b) thawed after its time: expired before the message is handled.
    slept.client.clear();
    const late = await resolve(slept.client, asleep as never, choose("powder"));
    expect(receiptOf(late)).toEqual({ interaction_id: asleep?.id, result: "expired", open: null });
    await slept.client.say("what now?");
    await slept.client.asleep();
    expect(slept.client.of("interaction_resolved")).toEqual([
      { interaction_id: asleep?.id, resolution: null, by: "expired" },
    ]);
    const told = (await entriesOf(db.store, slept.id)).flatMap((one) => (one.kind === "resolution" ? [one.by] : []));
    expect(told).toEqual(["expired"]);
    expect(listed?.expires_at).toBe(new Date(Date.parse(listed?.expires_at ?? "")).toISOString());
  });

  test("D-09 a sleeping question whose time is over is closed by the sweep, and its clients hear of it once", async () => {
    const { id, client, directory, world } = await askingOn(db.store, { clock }, { ...QUESTION, expiresInMs: MINUTE });
    await client.say("ask me");
    const pending = await opened(client);
    await directory.whenEmpty();
    client.clear();
    clock.jump(0.5 * MINUTE);
    // (a) thawed before its time: that neither closes it nor gives it more time.
    await directory.inOrder(id, () => directory.wake(id));
    await directory.whenEmpty();
    await sweep(directory, world, () => undefined);
    expect(client.signals).toEqual([]);
    clock.jump(0.6 * MINUTE);
    await sweep(directory, world, () => undefined);
    await client.asleep();
    await directory.whenEmpty();
    clock.jump(MINUTE);
    await sweep(directory, world, () => undefined);
    expect(client.signals.map(({ kind }) => kind)).toEqual(["interaction_resolved", "state_changed", "state_changed"]);
    expect(client.of("interaction_resolved")).toEqual([
      { interaction_id: pending.id, resolution: null, by: "expired" },
    ]);
    await client.say("and now?");
    await client.until("turn_completed");
    const told = (await entriesOf(db.store, id)).flatMap((one) => (one.kind === "resolution" ? [one.by] : []));
    expect(told).toEqual(["expired"]);
  });

  test("[IT6] a session that sleeps with a question wakes on another node after a death, and asks nothing twice", async () => {
    const { id, client, directory, options } = await askingOn(db.store);
    await client.say("ask me");
    const pending = await opened(client);
    await directory.whenEmpty();
    const next = node(db.store, options);
    await takeOver(next);
    const other = await Client.open(next.conversations, id);
    expect(other.of("resync").map(({ state }) => state.pending_interaction)).toEqual([pending]);
    expect(await turnsOf(db.store, id)).toEqual([
      { cause: "message", input: "ask me", outcome: "awaiting", blocks: ["interaction_request"] },
    ]);
  });

  test("D-06 a message admitted while the question is being stored is answered, and the question is closed", async () => {
    for (const when of ["before", "after"] as const) {
      const held = holding(db.store, "histories.settle", when);
      const { id, client } = await askingOn(held.store);
      held.arm();
      await client.say("ask me");
      await held.arrived;
      await client.say("never mind");
      held.go();
      await client.asleep();
      expect([when, (await turnsOf(db.store, id)).map(({ input, outcome }) => [input, outcome])]).toEqual([
        when,
        [
          ["ask me", "awaiting"],
          ["never mind", "completed"],
        ],
      ]);
      expect(client.of("interaction_resolved").map(({ by }) => by)).toEqual(["superseded"]);
      const kinds = (await entriesOf(db.store, id)).map((entry) => entry.kind);
      expect(kinds.filter((kind) => kind === "resolution").length).toBe(1);
      expect(client.of("state_changed").at(-1)).toEqual({ status: "hibernated", pending_interaction: null });
    }
  });
});
