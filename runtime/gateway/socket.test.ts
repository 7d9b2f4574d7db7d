import { randomUUID } from "node:crypto";
import { afterEach, expect, test, vi } from "vitest";
import type { Signal } from "../../machines/protocol/signals.ts";
import { Refused } from "../sessions/conversations.ts";
import type { GatewayServices } from "./services.ts";
import { openSocket } from "./socket.ts";
import { type Client, type ConnectOptions, connect } from "./testing/client.ts";
import { type ManualTimers, manualTimers } from "./testing/manual-timers.ts";
import { plain } from "./testing/memory-conversations.ts";
import { LIMITS, loginOf, type Stage, startStage } from "./testing/stage.ts";
import { Together } from "./together.ts";

let stage: Stage;
let timers: ManualTimers;
afterEach(() => stage.gateway.close());

const open = async (changes: Partial<GatewayServices> = {}) => {
  timers = manualTimers();
  stage = await startStage({ timers, ...changes });
};

/** Connects and takes `session_opened`. */
async function join(options: ConnectOptions = {}): Promise<Client & { readonly id: string }> {
  const client = await connect(stage, options);
  const opened = await client.next();
  expect(opened.kind).toBe("session_opened");
  return Object.assign(client, { id: opened.session_id });
}

const nothing = () => {};
const silentLog = { debug: nothing, info: nothing, warn: nothing, error: nothing, flush: async () => {} };

const message = (text: string, id: string = randomUUID()) => ({ type: "message", id, text });
const ping = (id: string = randomUUID()) => ({ type: "ping", id });

/** What came back for one frame, in short. */
async function answerTo(client: Client, frame: unknown): Promise<readonly unknown[]> {
  client.send(frame);
  const { kind, data } = await client.next();
  return kind === "error" ? [kind, data["code"], data["id"]] : [kind, data["id"]];
}

test("[E-06] text up to the limit is taken, over it is refused by id, and the connection stays", async () => {
  await open();
  const client = await join();
  const id = randomUUID();
  const fits = ["a".repeat(15_000), "a".repeat(17_000), "é".repeat(32_768), "👩‍⚕️".repeat(1_000)];
  for (const text of fits) expect(await answerTo(client, message(text, id))).toEqual(["message_accepted", id]);
  expect(await answerTo(client, message(`${"é".repeat(32_768)}a`, id))).toEqual(["error", "too_large", id]);
  const resolution = { kind: "answered", selected: [], text: "a".repeat(65_537) };
  const resolve = { type: "resolve", id, interaction_id: randomUUID(), revision: 1, resolution };
  expect(await answerTo(client, resolve)).toEqual(["error", "too_large", id]);
  const whole = JSON.stringify(message("a", id));
  const padded = (length: number) => whole + " ".repeat(length - whole.length);
  expect(await answerTo(client, padded(262_144))).toEqual(["message_accepted", id]);
  expect(await answerTo(client, padded(262_145))).toEqual(["error", "too_large", id]);
  const late = `{"text":"${"a".repeat(300_000)}","type":"message","id":"${id}"}`;
  expect(await answerTo(client, late)).toEqual(["error", "too_large", id]);
  expect(await answerTo(client, padded(262_144 + 1_048_576))).toEqual(["error", "too_large", id]);
  expect(await answerTo(client, message("still here", id))).toEqual(["message_accepted", id]);
});

