import { randomUUID } from "node:crypto";
import { HttpAgent } from "@ag-ui/client";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { type SessionId, userId } from "../../machines/ids.ts";
import { commandOf, sessionOf } from "../agui/ids.ts";
import { ModelUnavailable } from "../models/failures.ts";
import { after, calls, fails, type Move, says, scriptedModel } from "../models/scripted.ts";
import { askingOn } from "../sessions/testing/asking-scene.ts";
import { gate } from "../sessions/testing/held.ts";
import { database, node, type SceneOptions } from "../sessions/testing/scene.ts";
import { inputOf, post, reading } from "./testing/run-client.ts";
import { type Stage, startStage } from "./testing/stage.ts";

let db: Awaited<ReturnType<typeof database>>;
let stage: Stage;
beforeAll(async () => {
  db = await database();
});
afterEach(() => stage.gateway.close());
afterAll(() => db.end());

async function open(moves: readonly [Move, ...Move[]], options: Partial<SceneOptions> = {}) {
  const model = scriptedModel(...moves);
  const one = node(db.store, { model, ...options });
  stage = await startStage({ conversations: one.conversations });
  return { ...one, model };
}

/** The protocol's own client, and every event it was told. */
function agentFor(threadId: string, user = "rivera") {
  const agent = new HttpAgent({
    url: `${stage.gateway.url}/v1/agui`,
    threadId,
    headers: { cookie: `user=${user}`, origin: stage.origin },
  });
  const told: string[] = [];
  const outcomes: unknown[] = [];
  agent.subscribe({
    onEvent: ({ event }) => void told.push(event.type),
    onRunFinishedEvent: ({ event }) => void outcomes.push(event.outcome?.type),
    onRunErrorEvent: ({ event }) => void outcomes.push(event.code),
  });
  const say = (content: string, id: string = randomUUID()) => agent.addMessage({ id, role: "user", content });
  const held = () => agent.messages.map(({ role, content }) => [role, content]);
  return { agent, told, outcomes, say, held };
}

const sessionIn = (threadId: string): SessionId => sessionOf(threadId, userId("rivera"));
const storedTexts = async (id: SessionId) =>
  (await db.store.turns.page(id, 100)).map(({ outcome, blocks }) => [
    outcome,
    ...blocks.map(({ content }) => content["text"]),
  ]);

test("[AG15] a turn with thinking and tools is a run of the protocol's own client, and the next run goes on from it", async () => {
  const find = { name: "find", run: async () => ({ kind: "ok", text: "found" }) as const };
  const { model, directory } = await open([calls("find"), says("It does.", { thinking: "hm" }), says("Still.")], {
    tools: [find as never],
  });
  const { agent, told, outcomes, say, held } = agentFor("thread-a");
  say("Does it?");
  await agent.runAgent({ runId: "run-1" });
  expect(told.filter((type) => type !== "CUSTOM")).toEqual([
    "RUN_STARTED",
    "STATE_SNAPSHOT",
    "TOOL_CALL_START",
    "TOOL_CALL_END",
    "TOOL_CALL_RESULT",
    "REASONING_START",
    "REASONING_MESSAGE_START",
    "REASONING_MESSAGE_CONTENT",
    "REASONING_MESSAGE_END",
    "REASONING_END",
    "TEXT_MESSAGE_START",
    "TEXT_MESSAGE_CONTENT",
    "TEXT_MESSAGE_CONTENT",
    "TEXT_MESSAGE_END",
    "RUN_FINISHED",
  ]);
  expect(agent.state).toMatchObject({ session_id: sessionIn("thread-a"), pending_interaction: null });
  say("And now?");
  await agent.runAgent({ runId: "run-2" });
  expect(held()).toEqual([
    ["user", "Does it?"],
    ["assistant", undefined],
    ["tool", "ok"],
    ["reasoning", "hm"],
    ["assistant", "It does."],
    ["user", "And now?"],
    ["assistant", "Still."],
  ]);
  expect(outcomes).toEqual(["success", "success"]);
  expect(model.requests.at(-1)?.entries.map(({ kind }) => kind)).toEqual([
    "user",
    "assistant",
    "tool_result",
    "assistant",
    "user",
  ]);
  await directory.whenEmpty();
});

