import { randomUUID } from "node:crypto";
import { afterEach, expect, test, vi } from "vitest";
import type { NumberedKind, Signal, SignalData } from "../../machines/protocol/signals.ts";
import type { SessionState } from "../../machines/protocol/turns.ts";
import { sessionOf } from "../agui/ids.ts";
import { seeded } from "../testing/pairs.ts";
import type { GatewayServices } from "./services.ts";
import { type ManualTimers, manualTimers } from "./testing/manual-timers.ts";
import { plain } from "./testing/memory-conversations.ts";
import { inputOf, post, reading } from "./testing/run-client.ts";
import { LIMITS, loginOf, type Stage, startStage } from "./testing/stage.ts";

let stage: Stage;
let timers: ManualTimers;
afterEach(() => stage.gateway.close());

const rivera = "rivera" as never;
const SESSION = sessionOf("thread-1", rivera);
const resting: SessionState = { status: "resting", pending_interaction: null, queue: [] };

async function open(changes: Partial<GatewayServices> = {}) {
  timers = manualTimers();
  stage = await startStage({ timers, ...changes });
  stage.conversations.stored = { turns: [], state: resting };
}

/** Posts a run and waits until it is open; gives its turn, and what a session says of it. */
async function start(input = inputOf(), signal?: AbortSignal) {
  const turn = randomUUID();
  stage.conversations.answer = (session, { id }) =>
    plain(session, "message_accepted", { id, turn_id: turn, queued: false });
  const reader = reading(await post(stage, input, signal ? { signal } : {}));
  expect((await reader.next())?.type).toBe("RUN_STARTED");
  expect((await reader.next())?.type).toBe("STATE_SNAPSHOT");
  const [sink] = stage.conversations.sinks(SESSION);
  let seq = 0;
  const say = <K extends NumberedKind>(kind: K, data: SignalData<K>) => {
    seq += 1;
    sink?.send({ v: 1, kind, session_id: SESSION, seq, turn_id: turn, at: "2026-01-01T00:00:00Z", data } as Signal);
  };
  say("turn_started", { turn_id: turn, n: 1, cause: "message", input: { text: "hello" } });
  return { reader, turn, say, sink };
}

const usage = { input: 1, output: 1, thinking: 0, cached: 0 };

test("[AG10] a quiet run is kept alive by a comment every 25 s and asks for its login; the end of it ends the run", async () => {
  await open();
  const { reader, turn, say } = await start();
  timers.advance(25_000);
  expect(await reader.comment()).toBe(": heartbeat");
  timers.advance(24_999);
  say("skill_loaded", { name: "a", eager: false });
  expect((await reader.next())?.type).toBe("CUSTOM");
  timers.advance(24_999);
  stage.platform = () => loginOf("rivera", ["research"]);
  timers.advance(10_000);
  await vi.waitFor(() => expect(stage.conversations.refreshed).toHaveLength(1));
  stage.platform = () => ({ kind: "no_login" });
  timers.advance(30_000);
  expect(await reader.rest()).toEqual([expect.objectContaining({ type: "RUN_ERROR", code: "auth_expired" })]);
  say("turn_completed", { turn_id: turn, outcome: "completed", usage, ms: 1, steps: 1 });
  expect([stage.conversations.attached(), timers.waiting(), stage.errors]).toEqual([0, 0, []]);
});

test("[AG11] a client that goes away is detached and stops nothing", async () => {
  await open();
  const leaving = new AbortController();
  const { reader, turn, say } = await start(inputOf(), leaving.signal);
  leaving.abort();
  await expect(reader.rest()).rejects.toThrow();
  await vi.waitFor(() => expect(stage.conversations.attached()).toBe(0));
  say("turn_completed", { turn_id: turn, outcome: "completed", usage, ms: 1, steps: 1 });
  expect(stage.conversations.delivered.map(({ command }) => command.type)).toEqual(["message"]);
  expect([timers.waiting(), stage.errors]).toEqual([0, []]);
});