test("[E-06] an answer's words, choices and edits are bounded; edits are delivered without what is unknown in them", async () => {
  await open();
  const client = await join();
  const id = randomUUID();
  const resolve = (resolution: unknown) => ({
    type: "resolve",
    id,
    interaction_id: randomUUID(),
    revision: 1,
    resolution,
  });
  const long = "a".repeat(4_001);
  const refusals: [unknown, string][] = [
    [{ kind: "dismissed", reason: long }, "too_large"],
    [{ kind: "answered", selected: [], text: long }, "too_large"],
    [{ kind: "answered", selected: ["a".repeat(201)] }, "too_large"],
    [{ kind: "answered", selected: Array(100).fill("é".repeat(200)), text: "½".repeat(4_000) }, "message_accepted"],
    [{ kind: "answered", selected: Array(100).fill("漢".repeat(200)), text: "漢".repeat(4_000) }, "too_large"],
    [{ kind: "answered", selected: Array(101).fill("a") }, "invalid_command"],
    [{ kind: "accepted", edits: "a".repeat(65_535) }, "too_large"],
    [{ kind: "accepted", edits: { title: "", junk: "a".repeat(65_536) } }, "too_large"],
  ];
  for (const [resolution, code] of refusals)
    expect((await answerTo(client, resolve(resolution))).filter((part) => part !== "error")).toEqual([code, id]);
  expect(await answerTo(client, { ...resolve({ kind: "dismissed" }), id: "x".repeat(70_000) })).toEqual([
    "error",
    "invalid_command",
    undefined,
  ]);
  for (const edits of [{ title: "T", junk: "a".repeat(200_000) }, "all of it"])
    expect(await answerTo(client, resolve({ kind: "accepted", edits }))).toEqual(["message_accepted", id]);
  const delivered = stage.conversations.delivered.map(
    ({ command }) => command.type === "resolve" && command.resolution,
  );
  expect(delivered.slice(1)).toEqual([
    { kind: "accepted", edits: { title: "T" } },
    { kind: "accepted", edits: "all of it" },
  ]);
});

test("[E-06] what is nested too deep is no command, and the connection stays", async () => {
  await open();
  const client = await join();
  const id = randomUUID();
  const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
  const accept = (edits: string) =>
    `{"type":"resolve","id":"${id}","interaction_id":"${id}","revision":1,"resolution":{"kind":"accepted","edits":${edits}}}`;
  for (const levels of [63, 2_200, 100_000])
    expect(await answerTo(client, accept(nested(levels)))).toEqual(["error", "invalid_command", id]);
  expect(await answerTo(client, `{"type":"ping","id":"${id}","later":${nested(2_200)}}`)).toEqual([
    "error",
    "invalid_command",
    id,
  ]);
  expect(await answerTo(client, accept(nested(62)))).toEqual(["message_accepted", id]);
});

test("[E-06] a frame far beyond the limit ends the connection, and only that one", async () => {
  await open();
  const [client, other] = [await join(), await join()];
  client.send("x".repeat(50_000_000));
  expect((await client.closed).code).toBe(1006);
  expect(await answerTo(other, ping())).toEqual(["pong", expect.any(String)]);
});

test("[E-06] what is not a command is answered with a typed error that names the field", async () => {
  await open();
  const client = await join();
  const id = randomUUID();
  expect(await answerTo(client, "{")).toEqual(["error", "invalid_json", undefined]);
  expect(await answerTo(client, "null")).toEqual(["error", "invalid_command", undefined]);
  expect(await answerTo(client, { type: "dance", id })).toEqual(["error", "invalid_command", id]);
  expect(await answerTo(client, Buffer.from(JSON.stringify(message("a"))))).toEqual([
    "error",
    "invalid_command",
    undefined,
  ]);
  client.send({ type: "message", id, text: "a", context: { patient_id: 7 } });
  expect((await client.next()).data).toEqual({
    id,
    code: "invalid_command",
    message: "context.patient_id: Invalid input: expected string, received number",
  });
  expect(await answerTo(client, message("still here", id))).toEqual(["message_accepted", id]);
});

test("[E-06] a flood is limited for its socket alone, pings have an allowance of their own", async () => {
  await open();
  const [flooder, other] = [await join(), await join()];
  const ids = Array.from({ length: 10_000 }, () => randomUUID());
  for (const id of ids) flooder.send(message("a", id));
  flooder.send(ping());
  await vi.waitFor(() => expect(flooder.frames.at(-1)?.kind).toBe("pong"), 10_000);
  const refused = flooder.frames.filter((frame) => frame.data["code"] === "rate_limited");
  expect(refused.map((frame) => frame.data["id"])).toEqual(ids.slice(20));
  expect(stage.conversations.delivered).toHaveLength(20);
  expect(await answerTo(other, message("a"))).toEqual(["message_accepted", expect.any(String)]);
  timers.advance(50);
  flooder.send(message("b"));
  await vi.waitFor(() => expect(flooder.frames.at(-1)?.kind).toBe("message_accepted"));
});

