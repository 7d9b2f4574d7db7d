/** Quiet lines: a load balancer that forgets silent connections, and one that swallows all that is sent. */
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { message } from "../../client/commands.ts";
import { type SessionId, userId } from "../../machines/ids.ts";
import { after, calls, says, scriptedModel } from "../models/scripted.ts";
import type { Caller } from "../sessions/conversations.ts";
import { gate } from "../sessions/testing/held.ts";
import { database, node } from "../sessions/testing/scene.ts";
import { type LibraryClient, libraryClient } from "../testing/library-client.ts";
import { type Middlebox, middlebox } from "../testing/middlebox.ts";
import { type ManualTimers, manualTimers } from "./testing/manual-timers.ts";
import { type Stage, startStage } from "./testing/stage.ts";

const caller: Caller = {
  principal: { userId: userId("rivera"), name: "", flags: [], preferences: {} },
  credential: { cookie: "user=rivera" },
};

let db: Awaited<ReturnType<typeof database>>;
let stage: Stage;
let box: Middlebox;
let client: LibraryClient;
beforeAll(async () => {
  db = await database();
});
afterEach(async () => {
  client.close();
  await box.close();
  stage.gateway.close();
});
afterAll(() => db.end());

/** One client behind a load balancer that forgets a connection after 60 silent seconds. All three share one clock. */
async function open(held: Promise<void> = Promise.resolve()) {
  const timers = manualTimers();
  const lookup = {
    name: "lookup",
    async run() {
      await held;
      return { kind: "ok", text: "found" } as const;
    },
  };
  const model = scriptedModel(calls("lookup"), after(held, says("It does.")));
  const one = node(db.store, { model, tools: [lookup] });
  stage = await startStage({ timers, conversations: one.conversations });
  box = await middlebox(stage.gateway.url, timers, 60_000);
  const id = await one.conversations.create(caller);
  const headers = { cookie: "user=rivera", origin: stage.origin };
  client = libraryClient({ url: box.url, session: id, headers, clock: timers });
  await client.until((view) => view.seq !== undefined);
  return { ...one, timers, id };
}

const pings = () => client.sent.filter(({ type }) => type === "ping").length;

/** Lets time pass in steps that the network can follow: every ping has its pong before the clock moves on. */
async function pass(timers: ManualTimers, seconds: number): Promise<void> {
  for (let step = 0; step < seconds / 5; step += 1) {
    timers.advance(5_000);
    await vi.waitFor(() => expect(client.count("pong")).toBe(pings()), { interval: 1 });
  }
}

const turnsOf = async (id: SessionId) =>
  (await db.store.turns.page(id, 100)).map(({ input, outcome }) => ["text" in input && input.text, outcome]);

test("E-07 ten idle minutes behind a balancer that forgets silent lines: the line stays, nothing is numbered or stored", async () => {
  const { timers, id } = await open();
  const before = client.view().seq;
  const plain = await fetch(`${box.url}/healthz`);
  await plain.text();
  await pass(timers, 600);
  expect([client.sockets(), client.connection.status.kind, stage.gateway.sockets()]).toEqual([1, "open", 1]);
  // The kept-alive connection of the plain request was silent, and was forgotten.
  expect([box.dropped(), box.open()]).toEqual([1, 1]);
  expect([client.view().seq, await turnsOf(id)]).toEqual([before, []]);
  expect(pings()).toBeGreaterThan(20);
});

test("E-07 a tool call of 90 s on the same line: the answer comes over the socket it was asked on", async () => {
  const held = gate();
  const { timers, id } = await open(held.opened);
  await client.connection.send(message("Does it?"));
  await client.until((view) => view.turns[0]?.activity.length === 1);
  await pass(timers, 90);
  held.open();
  await client.until((view) => view.turns[0]?.ending !== undefined);
  expect(await turnsOf(id)).toEqual([["Does it?", "completed"]]);
  expect([client.sockets(), box.dropped()]).toEqual([1, 0]);
});

for (const lost of [["up", "down"], ["down"], ["up"]] as const) {
  test(`E-07 a line that swallows what goes ${lost.join(" and ")}: both sides notice within 60 s, the message is sent again under its id and runs once`, async () => {
    const { timers, id } = await open();
    await pass(timers, 30);
    const began = timers.now();
    box.swallow(lost);
    const command = message("Does it?");
    const answered = client.connection.send(command);
    await vi.waitFor(() => expect(client.sent.at(-1)?.id).toBe(command.id), { interval: 1 });
    if (!lost.includes("up" as never)) await vi.waitFor(async () => expect(await turnsOf(id)).toHaveLength(1));
    // Each side measures its own silence; a step at a time, so that the new line can be opened meanwhile.
    while (client.connection.status.kind === "open" && timers.now() - began < 120_000) {
      timers.advance(1_000);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(timers.now() - began).toBeLessThanOrEqual(60_000);
    timers.advance(1_000);
    const receipt = await answered;
    await client.until((view) => view.turns[0]?.ending !== undefined);
    expect(client.sent.filter((one) => one.id === command.id)).toHaveLength(2);
    expect(receipt.duplicate).toBe(lost.includes("up" as never) ? undefined : true);
    expect(await turnsOf(id)).toEqual([["Does it?", "completed"]]);
    timers.advance(0);
    while (stage.gateway.sockets() > 1 && timers.now() - began < 130_000) await pass(timers, 5);
    expect(timers.now() - began).toBeLessThanOrEqual(70_000);
    expect([client.sockets(), stage.gateway.sockets()]).toEqual([2, 1]);
  });
}
