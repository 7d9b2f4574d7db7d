/** An answer of 200 pieces, and clients whose line breaks after every one of them. */
import { setImmediate as breathe } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { View } from "../../client/view.ts";
import { type SessionId, userId } from "../../machines/ids.ts";
import type { Signal } from "../../machines/protocol/signals.ts";
import { type Move, says, scriptedModel } from "../models/scripted.ts";
import type { Caller } from "../sessions/conversations.ts";
import { gate } from "../sessions/testing/held.ts";
import { Client, database, node } from "../sessions/testing/scene.ts";
import { type LibraryClient, type LibraryOptions, libraryClient } from "../testing/library-client.ts";
import { type Stage, startStage } from "./testing/stage.ts";

const PIECES = 200;
const EVERY = Array.from({ length: PIECES + 1 }, (_, n) => n);
const caller: Caller = {
  principal: { userId: userId("rivera"), name: "", flags: [], preferences: {} },
  credential: { cookie: "user=rivera" },
};

let db: Awaited<ReturnType<typeof database>>;
let stage: Stage;
let clients: LibraryClient[] = [];
beforeAll(async () => {
  db = await database();
});
afterEach(() => {
  for (const client of clients) client.close();
  clients = [];
  stage.gateway.close();
});
afterAll(() => db.end());

/** Streams pieces, each in its own round of the event loop, so that lines break in the middle of it. */
const streams = (pieces: readonly string[]): Move =>
  async function* (request, signal, turn) {
    for (const delta of pieces) {
      yield { type: "text", delta };
      await breathe();
    }
    const whole = says(pieces.join(""), { atOnce: true })(request, signal, turn);
    for await (const event of whole) if (event.type === "end") yield event;
  };
const small = EVERY.slice(1).map((n) => `½ 妊娠 ${n} 👩‍⚕️ `);

async function open(...moves: readonly [Move, ...Move[]]) {
  const one = node(db.store, { model: scriptedModel(...moves) });
  stage = await startStage({ conversations: one.conversations });
  const id = await one.conversations.create(caller);
  const speaker = await Client.open(one.conversations, id, undefined, caller);
  return { ...one, id, speaker };
}

function join(session: SessionId, options: Partial<LibraryOptions> = {}): LibraryClient {
  const headers = { cookie: "user=rivera", origin: stage.origin };
  const client = libraryClient({ url: stage.gateway.url, session, headers, ...options });
  clients.push(client);
  return client;
}

const isNumbered = (signal: object) => "seq" in signal;
/** "cut" after the n-th numbered frame of the first socket. */
const cutAfter = (n: number): NonNullable<LibraryOptions["onFrame"]> => {
  let numbered = 0;
  return (_at, signal, socket) => {
    if (isNumbered(signal)) numbered += 1;
    const isThere = n === 0 ? (signal as Signal).kind === "resync" : isNumbered(signal) && numbered === n;
    return socket === 1 && isThere ? "cut" : undefined;
  };
};

const opened = (view: View) => view.session_id !== undefined && view.seq !== undefined;
const over = (turns: number) => (view: View) =>
  view.turns.length === turns && view.turns.every(({ ending }) => ending !== undefined) && view.status === "hibernated";

const stored = async (id: SessionId) => (await db.store.turns.page(id, 100)).flatMap(({ blocks }) => blocks);

/** Every client shows what is stored, byte for byte. */
async function expectAllEqual(id: SessionId, all: readonly LibraryClient[]): Promise<void> {
  const expected = JSON.stringify(await stored(id));
  const wrong = all.flatMap((client, n) => (JSON.stringify(client.blocks()) === expected ? [] : [n]));
  expect(wrong).toEqual([]);
}

