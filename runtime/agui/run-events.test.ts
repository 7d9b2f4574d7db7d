import { describe, expect, test } from "vitest";
import { numbered, SESSION, TURN, uuid } from "../../client/testing/signals.ts";
import type { PendingInteraction } from "../../machines/protocol/interactions.ts";
import type { NumberedKind, SignalData } from "../../machines/protocol/signals.ts";
import type { SessionState, Turn } from "../../machines/protocol/turns.ts";
import type { AguiEvent, ForeignMessage } from "./events.ts";
import { RunEvents, type RunFacts } from "./run-events.ts";
import { check } from "./testing/agent.ts";

const asked: ForeignMessage = { id: "u1", role: "user", content: "hello" };
const facts: RunFacts = {
  threadId: "thread",
  runId: "run",
  sessionId: SESSION,
  turnId: TURN,
  messages: [asked],
  ignored: [],
};
const timestamp = Date.parse("2026-08-01T09:00:00.000Z");

/** A run and what it said, without the times, each event checked against the protocol. */
function listen(changes: Partial<RunFacts> = {}) {
  const said: AguiEvent[] = [];
  const run = new RunEvents({ ...facts, ...changes }, (event) => {
    check(event);
    said.push(event);
  });
  let seq = 0;
  const hear = <K extends NumberedKind>(kind: K, data: SignalData<K>, turn_id: string | undefined = TURN) => {
    seq += 1;
    run.hear(numbered(kind, seq, data, turn_id === undefined ? {} : { turn_id }));
  };
  return {
    run,
    hear,
    start: () => hear("turn_started", { turn_id: TURN, n: 1, cause: "message", input: { text: "hello" } }),
    state: (pending_interaction: PendingInteraction | null, status: SessionState["status"] = "awaiting") => {
      seq += 1;
      run.hear(numbered("state_changed", seq, { status, pending_interaction }));
    },
    /** All of it, and forgets it. */
    take: () => said.splice(0).map(({ timestamp: _, ...event }) => event),
    times: () => said.map((event) => event.timestamp),
  };
}

const usage = { input: 10, output: 4, thinking: 3, cached: 2 };
const completed = { turn_id: TURN, outcome: "completed" as const, usage, ms: 7, steps: 2 };
const text = (block: number, attempt = 1) => ({ block_id: uuid(block), idx: 0, type: "text", attempt });
const messageOf = (block: number, attempt = 1) => `${TURN}.${uuid(block)}${attempt === 1 ? "" : `.${attempt}`}`;
const run = { threadId: "thread", runId: "run" };
const success = { type: "success", pendingToolCallIds: [] };
const snapshotOf = (pending: PendingInteraction | null) => ({
  type: "STATE_SNAPSHOT",
  snapshot: { session_id: SESSION, turn_id: TURN, pending_interaction: pending },
});
const opening = [{ type: "RUN_STARTED", ...run, protocolVersion: "1.0" }, snapshotOf(null)];

const question: PendingInteraction = {
  id: uuid(9),
  revision: 2,
  kind: "single_choice",
  prompt: "Which patient?",
  schema: { type: "array", items: { enum: ["a", "b"] } },
  options: [{ id: "a", label: "A" }],
  expires_at: "2026-08-02T09:00:00.000Z",
};
const interrupt = {
  id: `${uuid(9)}.2`,
  reason: "single_choice",
  message: "Which patient?",
  responseSchema: {
    type: "object",
    properties: { selected: question.schema, text: { type: "string", maxLength: 4_000 } },
    required: ["selected"],
  },
  expiresAt: question.expires_at,
  metadata: { interaction_id: uuid(9), revision: 2, options: question.options },
};

