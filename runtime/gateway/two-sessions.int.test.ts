import { randomUUID } from "node:crypto";
import { setImmediate as breathe } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import type { SessionId } from "../../machines/ids.ts";
import { decides, type Move, says, scriptedModel } from "../models/scripted.ts";
import { gate } from "../sessions/testing/held.ts";
import { database, node } from "../sessions/testing/scene.ts";
import { type Client, connect, upgradeStatus } from "./testing/client.ts";
import { type Stage, startStage } from "./testing/stage.ts";

let db: Awaited<ReturnType<typeof database>>;
let stage: Stage;
beforeAll(async () => {
  db = await database();
});
afterEach(() => stage.gateway.close());
afterAll(() => db.end());

const COUNT = 300;
const answerTo = (said: string) => Array.from({ length: COUNT }, (_, n) => `${said} ${n} `);

/** Before which pieces the answers wait: until both are under way, then until one socket has left. */
const halts = { 20: gate(), 150: gate() };

/** Repeats what was said, in pieces, each in its own round of the event loop: two answers overlap. */
const repeats: Move = decides(({ entries }) => {
  const last = entries.findLast((entry) => entry.kind === "user");
  const pieces = answerTo(last?.kind === "user" ? last.text : "");
  return async function* (request, signal, turn) {
    for (const [n, delta] of pieces.entries()) {
      if (n === 20 || n === 150) await halts[n].opened;
      yield { type: "text", delta };
      await breathe();
    }
    const whole = says(pieces.join(""), { atOnce: true })(request, signal, turn);
    for await (const event of whole) if (event.type === "end") yield event;
  };
});

async function join(text: string): Promise<Client & { readonly id: string }> {
  const client = await connect(stage);
  const { session_id: id } = await client.next();
  client.send({ type: "message", id: randomUUID(), text });
  return Object.assign(client, { id });
}

const deltas = ({ frames }: Client) => frames.flatMap(({ kind, data }) => (kind === "llm_delta" ? [data["text"]] : []));
const turnsOf = async (session: string) =>
  (await db.store.turns.page(session as never, 10)).map(({ outcome, blocks }) => [outcome, blocks[0]?.content["text"]]);

test("E-09 two answers at once on two sockets never mix; the one that is left goes on unheard and is stored", async () => {
  const one = node(db.store, { model: scriptedModel(repeats) });
  stage = await startStage({ conversations: one.conversations });
  const first = await join("first");
  await vi.waitFor(() => expect(deltas(first).length).toBeGreaterThan(10), { interval: 1 });
  const second = await join("second");
  await vi.waitFor(() => expect(deltas(second).length).toBeGreaterThan(10), { interval: 1 });
  halts[20].open();
  await vi.waitFor(() => expect([first, second].map((one) => deltas(one).length)).toEqual([150, 150]), { interval: 1 });
  first.socket.close();
  await first.closed;
  await vi.waitFor(() => expect(one.directory.audience(first.id as SessionId).size).toBe(0), { interval: 1 });
  expect(one.directory.resident(first.id as SessionId)?.run?.live.turnId).toEqual(expect.any(String));
  const left = first.frames.length;
  halts[150].open();
  await vi.waitFor(() => expect(second.frames.map(({ kind }) => kind)).toContain("turn_completed"));
  await one.directory.whenEmpty();
  expect(first.frames).toHaveLength(left);
  expect(deltas(second)).toEqual(answerTo("second"));
  expect(deltas(first)).toEqual(answerTo("first").slice(0, 150));
  for (const client of [first, second])
    expect(new Set(client.frames.map(({ session_id }) => session_id))).toEqual(new Set([client.id]));
  expect(await turnsOf(first.id)).toEqual([["completed", answerTo("first").join("")]]);
  expect(await turnsOf(second.id)).toEqual([["completed", answerTo("second").join("")]]);
  // Every frame of a turn names it.
  const turns = second.frames.filter(({ kind }) => kind === "llm_delta").map((frame) => "turn_id" in frame);
  expect(new Set(turns)).toEqual(new Set([true]));
  expect(await upgradeStatus(stage, { query: `?session=${first.id}`, user: "chen" })).toBe(404);
  expect(await upgradeStatus(stage, { query: `?session=${randomUUID()}` })).toBe(404);
  expect(stage.errors).toEqual([]);
});
