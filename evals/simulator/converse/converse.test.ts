import {
  BedrockRuntimeClient,
  type ContentBlock,
  ConverseCommand,
  ConverseStreamCommand,
  type ConverseStreamOutput,
  type Message,
  type Tool,
} from "@aws-sdk/client-bedrock-runtime";
import { NodeHttpHandler } from "@smithy/node-http-handler";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { Knobs } from "../knobs.ts";
import { type Simulator, type SimulatorOptions, type SimulatorRecord, startSimulator } from "../simulator.ts";

const running: Simulator[] = [];
const clients: BedrockRuntimeClient[] = [];
async function scene(options: SimulatorOptions = {}) {
  const records: SimulatorRecord[] = [];
  const simulator = await startSimulator({ log: (record) => records.push(record), ...options });
  running.push(simulator);
  const client = new BedrockRuntimeClient({
    region: "us-east-1",
    endpoint: `${simulator.url}/gw`,
    credentials: { accessKeyId: "AKTEST", secretAccessKey: "s" },
    maxAttempts: 1,
    requestHandler: new NodeHttpHandler(),
  });
  clients.push(client);
  return { simulator, client, records };
}
afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy();
  await Promise.all(running.splice(0).map((simulator) => simulator.close()));
});

const tool = (name: string, property: string): Tool => ({
  toolSpec: { name, inputSchema: { json: { type: "object", properties: { [property]: {} } } } },
});
const TOOLS = [tool("interaction_check", "items"), tool("lab_tests", "query")];
const user = (...texts: string[]): Message => ({ role: "user", content: texts.map((text) => ({ text })) });
const question = user("Does glimmerroot interact with zorvane?");
const asked = (messages: Message[], thinks = false) => ({
  modelId: "us.sim-1:0",
  messages,
  toolConfig: { tools: TOOLS },
  inferenceConfig: { maxTokens: 4_000 },
  ...(thinks && { additionalModelRequestFields: { thinking: { type: "enabled", budget_tokens: 1_024 } } }),
});

/** Streams one answer through the SDK. Rejects as the SDK does. */
async function stream(client: BedrockRuntimeClient, messages: Message[], thinks = false, abortSignal?: AbortSignal) {
  const answer = await client.send(new ConverseStreamCommand(asked(messages, thinks)), abortSignal && { abortSignal });
  const events: ConverseStreamOutput[] = [];
  for await (const event of answer.stream ?? []) events.push(event);
  return {
    events: events.length,
    text: events.map(({ contentBlockDelta: each }) => each?.delta?.text ?? "").join(""),
    input: events.map(({ contentBlockDelta: each }) => each?.delta?.toolUse?.input ?? "").join(""),
    stop: events.flatMap(({ messageStop }) => messageStop?.stopReason ?? []),
    usage: events.findLast(({ metadata }) => metadata !== undefined)?.metadata?.usage,
    deltas: events.flatMap(({ contentBlockDelta: each }) => Object.keys(each?.delta ?? {})),
  };
}
/** The same answer, whole. */
async function whole(client: BedrockRuntimeClient, messages: Message[], thinks = false) {
  const { output, stopReason, usage } = await client.send(new ConverseCommand(asked(messages, thinks)));
  return { content: output?.message?.content ?? [], stopReason, usage };
}
const nameOf = (running: Promise<unknown>) =>
  running.then(
    () => "no error",
    (error: unknown) => (error instanceof Error ? error.name : "odd"),
  );
const idIn = (content: readonly ContentBlock[]): string =>
  content.flatMap(({ toolUse }) => toolUse?.toolUseId ?? [])[0] ?? "";
const resultOf = (id: string, text: string): Message => ({
  role: "user",
  content: [{ toolResult: { toolUseId: id, content: [{ text }] } }],
});