test("[AG16] a run whose client was cut goes on; posted again it is the same run, to the last word", async () => {
  const hold = gate();
  const twoHalves: Move = async function* (request, signal, turn) {
    yield { type: "text", delta: "first half, " };
    yield* after(hold.opened, says("second half"))(request, signal, turn);
  };
  const { model } = await open([twoHalves]);
  const { agent, say, held, outcomes } = agentFor("thread-b");
  say("go");
  const seen = gate();
  const { unsubscribe } = agent.subscribe({ onTextMessageContentEvent: () => seen.open() });
  const cut = agent.runAgent({ runId: "run-1" }).catch(() => undefined);
  await seen.opened;
  unsubscribe();
  agent.abortRun();
  await cut;
  const restated = gate();
  agent.subscribe({ onMessagesSnapshotEvent: () => restated.open() });
  const again = agent.runAgent({ runId: "run-1" });
  await restated.opened;
  hold.open();
  await again;
  const text = (await storedTexts(sessionIn("thread-b")))[0]?.[1];
  expect(held()).toEqual([
    ["user", "go"],
    ["assistant", text],
  ]);
  await agent.runAgent({ runId: "run-1" });
  expect(held()).toEqual([
    ["user", "go"],
    ["assistant", text],
  ]);
  expect([model.requests.length, outcomes]).toEqual([1, ["abort", "success", "success"]]);
});

test("[AG16] a run that nobody listens to is finished and stored", async () => {
  const hold = gate();
  const { directory } = await open([after(hold.opened, says("done"))]);
  const leaving = new AbortController();
  const response = await post(stage, inputOf({ threadId: "thread-c" }), { signal: leaving.signal });
  const reader = reading(response);
  await reader.next();
  leaving.abort();
  hold.open();
  await vi.waitFor(async () => expect(await storedTexts(sessionIn("thread-c"))).toEqual([["completed", "done"]]));
  await directory.whenEmpty();
});

test("[AG17] two runs of one thread are told one after the other, each its own turn; a stopped one is cancelled", async () => {
  const hold = gate();
  const { conversations } = await open([after(hold.opened, says("one")), says("two"), says("three")]);
  const posted = async (runId: string, content: string) =>
    reading(
      await post(stage, inputOf({ threadId: "thread-d", runId, messages: [{ id: "u", role: "user", content }] })),
    );
  const first = await posted("run-1", "a");
  const second = await posted("run-2", "b");
  const third = await posted("run-3", "c");
  const secondAgain = await posted("run-2", "b");
  expect((await third.next())?.type).toBe("RUN_STARTED");
  const state = (await third.next()) as { snapshot?: { turn_id: string } };
  const id = sessionIn("thread-d");
  const caller = {
    principal: { userId: userId("rivera"), name: "", flags: [], preferences: {} },
    credential: { cookie: "" },
  };
  const attachment = await conversations.attach(id, caller, undefined, { send() {}, close() {} });
  await attachment.deliver({ type: "cancel", id: randomUUID(), turn_id: state.snapshot?.turn_id });
  attachment.detach();
  hold.open();
  const textOf = async (reader: typeof first) => {
    const events = await reader.rest();
    const outcome = events.flatMap((event) => (event.type === "RUN_FINISHED" ? [event.outcome.type] : []));
    return [events.flatMap((event) => ("delta" in event ? [event.delta] : [])).join(""), ...outcome];
  };
  expect(await Promise.all([first, second, third, secondAgain].map(textOf))).toEqual([
    ["one", "success"],
    ["two", "success"],
    ["", "cancelled"],
    ["two", "success"],
  ]);
  expect(await textOf(await posted("run-3", "c"))).toEqual(["", "cancelled"]);
  const other = await post(
    stage,
    inputOf({ threadId: "thread-d", runId: "run-1", messages: [{ id: "u", role: "user", content: "z" }] }),
  );
  expect(other.status).toBe(409);
});

test("[AG17] a turn that fails after it showed text is a run that failed with its code", async () => {
  await open([fails(new ModelUnavailable("overloaded"), "half ")]);
  const { agent, say, outcomes } = agentFor("thread-e");
  say("go");
  await agent.runAgent({ runId: commandOf("x") }).catch(() => undefined);
  expect(outcomes).toEqual(["model_unavailable"]);
  expect(await storedTexts(sessionIn("thread-e"))).toEqual([["failed", "half "]]);
});

