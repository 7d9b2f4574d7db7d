import { randomUUID } from "node:crypto";
import { afterEach, expect, test } from "vitest";
import type { SessionId } from "../../machines/ids.ts";
import type { PendingInteraction } from "../../machines/protocol/interactions.ts";
import type { Signal } from "../../machines/protocol/signals.ts";
import type { SessionState, Turn } from "../../machines/protocol/turns.ts";
import { commandOf, sessionOf } from "../agui/ids.ts";
import type { GatewayServices } from "./services.ts";
import { type ManualTimers, manualTimers } from "./testing/manual-timers.ts";
import { plain } from "./testing/memory-conversations.ts";
import { inputOf, post, reading, refusalOf } from "./testing/run-client.ts";
import { type Stage, startStage } from "./testing/stage.ts";

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

const stored = (turn_id: string, outcome?: Turn["outcome"]): Turn => ({
  turn_id,
  n: 1,
  cause: "message",
  input: { text: "hello" },
  ...(outcome && { outcome }),
  blocks: [{ block_id: randomUUID(), idx: 0, type: "text", content: { text: "it does" }, attempt: 1 }],
});

test("[AG6] what is wrong before the run is an ordinary error, and nobody is attached", async () => {
  await open();
  const codes = async (body: unknown, options = {}) => await refusalOf(await post(stage, body, options));
  expect(await codes(inputOf(), { origin: "https://evil.example" })).toEqual([403, "origin_not_allowed"]);
  expect(await codes(inputOf(), { origin: undefined })).toEqual([403, "origin_not_allowed"]);
  expect(stage.asked).toEqual([]);
  expect(await codes(inputOf(), { user: "" })).toEqual([401, "auth_required"]);
  expect(await codes(inputOf(), { contentType: "text/plain" })).toEqual([415, "unsupported_media_type"]);
  expect(await codes("{")).toEqual([400, "invalid_json"]);
  expect(await codes(inputOf({ threadId: 7 }))).toEqual([400, "invalid_request"]);
  expect(await codes(inputOf({ messages: [{ id: "u1", role: "user", content: 7 }] }))).toEqual([
    400,
    "invalid_request",
  ]);
  expect(await codes(inputOf({ forwardedProps: { patient_id: 7 } }))).toEqual([400, "invalid_request"]);
  const nothing = { messages: [], tools: null, context: null, resume: null, forwardedProps: null };
  expect(await codes(inputOf(nothing))).toEqual([400, "invalid_command"]);
  const long = [{ id: "u1", role: "user", content: "a".repeat(65_537) }];
  expect(await codes(inputOf({ messages: long }))).toEqual([413, "too_large"]);
  expect(await codes(`${JSON.stringify(inputOf())}${" ".repeat(4_194_304)}`)).toEqual([413, "too_large"]);
  const dismissed = (reason: string) => [
    { interruptId: `${question.id}.3`, status: "resolved", payload: { kind: "dismissed", reason } },
  ];
  const choosing = (selected: unknown) => answered({ selected });
  expect(await codes(inputOf({ resume: dismissed("a".repeat(4_001)) }))).toEqual([413, "too_large"]);
  expect(await codes(inputOf({ resume: dismissed("a".repeat(3_500_000)) }))).toEqual([413, "too_large"]);
  expect(await codes(inputOf({ resume: answered({ edits: { junk: "a".repeat(300_000) } }) }))).toEqual([
    413,
    "too_large",
  ]);
  expect(await codes(inputOf({ resume: choosing(Array(101).fill("a")) }))).toEqual([400, "invalid_command"]);
  expect(await codes(inputOf({ resume: choosing({ a: 1 }) }))).toEqual([400, "invalid_command"]);
  const deep = JSON.stringify(inputOf({ messages: [{ id: "a1", role: "assistant", content: "deep" }] }));
  const nested = (levels: number) => deep.replace('"deep"', "[".repeat(levels) + "]".repeat(levels));
  for (const body of [nested(62), nested(200_000), nested(200_000)])
    expect(await codes(body)).toEqual([400, "invalid_request"]);
  expect(stage.conversations.delivered).toEqual([]);
  for (const [code, status] of [
    ["queue_full", 429],
    ["conflict", 409],
    ["draining", 503],
  ] as const) {
    stage.conversations.answer = (session, { id }) => plain(session, "error", { id, code, message: "no" });
    expect(await codes(inputOf())).toEqual([status, code]);
  }
  const got = await fetch(`${stage.gateway.url}/v1/agui`, { method: "PUT" });
  expect([got.status, got.headers.get("allow")]).toEqual([405, "POST"]);
  stage.conversations.answer = () => undefined;
  stage.gateway.announceDrain(1);
  expect(await codes(inputOf())).toEqual([503, "draining"]);
  expect([stage.conversations.attached(), stage.errors]).toEqual([0, []]);
});

