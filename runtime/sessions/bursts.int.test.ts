/** Text that a provider delivers in one packet: one signal for it, whatever happens to the turn meanwhile. */
import { setImmediate as turnOfTheLoop } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { applySignal, storedBlocks } from "../../client/reducer.ts";
import { emptyView } from "../../client/view.ts";
import type { ModelEvent } from "../../machines/model.ts";
import { isNumbered } from "../../machines/protocol/signals.ts";
import { SEQ_RESERVE } from "../../persistence/store.ts";
import { realClock } from "../effects.ts";
import { callsAll, hangs, type Move, says, scriptedModel } from "../models/scripted.ts";
import { HeldLoop } from "../testing/held-loop.ts";
import type { Audience } from "./audience.ts";
import { gate } from "./testing/held.ts";
import { echo, kill, sessionOn, turnsOf } from "./testing/looks.ts";
import { Client, database, rivera } from "./testing/scene.ts";

let db: Awaited<ReturnType<typeof database>>;
beforeAll(async () => {
  db = await database();
});
afterAll(() => db.end());

const texts = (...deltas: string[]): ModelEvent[] => deltas.map((delta) => ({ type: "text", delta }));

/** These events in one turn of the event loop, then `move`. */
const burst = (events: readonly ModelEvent[], move: Move): Move =>
  async function* (...asked) {
    yield* events;
    yield* move(...asked);
  };

/** A burst whose text has not left: `arrived` when it is there, `go` lets the model's next move begin. */
function heldBurst(events: readonly ModelEvent[], then: Move) {
  const loop = new HeldLoop();
  const arrived = gate();
  const go = gate();
  const move: Move = async function* (...asked) {
    yield* events;
    arrived.open();
    await go.opened;
    yield* then(...asked);
  };
  return { loop, move, clock: { ...realClock, soon: loop.soon }, arrived: arrived.opened, go: go.open };
}

const kinds = ({ signals }: Client) => signals.map(({ kind }) => kind);
const BLOCKS = /^(block_|llm_delta|thinking_summary|tool_call_)/;
/** What a client shows that applied everything it was sent. */
const shownBy = (client: Client) =>
  client.signals.reduce(applySignal, emptyView).turns.map((turn) => storedBlocks(turn));
const stored = async (id: Parameters<typeof turnsOf>[1]) =>
  (await db.store.turns.page(id, 100)).map(({ blocks }) => blocks);