test("[AG18] a question is an interrupt; its answer is the next run, once; another answer comes too late", async () => {
  const { conversations, directory } = await askingOn(db.store);
  stage = await startStage({ conversations });
  const { agent, say, held, outcomes } = agentFor("thread-f");
  say("ask me");
  await agent.runAgent({ runId: "run-1" });
  const [interrupt] = agent.pendingInterrupts;
  expect(interrupt).toMatchObject({ reason: "single_choice", message: "Capsules or powder?" });
  const interruptId = interrupt?.id ?? "";
  await expect(agent.runAgent({ runId: "run-x" })).rejects.toThrow(/pending interrupt/);
  const answer = (selected: string) => [
    { interruptId, status: "resolved" as const, payload: { selected: [selected] } },
  ];

  const wrong = await post(stage, inputOf({ threadId: "thread-f", runId: "run-w", resume: answer("pills") }));
  expect((await reading(wrong).rest()).at(-1)).toMatchObject({ type: "RUN_ERROR", code: "interaction_invalid" });

  await agent.runAgent({ runId: "run-2", resume: answer("powder") });
  expect(outcomes).toEqual(["interrupt", "success"]);
  expect([agent.pendingInterrupts, agent.state.pending_interaction]).toEqual([[], null]);
  const told = held();
  expect(told.at(-1)?.[1]).toContain("Powder");

  await agent.runAgent({ runId: "run-2", resume: answer("powder") });
  expect(held()).toEqual(told);
  const late = await post(stage, inputOf({ threadId: "thread-f", runId: "run-3", resume: answer("capsules") }));
  expect((await reading(late).rest()).at(-1)).toMatchObject({ type: "RUN_ERROR", code: "interaction_stale" });
  const turns = await db.store.turns.page(sessionIn("thread-f"), 100);
  expect(turns.map(({ cause, outcome }) => [cause, outcome])).toEqual([
    ["message", "awaiting"],
    ["resolution", "completed"],
  ]);
  await directory.whenEmpty();
});

test("[AG18] an answer without a revision is taken once, and told again when its run is posted again", async () => {
  const { conversations } = await askingOn(db.store);
  stage = await startStage({ conversations });
  const { agent, say } = agentFor("thread-h");
  say("propose something");
  await agent.runAgent({ runId: "run-1" });
  const [interactionId] = (agent.pendingInterrupts[0]?.id ?? "").split(".");
  const resume = [{ interruptId: interactionId, status: "resolved", payload: { edits: { title: "T", junk: "j" } } }];
  const last = async () => {
    const answer = await post(stage, inputOf({ threadId: "thread-h", runId: "run-2", messages: [], resume }));
    return (await reading(answer).rest()).at(-1)?.type;
  };
  expect([await last(), await last()]).toEqual(["RUN_FINISHED", "RUN_FINISHED"]);
  const turns = await db.store.turns.page(sessionIn("thread-h"), 100);
  expect(turns.map(({ cause, outcome, input }) => [cause, outcome, "resolution" in input && input.resolution])).toEqual(
    [
      ["message", "awaiting", false],
      ["resolution", "completed", { kind: "accepted", edits: { title: "T" } }],
    ],
  );
});

test("[AG18] an interrupt that is dropped for new words is superseded; the same run posted again asks again", async () => {
  const { conversations } = await askingOn(db.store);
  stage = await startStage({ conversations });
  const { agent, say, outcomes } = agentFor("thread-g");
  say("propose something");
  await agent.runAgent({ runId: "run-1" });
  const first = agent.pendingInterrupts;
  const again = reading(await post(stage, inputOf({ threadId: "thread-g", messages: agent.messages })));
  expect((await again.rest()).at(-1)).toMatchObject({ outcome: { type: "interrupt", interrupts: first } });
  say("never mind");
  await agent.runAgent({ runId: "run-2", resume: [{ interruptId: first[0]?.id ?? "", status: "cancelled" }] });
  expect(outcomes).toEqual(["interrupt", "success"]);
  const turns = await db.store.turns.page(sessionIn("thread-g"), 100);
  expect(turns.map(({ cause, outcome }) => [cause, outcome])).toEqual([
    ["message", "awaiting"],
    ["message", "completed"],
  ]);
});
