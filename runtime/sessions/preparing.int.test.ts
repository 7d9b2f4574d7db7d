import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Clock } from "../../machines/effects.ts";
import { realChance, realClock } from "../effects.ts";
import { after, hangs, scriptedModel } from "../models/scripted.ts";
import { HeldLoop } from "../testing/held-loop.ts";
import type { Resident } from "./resident.ts";
import { platform } from "./testing/asking-scene.ts";
import { gate, replacing } from "./testing/held.ts";
import { echo, sessionOn, turnsOf } from "./testing/looks.ts";
import { press, recommend, recommender } from "./testing/pressing-scene.ts";
import { Client, database, node, rivera, type SceneOptions } from "./testing/scene.ts";
import type { World } from "./world.ts";

let db: Awaited<ReturnType<typeof database>>;
beforeAll(async () => {
  db = await database();
});
afterAll(() => db.end());

/** A node whose admissions wait for `go`, with an event loop that is turned by hand until then. */
function heldNode(options: Partial<SceneOptions> = {}) {
  const loop = new HeldLoop();
  const state = { isHeld: true };
  const clock: Clock = { ...realClock, soon: (run) => (state.isHeld ? loop : realClock).soon(run) };
  let hold: { readonly arrived: () => void; readonly until: Promise<void> } | undefined;
  const store = replacing(db.store, "inbox.admit", (real) => async (...input) => {
    const answer = await real(...input);
    hold?.arrived();
    await hold?.until;
    return answer;
  });
  const one = node(store, { model: scriptedModel(echo), clock, ...options });
  const prepared: (Resident | undefined)[] = [];
  const preparing = one.directory.preparing.bind(one.directory);
  one.directory.preparing = (...asked) => {
    const { end } = preparing(...asked);
    return {
      end() {
        const made = end();
        prepared.push(made);
        return made;
      },
    };
  };
  return {
    ...one,
    prepared,
    /** `turns` of the loop pass while the database is asked, and then `meanwhile` happens. */
    async admitting<T>(turns: number, send: () => Promise<T>, meanwhile = () => {}): Promise<T> {
      const [arrived, released] = [gate(), gate()];
      state.isHeld = true;
      hold = { arrived: arrived.open, until: released.opened };
      const sent = send();
      await arrived.opened;
      for (let turn = 0; turn < turns; turn += 1) loop.turn();
      meanwhile();
      state.isHeld = false;
      loop.turn();
      hold = undefined;
      released.open();
      return await sent;
    },
  };
}