test("[AG7] a thread is a session: a uuid is itself, other text is the owner's own, a foreign one is not found", async () => {
  await open();
  const mine = randomUUID();
  const run = async (threadId: string, user: string) => {
    stage.conversations.answer = (session, { id }) => plain(session, "error", { id, code: "queue_full", message: "" });
    await post(stage, inputOf({ threadId }), { user });
    return stage.conversations.delivered.at(-1)?.session;
  };
  expect(await run(mine, "rivera")).toBe(mine);
  expect(await run(mine.toUpperCase(), "rivera")).toBe(mine);
  expect(await run("chat", "rivera")).toBe(sessionOf("chat", rivera));
  expect(await run("chat", "chen")).toBe(sessionOf("chat", "chen" as never));
  expect(sessionOf("chat", "chen" as never)).not.toBe(sessionOf("chat", rivera));
  expect(await refusalOf(await post(stage, inputOf({ threadId: mine }), { user: "chen" }))).toEqual([404, "not_found"]);
});

test("[AG8] the user's last message becomes the command; what has no place in it is named", async () => {
  await open();
  const turn = randomUUID();
  stage.conversations.stored = { turns: [stored(turn, "completed")], state: resting };
  stage.conversations.answer = (session, { id }) =>
    plain(session, "message_accepted", { id, turn_id: turn, queued: false, duplicate: true });
  const image = { type: "image", source: { type: "url", value: "http://x.example/a.png" } };
  const input = inputOf({
    messages: [
      { id: "u1", role: "user", content: "old" },
      { id: "a1", role: "assistant", content: "answer" },
      { id: "u2", role: "user", content: [{ type: "text", text: "new" }, image] },
    ],
    tools: [{ name: "pick", description: "" }],
    context: [
      { description: "patient_id", value: "pat-1" },
      { description: "weather", value: "rain" },
    ],
    forwardedProps: { plan_id: "plan-1", entry_point: "check", framework: true },
  });
  const events = await reading(await post(stage, input)).rest();
  expect(events[1]).toEqual({
    type: "CUSTOM",
    name: "input_ignored",
    value: { fields: ["tools", "context: weather", "content part: image"] },
  });
  expect(stage.conversations.delivered.map(({ command }) => command)).toEqual([
    {
      type: "message",
      id: commandOf("run-1"),
      text: "new",
      context: { patient_id: "pat-1", plan_id: "plan-1" },
      entry_point: "check",
    },
  ]);
});

const question: PendingInteraction = {
  id: randomUUID(),
  revision: 3,
  kind: "multi_choice",
  prompt: "Which?",
  schema: { type: "array" },
};
const answered = (payload: unknown, interruptId = `${question.id}.3`) => [{ interruptId, status: "resolved", payload }];
const asking: SessionState = { status: "awaiting", pending_interaction: question, queue: [] };