test("[AG1] a turn with thinking, tools, a card and text is one run", () => {
  const { run: events, hear, start, take, times } = listen({ ignored: ["tools"] });
  events.begin();
  start();
  hear("skill_loaded", { name: "check", eager: false });
  hear("block_started", { ...text(20), type: "thinking" });
  hear("thinking_summary", { block_id: uuid(20), offset: 0, text: "hm" });
  hear("block_finished", { ...text(20), type: "thinking", content: { text: "hm" } });
  hear("tool_call_started", { call_id: "c1", name: "interaction_check", title: "Checking" });
  hear("tool_call_progress", { call_id: "c1", name: "interaction_check", progress: 1, total: 2 });
  hear("tool_call_finished", { call_id: "c1", name: "interaction_check", outcome: "ok", ms: 12 });
  hear("block_started", { ...text(21), type: "citations" });
  hear("citations", { block_id: uuid(21), sources: [] });
  hear("block_finished", { ...text(21), type: "citations", content: { sources: [] } });
  hear("block_started", text(22));
  hear("llm_delta", { block_id: uuid(22), offset: 0, text: "It " });
  hear("llm_delta", { block_id: uuid(22), offset: 3, text: "does" });
  hear("block_finished", { ...text(22), content: { text: "It does." } });
  expect(times()).toEqual([
    undefined,
    undefined,
    undefined,
    ...times()
      .slice(3)
      .map(() => timestamp),
  ]);
  hear("turn_completed", completed);
  expect(take()).toEqual([
    opening[0],
    { type: "CUSTOM", name: "input_ignored", value: { fields: ["tools"] } },
    opening[1],
    { type: "CUSTOM", name: "skill_loaded", value: { name: "check", eager: false } },
    { type: "REASONING_START", messageId: messageOf(20) },
    { type: "REASONING_MESSAGE_START", messageId: messageOf(20), role: "reasoning" },
    { type: "REASONING_MESSAGE_CONTENT", messageId: messageOf(20), delta: "hm" },
    { type: "REASONING_MESSAGE_END", messageId: messageOf(20) },
    { type: "REASONING_END", messageId: messageOf(20) },
    { type: "TOOL_CALL_START", toolCallId: "c1", toolCallName: "interaction_check", parentMessageId: "c1.call" },
    { type: "TOOL_CALL_END", toolCallId: "c1" },
    {
      type: "CUSTOM",
      name: "tool_call_progress",
      value: { call_id: "c1", name: "interaction_check", progress: 1, total: 2 },
    },
    { type: "TOOL_CALL_RESULT", messageId: "c1.result", toolCallId: "c1", content: "ok", role: "tool" },
    { type: "CUSTOM", name: "citations", value: { block_id: uuid(21), sources: [] } },
    { type: "TEXT_MESSAGE_START", messageId: messageOf(22), role: "assistant" },
    { type: "TEXT_MESSAGE_CONTENT", messageId: messageOf(22), delta: "It " },
    { type: "TEXT_MESSAGE_CONTENT", messageId: messageOf(22), delta: "does" },
    { type: "TEXT_MESSAGE_CONTENT", messageId: messageOf(22), delta: "." },
    { type: "TEXT_MESSAGE_END", messageId: messageOf(22) },
    {
      type: "RUN_FINISHED",
      ...run,
      outcome: success,
      result: { turn_id: TURN, steps: 2, ms: 7 },
      usage: [{ inputTokens: 10, outputTokens: 7, totalTokens: 17, reasoningTokens: 3, cachedInputTokens: 2 }],
    },
  ]);
  hear("llm_delta", { block_id: uuid(22), offset: 8, text: "late" });
  events.fail("late", "late");
  expect(take()).toEqual([]);
});

test("[AG2] text that is taken back is closed, and the conversation is stated without it", () => {
  const { run: events, hear, start, take } = listen();
  events.begin();
  start();
  hear("tool_call_finished", { call_id: "c1", name: "find", outcome: "ok", ms: 1 });
  hear("block_started", text(20));
  hear("llm_delta", { block_id: uuid(20), offset: 0, text: "void" });
  take();
  hear("block_reset", { block_id: uuid(20), attempt: 1, reason: "failover" });
  const toolCalls = [{ id: "c1", type: "function", function: { name: "find", arguments: "" } }];
  const kept = [
    asked,
    { id: "c1.call", role: "assistant", toolCalls },
    { id: "c1.result", role: "tool", toolCallId: "c1", content: "ok" },
  ];
  expect(take()).toEqual([
    { type: "CUSTOM", name: "block_reset", value: { block_id: uuid(20), attempt: 1, reason: "failover" } },
    { type: "TEXT_MESSAGE_END", messageId: messageOf(20) },
    { type: "MESSAGES_SNAPSHOT", messages: kept },
  ]);
  hear("block_started", text(20, 2));
  hear("llm_delta", { block_id: uuid(20), offset: 0, text: "good" });
  hear("block_finished", { ...text(20, 2), content: { text: "better" } });
  expect(take()).toEqual([
    { type: "TEXT_MESSAGE_START", messageId: messageOf(20, 2), role: "assistant" },
    { type: "TEXT_MESSAGE_CONTENT", messageId: messageOf(20, 2), delta: "good" },
    { type: "TEXT_MESSAGE_END", messageId: messageOf(20, 2) },
    {
      type: "MESSAGES_SNAPSHOT",
      messages: [...kept, { id: messageOf(20, 2), role: "assistant", content: "better" }],
    },
  ]);
});

