import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { interactionId } from "../../machines/ids.ts";
import type { Resolution } from "../../machines/protocol/commands.ts";
import { realChance } from "../effects.ts";
import { askingOn, choose, entriesOf, opened, platform, QUESTION, receiptOf, resolve } from "./testing/asking-scene.ts";
import { gate, holding, losing } from "./testing/held.ts";
import { JumpingClock } from "./testing/jumping-clock.ts";
import { cancelledOf, kill, takeOver } from "./testing/looks.ts";
import { Client, database, node, rivera, type ToolScript } from "./testing/scene.ts";
import { sweep } from "./upkeep.ts";

const MINUTE = 60_000;
const AWAKE = { hibernateAfterMs: 60 * MINUTE };
const clock = new JumpingClock();
let db: Awaited<ReturnType<typeof database>>;
beforeAll(async () => {
  db = await database(undefined, clock.now);
});
afterAll(() => db.end());

const accept: Resolution = { kind: "accepted" };
const half = { ...QUESTION, expiresInMs: 30 * MINUTE };
/** The chart is there, so what it waits for is armed. */
const until = ({ directory, id }: Awaited<ReturnType<typeof askingOn>>, state: string) =>
  vi.waitFor(() => expect(directory.resident(id)?.actor.getSnapshot().value).toBe(state));
const endsOf = (client: Client) => client.of("interaction_resolved").map(({ by }) => by);
const statesOf = (client: Client) => client.of("state_changed").map(({ status }) => status);
const resolutionsIn = async (id: Parameters<typeof entriesOf>[1]) =>
  (await entriesOf(db.store, id)).flatMap((one) => (one.kind === "resolution" ? [one.by] : []));
const toldIn = async (id: Parameters<typeof entriesOf>[1]) =>
  (await entriesOf(db.store, id)).flatMap((one) => (one.kind === "action" ? [one.text] : []));