test("[AG9] an answer resolves the revision it was given to; what else it is, the run says", async () => {
  await open();
  stage.conversations.stored = { turns: [], state: asking };
  const cases: [unknown, unknown][] = [
    [answered({ selected: ["a"], text: "so" }), [3, { kind: "answered", selected: ["a"], text: "so" }]],
    [answered(["a", "b"]), [3, { kind: "answered", selected: ["a", "b"] }]],
    [answered("a", question.id), [3, { kind: "answered", selected: ["a"] }]],
    [answered({ edits: { title: "x" } }, `${question.id}.2`), [2, { kind: "accepted", edits: { title: "x" } }]],
    [answered(undefined), [3, { kind: "accepted" }]],
    [[{ interruptId: question.id, status: "cancelled", payload: "no" }], [3, { kind: "dismissed", reason: "no" }]],
    [
      [...answered(["x"], `${randomUUID()}.1`), ...answered(["a"])],
      [3, { kind: "answered", selected: ["a"] }],
    ],
  ];
  const results = ["stale", "expired", "invalid", "not_found", "stale", "stale", "stale"] as const;
  for (const [at, [resume, expected]] of cases.entries()) {
    stage.conversations.answer = (session, { id }) =>
      plain(session, "interaction_receipt", {
        id,
        interaction_id: question.id,
        result: results[at] ?? "stale",
        open: null,
        ...(results[at] === "invalid" && { message: "pick one" }),
      });
    const messages = [{ id: "a1", role: "assistant", content: "Which?" }];
    const events = await reading(await post(stage, inputOf({ messages, resume }))).rest();
    expect(events.map(({ type }) => type)).toEqual(["RUN_STARTED", "RUN_ERROR"]);
    expect(events[1]).toMatchObject({ code: `interaction_${results[at]}` });
    if (results[at] === "invalid") expect(events[1]).toMatchObject({ message: "pick one" });
    const command = stage.conversations.delivered.at(-1)?.command;
    expect(command).toEqual({
      type: "resolve",
      id: commandOf("run-1"),
      interaction_id: question.id,
      revision: (expected as [number])[0],
      resolution: (expected as [number, unknown])[1],
    });
  }
  const before = stage.conversations.delivered.length;
  const unknown = await reading(await post(stage, inputOf({ resume: answered(["a"], "what") }))).rest();
  expect(unknown[1]).toMatchObject({ type: "RUN_ERROR", code: "interaction_not_found" });
  expect(stage.conversations.delivered).toHaveLength(before);
  expect(stage.conversations.attached()).toBe(0);
});

test("[AG9] an abandoned question followed by words of the user is superseded by them", async () => {
  await open();
  stage.conversations.stored = { turns: [], state: asking };
  stage.conversations.answer = (session, { id }) => plain(session, "error", { id, code: "queue_full", message: "" });
  const resume = [{ interruptId: `${question.id}.3`, status: "cancelled" }];
  await post(stage, inputOf({ resume }));
  expect(stage.conversations.delivered.at(-1)?.command).toEqual({
    type: "message",
    id: commandOf("run-1"),
    text: "hello",
  });
});

test("[AG14] the same run posted again is told from what is stored; one that was withdrawn is cancelled", async () => {
  await open();
  const turn = randomUUID();
  stage.conversations.answer = (session: SessionId, { id }) =>
    plain(session, "message_accepted", { id, turn_id: turn, queued: false, duplicate: true });
  stage.conversations.stored = { turns: [stored(turn, "completed")], state: resting };
  const again = await reading(await post(stage, inputOf())).rest();
  expect(again.map(({ type }) => type)).toEqual(["RUN_STARTED", "STATE_SNAPSHOT", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]);
  expect(again[2]).toMatchObject({ messages: [{ id: "u1" }, { role: "assistant", content: "it does" }] });

  stage.conversations.stored = { turns: [stored(turn, "awaiting")], state: asking };
  const open1 = await reading(await post(stage, inputOf())).rest();
  expect(open1.at(-1)).toMatchObject({ outcome: { type: "interrupt", interrupts: [{ id: `${question.id}.3` }] } });

  stage.conversations.stored = {
    turns: [stored(randomUUID(), "completed")],
    state: { ...resting, status: "hibernated" },
  };
  const gone = await reading(await post(stage, inputOf())).rest();
  expect(gone.at(-1)).toMatchObject({ type: "RUN_FINISHED", outcome: { type: "cancelled" } });
});

