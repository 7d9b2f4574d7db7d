import { randomUUID } from "node:crypto";
import { afterEach, expect, test, vi } from "vitest";
import { sessionId, userId } from "../../machines/ids.ts";
import type { Signal } from "../../machines/protocol/signals.ts";
import type { SessionState, Turn } from "../../machines/protocol/turns.ts";
import { sessionOf } from "../agui/ids.ts";
import type { Caller } from "../sessions/conversations.ts";
import { type RunStream, tellRun } from "./agui-run.ts";
import { RunSink } from "./run-sink.ts";
import { type ManualTimers, manualTimers } from "./testing/manual-timers.ts";
import { plain } from "./testing/memory-conversations.ts";
import { inputOf, post, reading } from "./testing/run-client.ts";
import { LIMITS, loginOf, type Stage, startStage } from "./testing/stage.ts";

let stage: Stage | undefined;
afterEach(() => {
  stage?.gateway.close();
  stage = undefined;
});

const resting: SessionState = { status: "resting", pending_interaction: null, queue: [] };
const SESSION = sessionOf("thread-1", userId("rivera"));
/** No JSON can be made of it. */
const unsayable = { sources: 1n };

async function open(turns: Turn[] = []): Promise<{ stage: Stage; timers: ManualTimers; turn: string }> {
  const timers = manualTimers();
  stage = await startStage({ timers });
  const turn = randomUUID();
  stage.conversations.stored = { turns, state: resting };
  return { stage, timers, turn };
}

/** Nothing is left that could still speak, and a stop has no stream to wait for. */
async function nothingIsLeft({ conversations, gateway, errors }: Stage, timers: ManualTimers) {
  await vi.waitFor(() => expect([conversations.attached(), timers.waiting()]).toEqual([0, 0]));
  timers.advance(120_000);
  expect((await fetch(`${gateway.url}/healthz`)).status).toBe(200);
  await gateway.closeAll(1012, "server restarting");
  expect(timers.waiting()).toBe(0);
  expect(errors).toEqual([expect.stringMatching(/^run not told /)]);
}

test("[AG20] a run that can't be told while it is opened is cut and leaves nothing behind", async () => {
  const turn = randomUUID();
  const block = { block_id: randomUUID(), idx: 0, type: "citations", content: unsayable, attempt: 1 };
  const { stage, timers } = await open([
    { turn_id: turn, n: 1, cause: "message", input: { text: "hello" }, blocks: [block] },
  ]);
  stage.conversations.answer = (session, { id }) =>
    plain(session, "message_accepted", { id, turn_id: turn, queued: false, duplicate: true });
  const cut = (async () => await reading(await post(stage, inputOf())).rest())();
  await expect(cut).rejects.toThrow();
  await nothingIsLeft(stage, timers);
});

test("[AG20] a run that can't be told any further is cut; the session that speaks notices nothing", async () => {
  const { stage, timers, turn } = await open();
  stage.conversations.answer = (session, { id }) =>
    plain(session, "message_accepted", { id, turn_id: turn, queued: false });
  const reader = reading(await post(stage, inputOf()));
  expect((await reader.next())?.type).toBe("RUN_STARTED");
  const [sink] = stage.conversations.sinks(SESSION);
  const say = (kind: string, data: unknown) =>
    sink?.send({ v: 1, kind, session_id: SESSION, seq: 1, turn_id: turn, at: "2026-01-01T00:00:00Z", data } as Signal);
  say("turn_started", { turn_id: turn, n: 1, cause: "message", input: { text: "hello" } });
  expect(() => say("citations", { block_id: randomUUID(), ...unsayable })).not.toThrow();
  await expect(reader.rest()).rejects.toThrow();
  await nothingIsLeft(stage, timers);
});

const caller: Caller = {
  principal: { userId: userId("rivera"), name: "", flags: [], preferences: {} },
  credential: { cookie: "user=rivera" },
};

/** A run on a wire that fails from its `failing`-th use on; gives how often it was used. */
async function onFailingWire(failing: number): Promise<number> {
  const timers = manualTimers();
  const streams = new Set<RunStream>();
  const errors: string[] = [];
  const left: string[] = [];
  const turn = randomUUID();
  let uses = 0;
  const use = () => {
    uses += 1;
    if (uses >= failing) throw new Error("the response is gone");
  };
  const sink = new RunSink();
  const signal = (kind: string, data: unknown) =>
    ({ v: 1, kind, session_id: SESSION, seq: 1, turn_id: turn, at: "2026-01-01T00:00:00Z", data }) as Signal;
  sink.send(signal("turn_started", { turn_id: turn, n: 1, cause: "message", input: { text: "hello" } }));
  const ends = tellRun(
    { send: use, buffered: () => 0, end: use, cut: () => void left.push("cut") },
    {
      facts: { threadId: "t", runId: "r", sessionId: sessionId(SESSION), turnId: turn, messages: [], ignored: [] },
      caller,
      attachment: {
        deliver: () => Promise.reject(new Error("not here")),
        refresh: use,
        detach: () => void left.push("detached"),
      },
      sink,
      known: 0,
      begin: (events) => events.begin(),
    },
    {
      authenticate: async () => loginOf("rivera", ["research"]),
      limits: LIMITS,
      log: { debug() {}, info() {}, warn() {}, error: (line) => void errors.push(line), flush: async () => {} },
    },
    timers,
    streams,
  );
  sink.send(signal("skill_loaded", { name: "a", eager: false }));
  timers.advance(25_000);
  ends.drained();
  timers.advance(30_000);
  await new Promise((resolve) => setImmediate(resolve));
  for (const stream of [...streams]) stream.drain();
  ends.drained();
  ends.gone();
  timers.advance(120_000);
  const failed = uses >= failing;
  expect([timers.waiting(), streams.size, left.toSorted(), errors]).toEqual([
    0,
    0,
    failed ? ["cut", "detached"] : ["detached"],
    failed ? ["run not told"] : [],
  ]);
  return uses;
}

test("[AG20] whenever a wire or an attachment fails, no timer, no attachment and no stream stays", async () => {
  const whole = await onFailingWire(Number.POSITIVE_INFINITY);
  expect(whole).toBeGreaterThan(6);
  for (let failing = 1; failing <= whole; failing += 1) expect(await onFailingWire(failing)).toBe(failing);
});