test("[D-01] commands reach the session in the order in which they came, receipts when they are ready", async () => {
  await open();
  let letFirstGo = (): void => {};
  stage.conversations.beforeReceipt = (text) =>
    text === "slow" ? new Promise((resolve) => (letFirstGo = resolve)) : Promise.resolve();
  const client = await join();
  const [slow, quick, cancel] = [message("slow"), message("quick"), { type: "cancel", id: randomUUID() }];
  timers.advance(10_000);
  for (const command of [slow, quick, cancel]) client.send(command);
  expect([(await client.next()).data["id"], (await client.next()).data["id"]].sort()).toEqual(
    [quick.id, cancel.id].sort(),
  );
  expect(stage.conversations.delivered.map((command) => command.id)).toEqual([slow.id, quick.id, cancel.id]);
  letFirstGo();
  expect((await client.next()).data["id"]).toBe(slow.id);
});

test("[D-01] commands that come before the session is joined wait for it", async () => {
  await open();
  let join = (): void => {};
  stage.conversations.beforeAttach = () => new Promise((resolve) => (join = resolve));
  const client = await connect(stage);
  const [first, second] = [message("1"), message("2")];
  client.send(first);
  client.send(second);
  client.send(ping());
  expect((await client.next()).kind).toBe("pong");
  join();
  const kinds = [(await client.next()).kind, (await client.next()).kind, (await client.next()).kind];
  expect(kinds).toEqual(["session_opened", "message_accepted", "message_accepted"]);
  expect(stage.conversations.delivered.map((command) => command.id)).toEqual([first.id, second.id]);
});

test("[E-07] a quiet server beats every 25 s, unnumbered, for as long as the client pings", async () => {
  await open();
  const client = await join();
  for (let second = 0; second < 600; second += 20) {
    timers.advance(20_000);
    client.send(ping());
    await vi.waitFor(() => expect(client.frames.at(-1)?.kind).toBe("pong"));
  }
  expect(client.frames.filter((frame) => frame.kind === "heartbeat")).toEqual([]);
  timers.advance(24_999);
  expect(await answerTo(client, message("a"))).toEqual(["pong", expect.any(String)]);
  timers.advance(24_999);
  timers.advance(1);
  await vi.waitFor(() => expect(client.frames.at(-1)).toMatchObject({ kind: "heartbeat", data: {} }));
  expect(client.frames.at(-1)).not.toHaveProperty("seq");
});

test("[E-07] a client that is silent for 60 s is let go with 4408, also when it swallows everything", async () => {
  await open();
  const client = await join();
  const [id] = [client.id];
  timers.advance(59_999);
  expect(stage.gateway.sockets()).toBe(1);
  timers.advance(1);
  expect(await client.closed).toEqual({ code: 4408, reason: "heartbeat missed" });
  expect(client.frames.map((frame) => frame.kind)).toEqual(["session_opened", "heartbeat", "heartbeat"]);
  expect([stage.gateway.sockets(), stage.conversations.attached(), timers.waiting()]).toEqual([0, 0, 0]);
  expect((await join({ query: `?session=${id}` })).id).toBe(id);
});

test("[E-04] a login that ends is noticed within 30 s: signal, close 4401, nothing is left", async () => {
  await open();
  const client = await join();
  timers.advance(29_000);
  expect(stage.asked).toHaveLength(1);
  stage.platform = () => ({ kind: "no_login" });
  timers.advance(1_000);
  expect(await client.closed).toEqual({ code: 4401, reason: "login ended" });
  expect(client.frames.map((frame) => frame.kind)).toEqual(["session_opened", "heartbeat", "auth_expired"]);
  expect([stage.conversations.attached(), timers.waiting()]).toEqual([0, 0]);
});