describe("a burst of text", () => {
  test("[BU1] leaves as one delta, and nothing of it is lost or doubled", async () => {
    const whole = "Take 2 capsules a day, ½ with food 👩‍⚕️.";
    const { client, id } = await sessionOn(db.store, {
      model: scriptedModel(says(whole, { thinking: "hm", atOnce: true })),
    });
    await client.say("one");
    await client.asleep();
    expect(kinds(client).filter((kind) => BLOCKS.test(kind))).toEqual([
      ...["block_started", "thinking_summary", "block_finished"],
      ...["block_started", "llm_delta", "block_finished"],
    ]);
    expect(client.of("llm_delta").map(({ offset, text }) => [offset, text])).toEqual([[0, whole]]);
    expect(shownBy(client)).toEqual(await stored(id));
  });

  test("[BU2] is shown before the call that comes with it", async () => {
    const look = callsAll([{ tool: "look" }]);
    const asking: Move = async function* (...asked) {
      yield* texts("I will ", "look.");
      for await (const event of look(...asked)) {
        yield event.type === "end"
          ? { ...event, parts: [{ kind: "text", text: "I will look." }, ...event.parts] }
          : event;
      }
    };
    const { client, id } = await sessionOn(db.store, {
      model: scriptedModel(asking, says("Found.", { atOnce: true })),
      tools: [{ name: "look", run: async () => ({ kind: "ok", text: "found" }) }],
    });
    await client.say("one");
    await client.asleep();
    expect(kinds(client).filter((kind) => BLOCKS.test(kind))).toEqual([
      ...["block_started", "llm_delta", "block_finished", "tool_call_started", "tool_call_finished"],
      ...["block_started", "llm_delta", "block_finished"],
    ]);
    expect(shownBy(client)).toEqual(await stored(id));
    expect(await turnsOf(db.store, id)).toEqual([[1, "one", "completed", "I will look.", "Found."]]);
  });

  test("[BU3] that is taken back and given again is shown as it was given again", async () => {
    const reset: ModelEvent = { type: "reset", reason: "retry" };
    const model = scriptedModel(burst([...texts("You could ", "tr"), reset], says("Take 2 a day.", { atOnce: true })));
    const { client, id } = await sessionOn(db.store, { model });
    await client.say("one");
    await client.asleep();
    expect(kinds(client).filter((kind) => BLOCKS.test(kind))).toEqual([
      ...["block_started", "block_reset", "block_started", "llm_delta", "block_finished"],
    ]);
    expect([client.text, shownBy(client)]).toEqual(["Take 2 a day.", await stored(id)]);
  });

  test("[BU4] that has not left yet is told once to whoever joins in the middle of it", async () => {
    const written = gate();
    const rest: Move = async function* (...asked) {
      yield* texts("capsules ", "a day");
      written.open();
      yield* hangs()(...asked);
    };
    const { loop, clock, move, arrived, go } = heldBurst(texts("Take ", "2 "), rest);
    const { client, conversations, id } = await sessionOn(db.store, { model: scriptedModel(move), clock });
    await client.say("one");
    await arrived;
    const seq = client.signals.findLast(isNumbered)?.seq;
    const [fresh, back] = [await Client.open(conversations, id), await Client.open(conversations, id, seq)];
    const page = await conversations.page(id, rivera);
    // What is told of the turn and the number it stands at belong together.
    expect([fresh.of("resync")[0]?.turns, page.turns].map((turns) => turns?.[0]?.blocks[0]?.content)).toEqual([
      { text: "" },
      { text: "" },
    ]);
    expect([fresh.of("resync")[0]?.seq, page.seq, kinds(back)]).toEqual([seq, seq, ["session_opened"]]);
    loop.turn();
    go();
    await written.opened;
    await client.stop();
    await Promise.all([client, fresh, back].map((each) => each.asleep()));
    for (const each of [client, fresh, back]) {
      expect(each.of("llm_delta")[0]).toMatchObject({ offset: 0, text: "Take 2 " });
      expect(each.text).toBe("Take 2 capsules a day");
    }
    expect([shownBy(client), shownBy(fresh)]).toEqual([await stored(id), await stored(id)]);
  });

  test("[BU5] that has not left when the user says Stop is shown, kept and not shown again", async () => {
    const { loop, clock, move, arrived } = heldBurst(texts("You ", "could ", "tr"), hangs());
    const { client, id, directory } = await sessionOn(db.store, { model: scriptedModel(move, echo), clock });
    await client.say("one");
    await arrived;
    const audience = directory.audience(id);
    await client.stop();
    await client.asleep();
    const next = audience.nextSeq;
    loop.turn();
    expect([audience.nextSeq, client.signals.at(-1)?.kind]).toEqual([next, "state_changed"]);
    expect([client.text, shownBy(client)]).toEqual(["You could tr", await stored(id)]);
    expect(await turnsOf(db.store, id)).toEqual([[1, "one", "cancelled", "You could tr"]]);
  });

  test("[BU9] that failed as it left fails no Stop: the turn is settled as cancelled, and its clients stay", async () => {
    const { loop, clock, move, arrived } = heldBurst(texts("You ", "could ", "tr"), hangs());
    const { client, id, directory } = await sessionOn(db.store, { model: scriptedModel(move, echo), clock });
    await client.say("one");
    await arrived;
    const broken = {
      send: () => {
        throw new TypeError("broken");
      },
      close: () => {},
    };
    const audience = directory.audience(id);
    audience.join(broken);
    loop.turn();
    audience.leave(broken);
    await client.stop();
    await directory.whenEmpty();
    expect(await turnsOf(db.store, id)).toEqual([[1, "one", "cancelled", "You could tr"]]);
    expect([client.closed, client.text, shownBy(client)]).toEqual([undefined, "You could tr", await stored(id)]);
  });

  type Scene = Awaited<ReturnType<typeof sessionOn>>;
  const ends: readonly (readonly [string, (one: Scene) => unknown])[] = [
    [
      "the session moved to another node",
      ({ directory, id }) => {
        const resident = directory.resident(id);
        if (resident) directory.drop(resident);
      },
    ],
    ["the session was erased", ({ conversations, id }) => conversations.erase(id, rivera)],
    ["the node parked it", ({ directory }) => directory.park()],
    ["its actor was stopped", (one) => kill(one)],
  ];
  for (const [why, ending] of ends) {
    test(`[BU6] that has not left when ${why} never leaves`, async () => {
      const { loop, clock, move, arrived } = heldBurst(texts("You ", "could ", "tr"), hangs());
      const one = await sessionOn(db.store, { model: scriptedModel(move), clock });
      await one.client.say("one");
      await arrived;
      const audience = one.directory.audience(one.id);
      await ending(one);
      await one.directory.whenEmpty();
      const before = [audience.nextSeq, one.client.signals.length];
      loop.turn();
      expect([audience.nextSeq, one.client.signals.length]).toEqual(before);
      expect(one.client.text).toBe("");
    });
  }

  test("[BU7] that has not left when its chart throws is not told under the numbers of the next owner", async () => {
    const { loop, clock, move, arrived } = heldBurst(texts("You ", "could ", "tr"), hangs());
    const again = gate();
    const answer = gate();
    const next: Move = async function* (...asked) {
      again.open();
      await answer.opened;
      yield* says("Take 2.", { atOnce: true })(...asked);
    };
    const { client, id, directory } = await sessionOn(db.store, { model: scriptedModel(move, next), clock });
    await client.say("one");
    await arrived;
    directory.resident(id)?.actor.send({
      type: "message.admitted",
      get turnId(): never {
        throw new Error("a bug");
      },
    });
    await again.opened;
    const told = client.signals.length;
    loop.turn();
    expect(client.signals.length).toBe(told);
    answer.open();
    await client.asleep();
    expect([client.text, shownBy(client)]).toEqual(["Take 2.", await stored(id)]);
  });

  test("[BU8] text of more signals than were reserved is streamed to its end: more are asked for on the way", async () => {
    const words = Array.from({ length: SEQ_RESERVE + 600 }, (_, n) => `${n} `);
    let audience: Audience | undefined;
    const model: Move = async function* (...asked) {
      for (const word of words) {
        yield* texts(word);
        await turnOfTheLoop();
        // Where the database is slower than this model, it waits: then every word has a number of its own.
        if ((audience?.left ?? 0) < 500)
          await vi.waitFor(() => expect(audience?.left).toBeGreaterThan(1_000), { timeout: 10_000 });
      }
      for await (const event of says(words.join(""), { atOnce: true })(...asked)) if (event.type === "end") yield event;
    };
    const { client, directory, id } = await sessionOn(db.store, { model: scriptedModel(model) });
    audience = directory.audience(id);
    await client.say("one");
    await client.asleep();
    expect(client.of("llm_delta").map(({ text }) => text)).toEqual(words);
    expect([client.closed, shownBy(client)]).toEqual([undefined, await stored(id)]);
  });
});