test("E-01 cut after every frame, back at once: the rest comes from the ring, and every client shows the stored text", async () => {
  const { id, speaker } = await open(streams(small));
  const whole = join(id);
  const all = EVERY.map((n) => join(id, { onFrame: cutAfter(n) }));
  await Promise.all([whole, ...all].map((client) => client.until(opened)));
  await speaker.say("go");
  await Promise.all([whole, ...all].map((client) => client.until(over(1))));
  await expectAllEqual(id, [whole, ...all]);
  expect(whole.blocks()[0]?.content["text"]).toBe(small.join(""));
  expect([whole.sockets(), ...new Set(all.map((client) => client.sockets()))]).toEqual([1, 2]);
  // One resync each, on arrival: all that was missed came as it was.
  expect(new Set(all.slice(1).map((client) => client.count("resync")))).toEqual(new Set([1]));
});

for (const stays of [true, false]) {
  test(`E-01 cut after every frame, back when the session sleeps and ${stays ? "someone stayed" : "nobody stayed"}`, async () => {
    const { id, speaker, directory } = await open(streams(small));
    const slept = gate();
    const all = EVERY.map((n) => join(id, { onFrame: cutAfter(n), beforeReconnect: () => slept.opened }));
    await Promise.all(all.slice(1).map((client) => client.until(opened)));
    await speaker.say("go");
    await speaker.asleep();
    await directory.whenEmpty();
    if (!stays) speaker.leave();
    expect(directory.size).toBe(0);
    slept.open();
    await Promise.all(all.map((client) => client.until(over(1))));
    await expectAllEqual(id, all);
    // Asleep, and still so: joining wakes nothing.
    expect(directory.size).toBe(0);
  });
}

test("E-01 cut after every frame, back when the ring has moved on: one resync that replaces", async () => {
  const more = Array.from({ length: 2_100 }, (_, n) => `${n} `);
  const { id, speaker } = await open(streams(small), streams(more));
  const moved = gate();
  const all = EVERY.map((n) => join(id, { onFrame: cutAfter(n), beforeReconnect: () => moved.opened }));
  await Promise.all(all.slice(1).map((client) => client.until(opened)));
  await speaker.say("go");
  await speaker.until("turn_completed");
  await speaker.say("more");
  await speaker.until("turn_completed", ({ seq }) => seq > 2_000);
  moved.open();
  await Promise.all(all.map((client) => client.until(over(2))));
  await expectAllEqual(id, all);
  expect(new Set(all.slice(1).map((client) => client.count("resync")))).toEqual(new Set([2]));
});

test("E-01 a line that breaks after every seventh frame, over and over, while others come and go", async () => {
  const { id, speaker } = await open(streams(small));
  const all = Array.from({ length: 20 }, (_, n) => join(id, { onFrame: (at) => (at === 7 + n ? "cut" : undefined) }));
  await Promise.all(all.map((client) => client.until(opened)));
  await speaker.say("go");
  await Promise.all(all.map((client) => client.until(over(1))));
  await expectAllEqual(id, all);
  expect(Math.min(...all.map((client) => client.sockets()))).toBeGreaterThan(5);
});

/** A slow socket holds up to a megabyte, and the answer has six: every 20th n, or what `RECONNECT_SLOW_EVERY` says. */
const SLOW_EVERY = Number(process.env["RECONNECT_SLOW_EVERY"] ?? 20);
const large = EVERY.slice(1).map((n) => `${n} ${"½ word ".repeat(4_000)}`);

test("E-01 sockets that stop reading after any frame of a large answer show the stored text when they read on", async () => {
  const { id, speaker } = await open(streams(large));
  const all = EVERY.filter((n) => n % SLOW_EVERY === 0).map((n) => {
    const cut = cutAfter(n);
    return join(id, { onFrame: (...frame) => (cut(...frame) === "cut" ? "pause" : undefined) });
  });
  await Promise.all(all.map((client) => client.until(opened)));
  await speaker.say("go");
  await speaker.asleep();
  for (const client of all) client.resume();
  await Promise.all(all.map((client) => client.until(over(1))));
  await expectAllEqual(id, all);
  // One that reads its close frame too late is cut without it.
  const codes = new Set(all.flatMap((client) => client.codes));
  codes.delete(1006);
  expect(codes).toEqual(new Set([4413]));
});