test("[E-04] a message under a login that has ended starts nothing", async () => {
  await open();
  const client = await join();
  expect(await answerTo(client, message("in time"))).toEqual(["message_accepted", expect.any(String)]);
  stage.platform = () => ({ kind: "no_login" });
  timers.advance(6_000);
  client.send(message("too late"));
  client.send(message("much too late"));
  expect((await client.closed).code).toBe(4401);
  expect(stage.conversations.delivered).toHaveLength(1);
});

test("[E-04] a login ends when the platform said it would, even if it can't be asked", async () => {
  await open();
  const soon = loginOf("rivera");
  if (soon.kind !== "principal") throw new TypeError("not a login");
  stage.platform = () => ({ kind: "principal", principal: { ...soon.principal, expiresAt: timers.now() + 12_000 } });
  const client = await join();
  stage.platform = () => ({ kind: "unreachable" });
  timers.advance(12_000);
  expect((await client.closed).code).toBe(4401);
});

test("[E-04] a platform that can't be reached ends no login; new flags reach the session; another user ends it", async () => {
  await open();
  const client = await join();
  stage.platform = () => ({ kind: "unreachable" });
  timers.advance(20_000);
  expect(await answerTo(client, message("a"))).toEqual(["message_accepted", expect.any(String)]);
  stage.platform = () => loginOf("rivera", ["research"]);
  timers.advance(10_000);
  await vi.waitFor(() => expect(stage.conversations.refreshed).toHaveLength(1));
  expect(stage.conversations.refreshed[0]?.principal.flags).toEqual(["research"]);
  expect(stage.conversations.refreshed[0]?.credential).toEqual({ cookie: "user=rivera" });
  stage.platform = () => loginOf("chen");
  timers.advance(30_000);
  expect(await client.closed).toEqual({ code: 4403, reason: "not yours" });
});

test("[E-09] a socket carries its own session and no other, also when one is opened while the other streams", async () => {
  await open();
  const [first, second] = [await join(), await join()];
  const [sink] = stage.conversations.sinks(first.id as never);
  sink?.send(plain(second.id, "heartbeat", {}));
  sink?.send(plain(first.id, "heartbeat", {}));
  expect(await first.next()).toMatchObject({ kind: "heartbeat", session_id: first.id });
  expect(stage.errors).toEqual([expect.stringContaining("a signal of another session was stopped")]);
  first.socket.close();
  await first.closed;
  await vi.waitFor(() => expect(stage.conversations.sinks(first.id as never)).toEqual([]));
  expect(await answerTo(second, ping())).toEqual(["pong", expect.any(String)]);
});

test("[E-09] a session that is erased between upgrade and join is closed as not yours, others are told to come back", async () => {
  await open();
  const codes = [];
  for (const code of ["not_found", "draining", "session_unavailable"] as const) {
    stage.conversations.beforeAttach = () => Promise.reject(new Refused(code, "no"));
    const client = await connect(stage);
    expect((await client.next()).data).toEqual({ code, message: "no" });
    codes.push((await client.closed).code);
  }
  expect(codes).toEqual([4403, 1012, 1012]);
});

test("a session that fails to take a command says so by id", async () => {
  await open();
  stage.conversations.beforeReceipt = () => Promise.reject(new TypeError("bug"));
  const client = await join();
  const id = randomUUID();
  expect(await answerTo(client, message("a", id))).toEqual(["error", "unavailable", id]);
  expect(stage.errors).toEqual(["deliver failed bug"]);
});

const text = "½ ".repeat(1_000);
const streamed = (id: string, n: number): Signal => ({
  v: 1,
  kind: "llm_delta",
  session_id: id,
  seq: n + 1,
  at: "t",
  data: { block_id: randomBlock, offset: n * text.length, text },
});
const randomBlock = randomUUID();