describe("Converse, with the real SDK under a gateway's path", () => {
  test("[B-07] reasoning, a call, its result, a streamed answer, and the next question", async () => {
    const { simulator, client, records } = await scene();
    const first = await stream(client, [question], true);
    expect([first.stop, JSON.parse(first.input)]).toEqual([["tool_use"], { items: ["glimmerroot", "zorvane"] }]);
    const { content } = await whole(client, [question], true);
    expect(content).toEqual([
      {
        reasoningContent: {
          reasoningText: {
            text: expect.stringContaining("interaction_check"),
            signature: expect.stringMatching(/^[\w+/=]{40,}$/),
          },
        },
      },
      {
        toolUse: {
          toolUseId: expect.stringMatching(/^tooluse_[\w-]{20,}$/),
          name: "interaction_check",
          input: { items: ["glimmerroot", "zorvane"] },
        },
      },
    ]);
    const found = JSON.stringify({ findings: [{ a: "zorvane", b: "Glimmerroot", severity: "moderate" }], unknown: [] });
    const history: Message[] = [question, { role: "assistant", content }, resultOf(idIn(content), found)];
    const second = await stream(client, history, true);
    expect([second.text, second.stop]).toEqual(["**Zorvane and Glimmerroot: moderate interaction**", ["end_turn"]]);
    expect([...new Set(second.deltas)]).toEqual(["reasoningContent", "text"]);
    const third = await stream(client, [
      ...history,
      { role: "assistant", content: [{ text: second.text }] },
      user("what did I just ask?"),
    ]);
    expect(third.text).toBe("You asked: “Does glimmerroot interact with zorvane?”");
    expect(records.map(({ outcome }) => outcome)).toEqual([
      { kind: "answered", calls: ["interaction_check"] },
      { kind: "answered", calls: ["interaction_check"] },
      { kind: "answered", calls: [] },
      { kind: "answered", calls: [] },
    ]);
    expect(simulator.requests()[0]).toMatchObject({
      path: "/gw/model/us.sim-1%3A0/converse-stream",
      model: "us.sim-1:0",
      headers: { authorization: "[given]" },
    });
  });

  test("[B-07] a signature of before a restart stays valid under the same seed and is refused under another", async () => {
    const before = await scene({ seed: 7 });
    const { content } = await whole(before.client, [question], true);
    const history: Message[] = [question, { role: "assistant", content }, resultOf(idIn(content), "{}")];
    const same = await scene({ seed: 7 });
    expect(await nameOf(stream(same.client, history, true))).toBe("no error");
    const other = await scene({ seed: 8 });
    expect(await nameOf(stream(other.client, history, true))).toBe("ValidationException");
    expect(other.records.at(-1)?.outcome).toEqual({ kind: "refused", rule: "CR2" });
  });

  test("[B-07] every so often reasoning comes sealed, and is taken back", async () => {
    const { client } = await scene({ knobs: { redactedEvery: 2 } });
    const kinds: string[] = [];
    for (let at = 0; at < 4; at += 1) {
      const { content } = await whole(client, [user(`Does glimmerroot interact with zorvane${at}?`)], true);
      kinds.push(...Object.keys(content[0]?.reasoningContent ?? {}));
      const history: Message[] = [question, { role: "assistant", content }, resultOf(idIn(content), "{}")];
      // Streamed for the one that counts: its deltas carry the bytes, too.
      expect(await nameOf(at % 2 === 0 ? whole(client, [user("hello")], true) : stream(client, history, true))).toBe(
        "no error",
      );
      if (at % 2 === 0) expect(await nameOf(whole(client, history, true))).toBe("no error");
    }
    expect(new Set(kinds)).toEqual(new Set(["reasoningText", "redactedContent"]));
  });

  test("[B-09] usage adds up, and a prefix with a cache point is read the second time", async () => {
    const { client } = await scene();
    const marked: Message[] = [{ role: "user", content: [{ text: "hello" }, { cachePoint: { type: "default" } }] }];
    const usages = [await stream(client, marked), await stream(client, marked)].map(({ usage }) => usage);
    const [first, second] = usages;
    expect(first?.cacheWriteInputTokens).toBeGreaterThan(0);
    expect([first?.cacheReadInputTokens, second?.cacheReadInputTokens, second?.cacheWriteInputTokens]).toEqual([
      0,
      first?.cacheWriteInputTokens,
      0,
    ]);
    for (const usage of usages) {
      const { inputTokens = 0, outputTokens = 0, cacheReadInputTokens = 0, cacheWriteInputTokens = 0 } = usage ?? {};
      expect(usage?.totalTokens).toBe(inputTokens + outputTokens + cacheReadInputTokens + cacheWriteInputTokens);
    }
  });

  test("[B-01] a refusal is Amazon's error JSON and says where, not what", async () => {
    const { simulator } = await scene();
    const response = await fetch(`${simulator.url}/model/m/converse`, {
      method: "POST",
      body: JSON.stringify({ messages: [user("SECRET-A"), user("SECRET-B")] }),
    });
    expect([response.status, response.headers.get("x-amzn-errortype"), await response.json()]).toEqual([
      400,
      "ValidationException",
      { message: "messages.1: roles must alternate between user and assistant [CM5]" },
    ]);
  });
});