describe("[AG3] the end of a turn is the end of its run", () => {
  test("a question is an interrupt, whether the state is told after the end or before it", () => {
    for (const order of ["after", "before"]) {
      const { run: events, hear, start, state, take } = listen();
      events.begin();
      start();
      hear("tool_call_started", { call_id: "c1", name: "ask_question", title: "Asking" });
      take();
      if (order === "before") state(question);
      hear("turn_completed", { ...completed, outcome: "awaiting", reason: "truncated" });
      if (order === "after") state(question);
      expect(take()).toEqual([
        snapshotOf(question),
        { type: "TOOL_CALL_RESULT", messageId: "c1.result", toolCallId: "c1", content: "unknown", role: "tool" },
        {
          type: "RUN_FINISHED",
          ...run,
          outcome: { type: "interrupt", interrupts: [interrupt] },
          result: { turn_id: TURN, steps: 2, ms: 7, reason: "truncated" },
          usage: [expect.anything()],
        },
      ]);
    }
  });

  test("a question that is superseded at once is none", () => {
    const { run: events, hear, start, state, take } = listen();
    events.begin();
    start();
    take();
    hear("turn_completed", { ...completed, outcome: "awaiting" });
    expect(take()).toEqual([]);
    state(null, "resting");
    expect(take().map((event) => "outcome" in event && event.outcome)).toEqual([success]);
  });

  test("a stopped turn closes what is open; a failed one says its code; one that was withdrawn never began", () => {
    const stopped = listen();
    stopped.run.begin();
    stopped.start();
    stopped.hear("compaction_started", {});
    stopped.hear("subagent_started", { call_id: "c2", kind: "research", label: "Looking" });
    stopped.hear("tool_call_started", { call_id: "c1", name: "find", title: "Finding" });
    stopped.hear("block_started", text(20));
    stopped.take();
    stopped.hear("turn_cancelled", { turn_id: TURN });
    expect(stopped.take()).toEqual([
      { type: "TEXT_MESSAGE_END", messageId: messageOf(20) },
      { type: "TOOL_CALL_RESULT", messageId: "c1.result", toolCallId: "c1", content: "cancelled", role: "tool" },
      { type: "SUBAGENT_ERROR", subagentRunId: "c2:research:1", message: "ended with the run" },
      { type: "STEP_FINISHED", stepName: "compaction" },
      { type: "RUN_FINISHED", ...run, outcome: { type: "cancelled" } },
    ]);

    const failed = listen();
    failed.run.begin();
    failed.start();
    failed.take();
    failed.hear("turn_failed", { turn_id: TURN, code: "blocked", message: "No.", retryable: false });
    expect(failed.take()).toEqual([{ type: "RUN_ERROR", code: "blocked", message: "No." }]);

    const withdrawn = listen();
    withdrawn.run.begin();
    withdrawn.run.asleep();
    expect(withdrawn.take()).toEqual([...opening, { type: "RUN_FINISHED", ...run, outcome: { type: "cancelled" } }]);

    const refused = listen();
    refused.run.refuse("interaction_stale", "too late");
    expect(refused.take()).toEqual([opening[0], { type: "RUN_ERROR", code: "interaction_stale", message: "too late" }]);
  });
});

test("[AG4] nothing of another turn is told, also not while this one waits", () => {
  const { run: events, hear, start, state, take } = listen();
  const other = uuid(3);
  events.begin();
  take();
  hear("llm_delta", { block_id: uuid(20), offset: 0, text: "not ours" }, other);
  hear("turn_completed", { ...completed, turn_id: other }, other);
  state(question);
  hear("compaction_started", {}, other);
  expect(take()).toEqual([]);
  start();
  hear("turn_cancelled", { turn_id: other }, other);
  hear("llm_delta", { block_id: uuid(20), offset: 0, text: "not ours" }, other);
  hear("compaction_started", {});
  hear("subagent_started", { call_id: "c2", kind: "research" });
  hear("subagent_finished", { call_id: "c2", kind: "research", outcome: "ok" });
  hear("compaction_finished", { outcome: "applied", tokens_before: 9, tokens_after: 1 });
  expect(take()).toEqual([
    { type: "STEP_STARTED", stepName: "compaction" },
    { type: "SUBAGENT_STARTED", subagentRunId: "c2:research:1", name: "research" },
    { type: "SUBAGENT_FINISHED", subagentRunId: "c2:research:1" },
    { type: "STEP_FINISHED", stepName: "compaction" },
    {
      type: "CUSTOM",
      name: "compaction_finished",
      value: { outcome: "applied", tokens_before: 9, tokens_after: 1 },
    },
  ]);
});

test("[AG5] what a run that is taken up again was told already is not told twice", () => {
  const { run: events, hear, take } = listen();
  const block = { block_id: uuid(20), idx: 0, type: "text", attempt: 1, content: { text: "abc" } };
  const turn: Turn = { turn_id: TURN, n: 1, cause: "message", input: { text: "hello" }, blocks: [block] };
  events.begin({ turn, state: { status: "turning", pending_interaction: null, queue: [] } });
  expect(take()).toEqual([
    ...opening,
    { type: "MESSAGES_SNAPSHOT", messages: [asked, { id: messageOf(20), role: "assistant", content: "abc" }] },
  ]);
  hear("llm_delta", { block_id: uuid(20), offset: 1, text: "bcd" });
  hear("block_finished", { ...block, content: { text: "abcd" } });
  expect(take()).toEqual([
    { type: "TEXT_MESSAGE_START", messageId: messageOf(20), role: "assistant" },
    { type: "TEXT_MESSAGE_CONTENT", messageId: messageOf(20), delta: "d" },
    { type: "TEXT_MESSAGE_END", messageId: messageOf(20) },
  ]);
});
