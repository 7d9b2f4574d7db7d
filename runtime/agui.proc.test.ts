/** A whole server as the protocol's own client finds it. */
import { HttpAgent } from "@ag-ui/client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { processScene, type Server } from "./testing/process.ts";
import { turnsOf } from "./testing/stored.ts";

const scene = processScene();
let server: Server;
let cookie: string;
beforeAll(async () => {
  server = await scene.start();
  cookie = await server.login("dr-rivera");
});
afterAll(() => scene.clean());

function agentFor(threadId: string, login = cookie) {
  const agent = new HttpAgent({
    url: `${server.url}/v1/agui`,
    threadId,
    headers: { cookie: login, origin: server.url },
  });
  const told: string[] = [];
  const customs: string[] = [];
  const outcomes: unknown[] = [];
  agent.subscribe({
    onEvent: ({ event }) => void told.push(event.type),
    onCustomEvent: ({ event }) => void customs.push(event.name),
    onRunFinishedEvent: ({ event }) => void outcomes.push(event.outcome?.type),
    onRunErrorEvent: ({ event }) => void outcomes.push(event.code),
  });
  const ask = async (content: string, runId: string) => {
    agent.addMessage({ id: `user of ${runId}`, role: "user", content });
    await agent.runAgent({ runId });
  };
  const texts = () =>
    agent.messages.flatMap(({ role, content }) => (role === "assistant" && content ? [String(content)] : []));
  return { agent, told, customs, outcomes, ask, texts, session: () => String(agent.state.session_id) };
}

test("[AG19] a question with tools, a card and an answer, as it is stored", async () => {
  const { told, customs, outcomes, ask, texts, session } = agentFor("a chat of mine");
  await ask("Does ginkgo interact with warfarin?", "run-1");
  expect(outcomes).toEqual(["success"]);
  expect(new Set(told)).toEqual(new Set([...told.filter((type) => type.startsWith("REASONING")), ...PLAIN_RUN]));
  expect(customs).toContain("interaction_check_results");
  const [turn] = await turnsOf(server, cookie, session());
  const stored = turn?.blocks.flatMap(({ type, content }) => (type === "text" ? [content["text"]] : []));
  expect(texts()).toEqual(stored);
  expect(texts().join(" ")).toMatch(/moderate/i);
});

const PLAIN_RUN = [
  "RUN_STARTED",
  "STATE_SNAPSHOT",
  "CUSTOM",
  "TOOL_CALL_START",
  "TOOL_CALL_END",
  "TOOL_CALL_RESULT",
  "TEXT_MESSAGE_START",
  "TEXT_MESSAGE_CONTENT",
  "TEXT_MESSAGE_END",
  "RUN_FINISHED",
];

test("[AG19] the agent asks, the run is interrupted, the answer resumes it, and no answer counts twice", async () => {
  const { agent, outcomes, ask, texts, session } = agentFor("another chat");
  await ask("Recommend a magnesium, but ask me whether capsules or powder first.", "run-1");
  expect(outcomes).toEqual(["interrupt"]);
  const [interrupt] = agent.pendingInterrupts;
  const options = interrupt?.metadata?.["options"] as { id: string; label: string }[];
  const powder = options.find(({ label }) => /powder/i.test(label))?.id ?? "";
  const resume = [{ interruptId: interrupt?.id ?? "", status: "resolved" as const, payload: { selected: [powder] } }];
  await agent.runAgent({ runId: "run-2", resume });
  expect(outcomes).toEqual(["interrupt", "success"]);
  const after = texts();
  expect(after.join(" ")).toMatch(/powder/i);
  await agent.runAgent({ runId: "run-2", resume });
  expect(texts()).toEqual(after);
  const turns = await turnsOf(server, cookie, session());
  expect(turns.map(({ cause, outcome }) => [cause, outcome])).toEqual([
    ["message", "awaiting"],
    ["resolution", "completed"],
  ]);
  // Another user's thread of that name is another session; this session is not theirs.
  const chen = agentFor(session(), await server.login("dr-chen"));
  await expect(chen.ask("What did I choose?", "run-1")).rejects.toThrow(/404/);
});