test("[AG11] one that goes away before its run is open is detached too", async () => {
  await open();
  const leaving = new AbortController();
  let go = () => {};
  stage.conversations.beforeAttach = () => new Promise<void>((resolve) => (go = resolve));
  const posted = post(stage, inputOf(), { signal: leaving.signal }).catch(() => undefined);
  await vi.waitFor(() => expect(stage.asked).toHaveLength(1));
  await new Promise((resolve) => setImmediate(resolve));
  leaving.abort();
  await posted;
  await fetch(`${stage.gateway.url}/healthz`);
  go();
  await vi.waitFor(() => expect(stage.conversations.delivered).toHaveLength(1));
  await vi.waitFor(() => expect(stage.conversations.attached()).toBe(0));
  expect([timers.waiting(), stage.errors]).toEqual([0, []]);
});

test("[AG11] 300 runs, half of whose clients leave at some moment, leave nothing behind", async () => {
  await open();
  const random = seeded(7);
  const breathe = () => new Promise((resolve) => setImmediate(resolve));
  stage.conversations.beforeAttach = async () => {
    for (let round = Math.floor(random() * 10); round > 0; round -= 1) await breathe();
  };
  const ends = Array.from({ length: 300 }, async (_, n) => {
    const leaving = new AbortController();
    const posted = post(stage, inputOf({ threadId: `t${n}` }), { signal: leaving.signal });
    if (n % 2 === 0) return (await reading(await posted).next())?.type;
    for (let round = Math.floor(random() * 30); round > 0; round -= 1) await breathe();
    leaving.abort();
    await posted.catch(() => undefined);
    return "left";
  });
  expect(new Set(await Promise.all(ends))).toEqual(new Set(["RUN_STARTED", "left"]));
  const closed = stage.gateway.closeAll(1012, "server restarting");
  await vi.waitFor(() => expect(stage.conversations.attached()).toBe(0));
  timers.advance(1_000);
  await closed;
  expect([timers.waiting(), stage.errors]).toEqual([0, []]);
});

test("[AG12] a drain ends runs in order and closes their connections", async () => {
  await open();
  const { reader, say } = await start();
  say("skill_loaded", { name: "a", eager: false });
  stage.gateway.announceDrain(1);
  const closed = stage.gateway.closeAll(1012, "server restarting");
  const rest = await reader.rest();
  expect(rest.map((event) => [event.type, "code" in event && event.code])).toEqual([
    ["CUSTOM", false],
    ["RUN_ERROR", "draining"],
  ]);
  timers.advance(1_000);
  await closed;
  expect([stage.conversations.attached(), timers.waiting(), stage.errors]).toEqual([0, 0, []]);
});

test("[AG12] a session that is erased or moved ends its runs", async () => {
  await open();
  const codes = [];
  for (const code of [1000, 1012, 4413]) {
    const { reader, sink } = await start(inputOf({ runId: randomUUID() }));
    sink?.close(code, "why");
    codes.push((await reader.rest()).map((event) => "code" in event && event.code));
  }
  expect(codes).toEqual([["not_found"], ["draining"], ["unavailable"]]);
});

const words = "½ ".repeat(1_000);

test("[AG13] a client that reads slowly gets the text in fewer pieces, whole and in order", async () => {
  await open({ limits: { ...LIMITS, send_buffer_bytes: 64_000_000 } });
  const { reader, turn, say } = await start();
  const block_id = randomUUID();
  say("block_started", { block_id, idx: 0, type: "text", attempt: 1 });
  for (let n = 0; n < 6_000; n++) say("llm_delta", { block_id, offset: n * words.length, text: words });
  say("turn_completed", { turn_id: turn, outcome: "completed", usage, ms: 1, steps: 1 });
  const rest = await reader.rest();
  expect(rest.at(-1)?.type).toBe("RUN_FINISHED");
  const deltas = rest.flatMap((event) => ("delta" in event ? [event.delta] : []));
  expect(deltas.length).toBeLessThan(6_000);
  expect(deltas.join("") === words.repeat(6_000)).toBe(true);
});

test("[AG13] a client that does not read is cut when a megabyte waits, and what it held is given up", async () => {
  await open();
  const { say } = await start();
  const block_id = randomUUID();
  say("block_started", { block_id, idx: 0, type: "text", attempt: 1 });
  let n = 0;
  while (stage.conversations.attached() > 0 && n < 20_000) {
    say("llm_delta", { block_id, offset: n * words.length, text: words });
    n += 1;
  }
  expect(stage.conversations.attached()).toBe(0);
  expect(timers.waiting()).toBe(0);
  expect(n).toBeLessThan(5_000);
});