describe("questions against what happens meanwhile", () => {
  test("D-09 [IT7] an expiry whose answer was lost is told all the same, once", async () => {
    const lossy = losing(db.store, "interactions.expire");
    const one = await askingOn(lossy.store, { clock, settings: AWAKE }, half);
    const { client, directory, conversations, id } = one;
    await client.say("ask me");
    await until(one, "awaiting");
    client.clear();
    lossy.arm();
    clock.jump(31 * MINUTE);
    await until(one, "resting");
    clock.jump(61 * MINUTE);
    await client.asleep();
    await directory.whenEmpty();
    expect([endsOf(client), statesOf(client)]).toEqual([["expired"], ["resting", "hibernated"]]);
    expect(client.closed).toBe(undefined);
    const late = await Client.open(conversations, id);
    expect(late.of("resync")[0]?.seq).toBe(client.signals.flatMap((one) => ("seq" in one ? [one.seq] : [])).at(-1));
  });

  test("D-09 [IT8] an expiry that is being stored as the session falls asleep is told once, before it sleeps", async () => {
    const held = holding(db.store, "interactions.expire", "after");
    const settings = { hibernateAfterMs: 31 * MINUTE };
    const one = await askingOn(held.store, { clock, settings }, half);
    const { client, directory } = one;
    await client.say("ask me");
    await until(one, "awaiting");
    client.clear();
    held.arm();
    clock.jump(30.5 * MINUTE);
    await held.arrived;
    clock.jump(2 * MINUTE);
    await client.asleep();
    held.go();
    await directory.whenEmpty();
    expect([endsOf(client), statesOf(client)]).toEqual([["expired"], ["resting", "hibernated"]]);
  });

  test("D-03 [IT9] an answer whose admission was stored but not answered runs as soon as it is sent again", async () => {
    const lossy = losing(db.store, "inbox.admit");
    const { client, id } = await askingOn(lossy.store, { settings: AWAKE });
    await client.say("ask me");
    const pending = await opened(client);
    client.clear();
    lossy.arm();
    const command = realChance.uuid();
    const first = await resolve(client, pending, choose("powder"), command);
    const second = await resolve(client, pending, choose("powder"), command);
    const { turn_id } = (await client.until("turn_completed")).data;
    const told = second.kind === "interaction_receipt" ? second.data.turn_id : undefined;
    expect([receiptOf(first), receiptOf(second).result, told, endsOf(client)]).toEqual([
      { code: "unavailable" },
      "accepted",
      turn_id,
      ["user"],
    ]);
    expect(await resolutionsIn(id)).toEqual(["user"]);
  });

  test("[IT14] a message overtakes an answer whose admission was not answered: the question ends once, and both have their turn", async () => {
    const lossy = losing(db.store, "inbox.admit");
    const { client, id } = await askingOn(lossy.store, { settings: AWAKE });
    await client.say("ask me");
    const pending = await opened(client);
    lossy.arm();
    const command = realChance.uuid();
    expect(receiptOf(await resolve(client, pending, choose("powder"), command))).toEqual({ code: "unavailable" });
    client.clear();
    await client.say("so?");
    await client.until("turn_completed");
    client.clear();
    const again = await resolve(client, pending, choose("powder"), command);
    await client.until("turn_completed");
    expect(receiptOf(again)).toMatchObject({ result: "accepted", duplicate: true });
    expect(await resolutionsIn(id)).toEqual(["user"]);
  });

  test("[IT10] answered between the statement that asks and its answer, a question is told to be answered, not withdrawn", async () => {
    const held = holding(db.store, "histories.settle", "after");
    const { client, id } = await askingOn(held.store);
    held.arm();
    await client.say("ask me");
    await held.arrived;
    const [card] = client.of("interaction_request");
    const pending = { id: card?.interaction_id ?? "", revision: card?.revision ?? 0 };
    const receipt = await resolve(client, pending, choose("powder"));
    held.go();
    await client.asleep();
    expect([receiptOf(receipt).result, endsOf(client), await resolutionsIn(id)]).toEqual([
      "accepted",
      ["user"],
      ["user"],
    ]);
  });

  test("[IT11] a client that attaches after an owner died sees that the session waits, also while it is awake", async () => {
    const first = await askingOn(db.store, { settings: AWAKE });
    await first.client.say("ask me");
    const pending = await opened(first.client);
    kill(first);
    const next = node(db.store, first.options);
    await takeOver(next);
    // Without its snapshot it is rebuilt, and so stays awake.
    await db.sql`update sessions set snapshot = null where id = ${first.id}`;
    await next.directory.inOrder(first.id, () => next.directory.wake(first.id));
    const late = await Client.open(next.conversations, first.id);
    const awaiting = { status: "awaiting", pending_interaction: pending, queue: [] };
    expect(late.of("resync").map(({ state }) => state)).toEqual([awaiting]);
    expect((await next.conversations.page(first.id, rivera)).state).toEqual(awaiting);
  });
});

describe("an answer to a session that can't be read", () => {
  test("D-11 [IT12] it has closed the question, so it is kept, and its turn runs once the session can be read", async () => {
    const first = await askingOn(db.store);
    const { id } = first;
    await first.client.say("ask me");
    const pending = await opened(first.client);
    await first.directory.whenEmpty();
    const flip = () =>
      db.sql`update entries set body = set_byte(body, 40, get_byte(body, 40) # 1) where session_id = ${id}`;
    await flip();
    const next = node(db.store, first.options);
    const client = await Client.open(next.conversations, id);
    const command = realChance.uuid();
    const refused = receiptOf(await resolve(client, pending, choose("powder"), command));
    await flip();
    const again = receiptOf(await resolve(client, pending, choose("powder"), command));
    await sweep(next.directory, next.world, () => undefined);
    await next.directory.whenEmpty();
    expect([refused, again]).toEqual([
      { code: "session_unavailable" },
      { interaction_id: pending.id, result: "accepted", open: null, duplicate: true },
    ]);
    expect(await resolutionsIn(id)).toEqual(["user"]);
    expect((await db.store.turns.page(id, 10)).map(({ outcome }) => outcome)).toEqual(["awaiting", "completed"]);
  });
});