test("E-02 a slow client gets merged text, whole and in order", async () => {
  await open({ limits: { ...LIMITS, send_buffer_bytes: 64_000_000 } });
  const client = await join();
  client.socket.pause();
  const [sink] = stage.conversations.sinks(client.id as never);
  for (let n = 0; n < 6_000; n++) sink?.send(streamed(client.id, n));
  client.socket.resume();
  const numbered = () =>
    client.frames.slice(1) as unknown as { seq: number; from_seq?: number; data: { text: string } }[];
  await vi.waitFor(() => expect(numbered().at(-1)?.seq).toBe(6_000), 10_000);
  let last = 0;
  for (const frame of numbered()) {
    expect(frame.from_seq ?? frame.seq).toBe(last + 1);
    last = frame.seq;
  }
  expect(numbered().length).toBeLessThan(6_000);
  expect(
    numbered()
      .map((frame) => frame.data.text)
      .join(""),
  ).toBe(text.repeat(6_000));
});

test("E-02 one frame larger than the send buffer gets through to a client that reads, with all that follows", async () => {
  await open();
  const client = await join();
  client.socket.pause();
  const [sink] = stage.conversations.sinks(client.id as never);
  const message = "x".repeat(5_000_000);
  sink?.send(plain(client.id, "error", { code: "unavailable", message }));
  for (let n = 0; n < 300; n++) sink?.send(streamed(client.id, n));
  client.socket.resume();
  await vi.waitFor(() => expect(client.frames.at(-1)).toMatchObject({ seq: 300 }), 10_000);
  expect(client.frames[1]?.data["message"]).toBe(message);
});

test("E-02 a client that is too slow is let go with 4413 and what it held is given up", async () => {
  await open();
  const client = await join();
  client.socket.pause();
  const [sink] = stage.conversations.sinks(client.id as never);
  let n = 0;
  while (stage.gateway.sockets() > 0 && n < 20_000) sink?.send(streamed(client.id, n++));
  expect([stage.gateway.sockets(), stage.conversations.attached()]).toEqual([0, 0]);
  client.socket.resume();
  expect(await client.closed).toEqual({ code: 4413, reason: "too slow" });
});

test("[TO6] the frames that end a turn leave together and at once, ahead of the work that comes after it", async () => {
  await open();
  const { conversations } = stage;
  const login = loginOf("rivera");
  if (login.kind !== "principal") throw new TypeError("not a login");
  const caller = { principal: login.principal, credential: { cookie: "user=rivera" } };
  const sessionId = await conversations.create(caller);
  const left: string[] = [];
  /** The end of the code that runs now. */
  const ends: (() => void)[] = [];
  const native = {
    send: (frame: string) => void left.push((JSON.parse(frame) as Signal).kind),
    cork(work: () => void) {
      left.push("together:");
      work();
    },
    isOpen: () => true,
    failed: (error: unknown) => expect.fail(String(error)),
  };
  const together = new Together(native, (work) => ends.push(work));
  const wire = {
    send: (frame: string) => together.send(frame),
    flush: () => together.flush(),
    buffered: () => 0,
    end: () => expect.fail("ended"),
  };
  const services = { conversations, authenticate: async () => login, limits: LIMITS, log: silentLog };
  const socket = openSocket(wire, { sessionId, caller }, services, timers);
  const sink = await vi.waitFor(() => conversations.sinks(sessionId)[0] ?? expect.fail("not joined"));
  for (const end of ends.splice(0)) end();
  expect(left.splice(0)).toEqual(["session_opened"]);

  const turn_id = randomUUID();
  const usage = { input: 1, output: 1, thinking: 0, cached: 0 };
  const numbered = { v: 1, session_id: sessionId, at: "t" } as const;
  const data = { turn_id, outcome: "completed", usage, ms: 1, steps: 1 } as const;
  sink.send({ ...numbered, kind: "turn_completed", seq: 1, turn_id, data });
  expect(left).toEqual([]);
  const state = { status: "resting", pending_interaction: null } as const;
  sink.send({ ...numbered, kind: "state_changed", seq: 2, data: state });
  expect(left).toEqual(["together:", "turn_completed", "state_changed"]);
  socket.closed();
});
