/** A login that dies at the 61st second, between two looks at it, with a turn that runs from the 55th on. */
import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { calls, says, scriptedModel } from "../models/scripted.ts";
import { gate } from "../sessions/testing/held.ts";
import { database, node } from "../sessions/testing/scene.ts";
import { type Client, connect, upgradeStatus } from "./testing/client.ts";
import { manualTimers } from "./testing/manual-timers.ts";
import { loginOf, type Stage, startStage } from "./testing/stage.ts";

let db: Awaited<ReturnType<typeof database>>;
let stage: Stage;
beforeAll(async () => {
  db = await database();
});
afterEach(() => stage.gateway.close());
afterAll(() => db.end());

/** Any `user=rivera` cookie is good until the 61st second; `rivera2` is the same user's next login, `chen` another's. */
async function open() {
  const timers = manualTimers();
  const dies = timers.now() + 61_000;
  const isDead = () => timers.now() >= dies;
  const held = gate();
  const called: string[] = [];
  const lookup = {
    name: "lookup",
    async run() {
      called.push(isDead() ? "dead" : "alive");
      await held.opened;
      return isDead() && called.length === 1
        ? ({ kind: "error", reason: "auth", text: "the login has ended" } as const)
        : ({ kind: "ok", text: "found" } as const);
    },
  };
  const model = scriptedModel(calls("lookup"), says("It does."));
  const one = node(db.store, { model, tools: [lookup] });
  stage = await startStage({ timers, conversations: one.conversations });
  stage.platform = (cookie) => {
    if (cookie === "user=chen") return loginOf("chen");
    if (cookie === "user=rivera2") return loginOf("rivera");
    return isDead() ? { kind: "no_login" } : loginOf("rivera");
  };
  const client = await connect(stage);
  const session = (await client.next()).session_id;
  await vi.waitFor(() => expect(client.frames.map(({ kind }) => kind)).toContain("resync"));
  /** Moves the clock on, with the pings of a client that lives. */
  const pass = async (seconds: number) => {
    for (let left = seconds; left > 0 && client.socket.readyState === 1; left -= 5) {
      timers.advance(5_000);
      const id = randomUUID();
      client.send({ type: "ping", id });
      await Promise.race([client.closed, vi.waitFor(() => expect(pongs(client)).toContain(id))]);
    }
  };
  return { ...one, model, timers, client, session, called, held, pass };
}

const pongs = ({ frames }: Client) => frames.flatMap(({ kind, data }) => (kind === "pong" ? [data["id"]] : []));
const message = (text: string) => ({ type: "message", id: randomUUID(), text });
const kinds = ({ frames }: Client) => frames.map(({ kind }) => kind);
const turnsOf = async (session: string) =>
  (await db.store.turns.page(session as never, 100)).map(({ input, outcome, reason }) => [
    "text" in input && input.text,
    outcome,
    reason,
  ]);

test("E-04 a tool that is refused ends the socket at once, the turn in a stored way, and nothing is tried again", async () => {
  const { client, session, called, held, pass, model, directory } = await open();
  await pass(55);
  client.send(message("Does it?"));
  await vi.waitFor(() => expect(called).toEqual(["alive"]));
  await pass(10);
  held.open();
  expect(await client.closed).toEqual({ code: 4401, reason: "login ended" });
  expect(kinds(client)).toContain("auth_expired");
  await directory.whenEmpty();
  expect(await turnsOf(session)).toEqual([["Does it?", "failed", "auth_required"]]);
  expect([called, model.requests.length]).toEqual([["alive"], 1]);

  expect(await upgradeStatus(stage, { query: `?session=${session}` })).toBe(401);
  expect(await upgradeStatus(stage, { query: `?session=${session}`, user: "chen" })).toBe(404);
  const fresh = await connect(stage, { query: `?session=${session}`, user: "rivera2" });
  fresh.send(message("Again?"));
  await vi.waitFor(() => expect(kinds(fresh)).toContain("turn_completed"));
  await directory.whenEmpty();
  expect(await turnsOf(session)).toEqual([
    ["Does it?", "failed", "auth_required"],
    ["Again?", "completed", undefined],
  ]);
  expect(model.requests.at(-1)?.entries.map(({ kind }) => kind)).toContain("tool_result");
});

test("E-04 a message after the login's end starts no turn, and the socket closes with 4401", async () => {
  const { client, session, called, held, pass, directory } = await open();
  await pass(55);
  client.send(message("Does it?"));
  await vi.waitFor(() => expect(called).toEqual(["alive"]));
  await pass(15);
  client.send(message("And this?"));
  expect(await client.closed).toEqual({ code: 4401, reason: "login ended" });
  held.open();
  await directory.whenEmpty();
  expect((await turnsOf(session)).map(([text]) => text)).toEqual(["Does it?"]);
});

test("E-04 nobody does anything: the socket is closed within 30 s of the login's end", async () => {
  const { client, timers, pass } = await open();
  await pass(60);
  expect(client.socket.readyState).toBe(1);
  timers.advance(30_000);
  expect(await client.closed).toEqual({ code: 4401, reason: "login ended" });
});