describe("accepted proposals against what happens meanwhile", () => {
  async function proposedOn(store: typeof db.store, options: Parameters<typeof askingOn>[1] = {}) {
    const plans = platform();
    const one = await askingOn(store, { ...options, tools: plans.tools });
    await one.client.say("propose a plan");
    const pending = await opened(one.client);
    one.client.clear();
    return { ...one, pending, writes: plans.writes };
  }

  test("D-04 [AP6] a Stop that comes before the plan is sent keeps it from being sent, and the model is told", async () => {
    const held = holding(db.store, "histories.append", "before");
    const { client, id, pending, writes, directory } = await proposedOn(held.store);
    await directory.whenEmpty();
    held.arm();
    await resolve(client, pending, accept);
    await held.arrived;
    const stopping = client.stop();
    held.go();
    const turn = client.of("turn_started")[0]?.turn_id ?? "";
    expect(cancelledOf(await stopping)).toEqual([turn]);
    await client.asleep();
    expect([
      writes,
      await toldIn(id),
      (await db.store.interactions.find(id, interactionId(pending.id)))?.status,
    ]).toEqual([
      [],
      ["[The system could not store the plan: the turn ended before. Nothing was saved. You may propose it again.]"],
      "accepted",
    ]);
  });

  test("[AP9] after its owner died an answer's turn goes on with the login of whoever answered", async () => {
    const logins: string[] = [];
    const dying = gate();
    const writing = (stops: boolean): ToolScript => ({
      name: "plan_create",
      readOnly: false,
      run: async (_args, _key, _signal, { credential }) => {
        logins.push(credential.cookie);
        if (!stops) return { kind: "error", reason: "tool", text: "archived" };
        dying.open();
        return await new Promise<never>(() => {});
      },
    });
    const first = await askingOn(db.store, { tools: [writing(true)] });
    await first.client.say("propose a plan");
    const pending = await opened(first.client);
    const again = { ...rivera, credential: { cookie: "platform_session=renewed" } };
    const later = await Client.open(first.conversations, first.id, undefined, again);
    void resolve(later, pending, accept);
    await dying.opened;
    kill(first);
    const next = node(db.store, { ...first.options, tools: [...first.options.tools.slice(0, 2), writing(false)] });
    await takeOver(next);
    await sweep(next.directory, next.world, () => undefined);
    await next.directory.whenEmpty();
    expect(logins).toEqual([again.credential.cookie, again.credential.cookie]);
  });

  test("[AP7] a turn that can't begin says what came of the proposal it accepts", async () => {
    let isDown = false;
    const opening = async () => {
      if (isDown) throw new TypeError("the platform is down");
    };
    const { client, id, pending, writes } = await proposedOn(db.store, { opening });
    isDown = true;
    await resolve(client, pending, accept);
    await client.until("turn_failed");
    await client.asleep();
    expect([writes, await toldIn(id)]).toEqual([
      [],
      ["[The system could not store the plan: the turn ended before. Nothing was saved. You may propose it again.]"],
    ]);
  });

  test("[AP8] an acceptance that was withdrawn before its turn ran: the next turn tells that nothing was stored", async () => {
    const lossy = losing(db.store, "inbox.admit");
    const { client, id, pending, writes } = await proposedOn(lossy.store, { settings: AWAKE });
    lossy.arm();
    expect(receiptOf(await resolve(client, pending, accept))).toEqual({ code: "unavailable" });
    const rows = await db.sql<{ turn: string }[]>`
      select turn_id as turn from inbox where session_id = ${id} and state = 'waiting'`;
    const turn = rows[0]?.turn ?? "";
    expect(cancelledOf(await client.stop(turn))).toEqual([turn]);
    await client.say("so?");
    await client.until("turn_completed");
    expect([writes, await resolutionsIn(id), await toldIn(id)]).toEqual([
      [],
      ["user"],
      [
        "[The system could not store the plan: the turn that was to store it was cancelled. Nothing was saved. You may propose it again.]",
      ],
    ]);
  });

  test("[AP10] a message overtakes an acceptance whose admission was not answered: the plan is stored once, and nobody is told otherwise", async () => {
    const lossy = losing(db.store, "inbox.admit");
    const { client, id, pending, writes } = await proposedOn(lossy.store, { settings: AWAKE });
    lossy.arm();
    const command = realChance.uuid();
    expect(receiptOf(await resolve(client, pending, accept, command))).toEqual({ code: "unavailable" });
    client.clear();
    await client.say("so?");
    await client.until("turn_completed");
    client.clear();
    await resolve(client, pending, accept, command);
    await client.until("turn_completed");
    const told = await toldIn(id);
    expect([writes.length, await resolutionsIn(id), told.length]).toEqual([1, ["user"], 1]);
    expect(told[0]).not.toContain("could not");
  });
});