describe("a session that is made ready while it is being admitted", () => {
  test("[SE60] what was made ahead runs the turn: of a new session and of one that fell asleep here", async () => {
    const one = heldNode({ model: scriptedModel(hangs("half")) });
    const fresh = await one.conversations.create(rivera);
    const client = await Client.open(one.conversations, fresh);
    await one.admitting(2, () => client.say("one"));
    await client.until("llm_delta");
    const first = one.directory.resident(fresh);
    await client.stop();
    await client.asleep();
    await one.directory.whenEmpty();
    client.clear();
    await one.admitting(2, () => client.say("two"));
    await client.until("llm_delta");
    const second = one.directory.resident(fresh);
    expect([first === one.prepared[0], second === one.prepared.at(-1), first === second]).toEqual([true, true, false]);
    await client.stop();
    await client.asleep();
  });

  test("[SE61] the database answers first: the session is made as ever", async () => {
    const one = heldNode();
    const { id } = await sessionOn(db.store);
    const client = await Client.open(one.conversations, id);
    await one.admitting(0, () => client.say("one"));
    await client.asleep();
    expect([one.prepared.every((made) => made === undefined), await turnsOf(db.store, id)]).toEqual([
      true,
      [[1, "one", "completed", "echo one"]],
    ]);
  });

  test("[SE62] somebody else had the session meanwhile: what was made ahead is let go, and nothing of it shows", async () => {
    const one = heldNode();
    const { id } = await sessionOn(db.store);
    const client = await Client.open(one.conversations, id);
    await one.admitting(2, () => client.say("one"));
    await client.asleep();
    await one.directory.whenEmpty();
    const other = node(db.store, { model: scriptedModel(echo) });
    const there = await Client.open(other.conversations, id);
    await there.say("two");
    await there.asleep();
    await other.directory.whenEmpty();

    await one.admitting(2, () => client.say("three"));
    await one.directory.whenEmpty();
    expect([one.prepared.at(-1) !== undefined, await turnsOf(db.store, id), one.faults]).toEqual([
      true,
      [
        [1, "one", "completed", "echo one"],
        [2, "two", "completed", "echo two"],
        [3, "three", "completed", "echo three"],
      ],
      [],
    ]);
  });

  test("[SE63] a command that is not admitted leaves nothing behind, and the next one finds what sleeps", async () => {
    const one = heldNode();
    const { id } = await sessionOn(db.store);
    const client = await Client.open(one.conversations, id);
    const command = realChance.uuid();
    await one.admitting(2, () => client.say("one", command));
    await client.asleep();
    await one.directory.whenEmpty();
    const again = await one.admitting(2, () => client.say("one", command));
    expect([again.kind, one.directory.size]).toEqual(["message_accepted", 0]);
    client.clear();
    const reads = db.statements.length;
    await one.admitting(2, () => client.say("two"));
    await client.asleep();
    const sent = db.statements.slice(reads);
    expect([sent.filter((text) => text.includes("from entries e")), one.prepared.at(-1) !== undefined]).toEqual([
      [],
      true,
    ]);
    expect(await turnsOf(db.store, id)).toHaveLength(2);
  });

  test("[SE64] a button was pressed since the turn before: the model is told of it", async () => {
    const one = heldNode({ model: recommender(), tools: [recommend("pat_1"), ...platform().tools] });
    const id = await one.conversations.create(rivera);
    const client = await Client.open(one.conversations, id);
    await one.admitting(2, () => client.say("recommend"));
    await client.asleep();
    await one.directory.whenEmpty();
    const [{ block_id } = { block_id: "" }] = client.of("recommend_supplements");
    client.clear();
    await press(client, block_id);
    await client.asleep();
    await one.directory.whenEmpty();
    client.clear();
    await one.admitting(2, () => client.say("what did I add?"));
    await client.asleep();
    const text =
      '[The user pressed "add to plan" on a card: Supplement a, 1 daily. The system added it to draft plan plan_1 (Draft).]';
    expect([one.prepared.at(-1) !== undefined, client.text]).toEqual([true, `${text}\nwhat did I add?`]);
  });

  test("[SE65] its last client left meanwhile: one that joins then hears the turn", async () => {
    const answer = gate();
    const one = heldNode({ model: scriptedModel(echo, after(answer.opened, echo)) });
    const { conversations, directory } = one;
    const id = await conversations.create(rivera);
    const client = await Client.open(conversations, id);
    await one.admitting(2, () => client.say("one"));
    await client.asleep();
    await directory.whenEmpty();
    await one.admitting(
      2,
      () => client.say("two"),
      () => client.leave(),
    );
    const joined = await Client.open(conversations, id);
    answer.open();
    await directory.whenEmpty();
    expect([one.prepared.at(-1) !== undefined, joined.text]).toEqual([true, "echo two"]);
  });

  test("[SE66] a drain that begins before its chart starts: no turn starts, and the next owner runs it", async () => {
    const model = scriptedModel(echo);
    const one = heldNode({ model });
    const { directory } = one;
    const id = await one.conversations.create(rivera);
    const client = await Client.open(one.conversations, id);
    const bring = directory.bring.bind(directory);
    directory.bring = (...taken) => {
      const bringing = bring(...taken);
      directory.beginDrain();
      return bringing;
    };
    await one.admitting(2, () => client.say("one"));
    await directory.whenEmpty();
    const rows = await db.sql`select node, unsettled from sessions where id = ${id}`;
    expect([one.prepared.at(-1) !== undefined, [...rows], model.requests]).toEqual([
      true,
      [{ node: null, unsettled: 1 }],
      [],
    ]);
  });

  test("[SE67] a fault while it is made ahead is told, and the message is answered as ever", async () => {
    const bug = new Error("a bug");
    let faults = 0;
    const world = (made: World): Partial<World> => ({
      settings: {
        ...made.settings,
        get limits() {
          faults -= 1;
          if (faults === 0) throw bug;
          return made.settings.limits;
        },
      },
    });
    const one = heldNode({ world });
    const id = await one.conversations.create(rivera);
    const client = await Client.open(one.conversations, id);
    faults = 1;
    await one.admitting(2, () => client.say("one"));
    await client.asleep();
    expect([one.prepared, one.faults, client.text]).toEqual([
      [undefined],
      [{ event: "session.unprepared", id, error: bug }],
      "echo one",
    ]);
  });
});