test("[AG14] an answer that named its question without a revision is the same command when it is posted again", async () => {
  await open();
  const turn = randomUUID();
  stage.conversations.answer = (session: SessionId, { id }) =>
    plain(session, "interaction_receipt", {
      id,
      interaction_id: question.id,
      result: "accepted",
      turn_id: turn,
      open: null,
      duplicate: true,
    });
  const shows = (id: string, revision: number): Turn => ({
    ...stored(randomUUID(), "awaiting"),
    blocks: [
      {
        block_id: randomUUID(),
        idx: 0,
        type: "interaction_request",
        content: { interaction_id: id, revision, kind: "multi_choice", prompt: "Which?" },
        attempt: 1,
      },
    ],
  });
  const other = randomUUID();
  const told = [shows(question.id, 2), shows(question.id, 3), shows(other, 1), stored(turn, "completed")];
  const askedLater = { ...asking, pending_interaction: { ...question, id: randomUUID(), revision: 1 } };
  const twoAnswers = [...answered("x", randomUUID()), ...answered("a", question.id.toUpperCase())];
  for (const state of [asking, resting, askedLater]) {
    stage.conversations.stored = { turns: told, state };
    for (const resume of [answered("a", question.id), twoAnswers]) {
      const events = await reading(await post(stage, inputOf({ resume }))).rest();
      expect(events.at(-1)).toMatchObject({ type: "RUN_FINISHED", outcome: { type: "success" } });
      expect(stage.conversations.delivered.at(-1)?.command).toEqual({
        type: "resolve",
        id: commandOf("run-1"),
        interaction_id: question.id,
        revision: 3,
        resolution: { kind: "answered", selected: ["a"] },
      });
    }
  }
  const before = stage.conversations.delivered.length;
  const unknown = await reading(await post(stage, inputOf({ resume: answered("a", randomUUID()) }))).rest();
  expect(unknown.at(-1)).toMatchObject({ type: "RUN_ERROR", code: "interaction_not_found" });
  expect(stage.conversations.delivered).toHaveLength(before);
});

test("[AG14] a run whose turn settled while it was posted again is told from the page; one that never comes ends with the session's sleep", async () => {
  await open();
  const turn = randomUUID();
  const duplicate = (session: SessionId, id: string) =>
    plain(session, "message_accepted", { id, turn_id: turn, queued: false, duplicate: true });
  stage.conversations.answer = (session, { id }) => {
    stage.conversations.stored = { turns: [stored(turn, "completed")], state: resting };
    return duplicate(session, id);
  };
  const settled = await reading(await post(stage, inputOf())).rest();
  expect(settled.map(({ type }) => type)).toContain("MESSAGES_SNAPSHOT");
  expect(settled.at(-1)).toMatchObject({ outcome: { type: "success" } });

  stage.conversations.stored = { turns: [], state: { ...resting, status: "turning" } };
  stage.conversations.answer = (session, { id }) => duplicate(session, id);
  const reader = reading(await post(stage, inputOf()));
  expect([(await reader.next())?.type, (await reader.next())?.type]).toEqual(["RUN_STARTED", "STATE_SNAPSHOT"]);
  const [sink] = stage.conversations.sinks(SESSION);
  const asleep = (status: SessionState["status"], seq: number): Signal => ({
    v: 1,
    kind: "state_changed",
    session_id: SESSION,
    seq,
    at: "2026-01-01T00:00:00Z",
    data: { status, pending_interaction: null },
  });
  sink?.send(asleep("resting", 1));
  sink?.send(asleep("hibernated", 2));
  expect(await reader.rest()).toEqual([
    expect.objectContaining({ type: "RUN_FINISHED", outcome: { type: "cancelled" } }),
  ]);
});