describe("faults of Converse", () => {
  const broken = async (fault: Knobs["faults"][number]) => {
    const { client } = await scene({ knobs: { faults: [fault] } });
    return client;
  };

  test("[B-10] an exception in mid-stream, by name; a reset; an end without the stop event", async () => {
    const cut = (how: "reset" | "error_event" | "end", exception?: string) =>
      broken({ kind: "cut", afterEvents: 2, how, ...(exception !== undefined && { exception }) });
    expect(await nameOf(stream(await cut("error_event", "throttlingException"), [question]))).toBe(
      "ThrottlingException",
    );
    expect(await nameOf(stream(await cut("error_event", "modelStreamErrorException"), [question]))).toBe(
      "ModelStreamErrorException",
    );
    expect(await nameOf(stream(await cut("error_event"), [question]))).toBe("ServiceUnavailableException");
    expect(await nameOf(stream(await cut("reset"), [question]))).toBe("Error");
    expect(await stream(await cut("end"), [question])).toMatchObject({ events: 2, stop: [] });
    expect(await stream(await broken({ kind: "no_finish" }), [user("hello")])).toMatchObject({
      stop: [],
      text: expect.stringContaining("Hello"),
    });
  });

  test("[J-05] max_tokens cuts the arguments of the last call", async () => {
    const answer = await stream(await broken({ kind: "finish", reason: "max_tokens", keepParts: true }), [question]);
    expect([answer.stop, answer.input]).toEqual([["max_tokens"], '{"items":["glimmer']);
  });

  test("[A-06] blocked, empty and odd ends", async () => {
    const ended = async (fault: Knobs["faults"][number]) => {
      const { content, stopReason } = await whole(await broken(fault), [question]);
      return [content, stopReason];
    };
    expect(await ended({ kind: "blocked", reason: "x" })).toEqual([[], "guardrail_intervened"]);
    expect(await ended({ kind: "empty", shape: "no_content" })).toEqual([[], "end_turn"]);
    expect(await ended({ kind: "finish", reason: "malformed_tool_use", keepParts: false })).toEqual([
      [],
      "malformed_tool_use",
    ]);
  });

  test("[B-12] a status has its exception; a model can be missing", async () => {
    const names = [400, 403, 408, 424, 429, 500, 503].map(async (status) =>
      nameOf(stream(await broken({ kind: "status", status }), [question])),
    );
    expect(await Promise.all(names)).toEqual([
      "ValidationException",
      "AccessDeniedException",
      "ModelTimeoutException",
      "ModelErrorException",
      "ThrottlingException",
      "InternalServerException",
      "ServiceUnavailableException",
    ]);
    const { client } = await scene({ knobs: { missingModels: ["us.sim-1:0"] } });
    expect(await nameOf(stream(client, [question]))).toBe("ResourceNotFoundException");
  });

  test("[E-08] every cut of the bytes gives the same answer", async () => {
    const { simulator, client } = await scene();
    const first = await stream(client, [question], true);
    for (const cutBytes of [1, 7, 97]) {
      simulator.setKnobs({ cutBytes });
      expect({ ...(await stream(client, [question], true)), usage: first.usage }).toEqual(first);
    }
  });

  test.each([0, 2])("hangs after %i events until the client leaves", async (afterEvents) => {
    const { simulator, client, records } = await scene({ knobs: { faults: [{ kind: "hang", afterEvents }] } });
    const leave = new AbortController();
    const answer = nameOf(stream(client, [user("hello")], false, leave.signal));
    await vi.waitFor(() => expect(simulator.requests()).toHaveLength(1));
    expect(records).toEqual([]);
    leave.abort();
    expect(await answer).not.toBe("no error");
    await vi.waitFor(() => expect(records.map(({ outcome }) => outcome)).toEqual([{ kind: "fault", fault: "hang" }]));
  });
});
