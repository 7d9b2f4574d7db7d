import { ApiError } from "@google/genai";
import { afterEach, describe, expect, test, vi } from "vitest";
import { type Simulator, type SimulatorOptions, type SimulatorRecord, startSimulator } from "./simulator.ts";
import { PREFIX, sdk, stream, TOOLS, user } from "./testing.ts";

const running: Simulator[] = [];
async function scene(options: SimulatorOptions = {}) {
  const records: SimulatorRecord[] = [];
  const simulator = await startSimulator({ log: (record) => records.push(record), ...options });
  running.push(simulator);
  return { simulator, client: sdk(simulator.url), records };
}
afterEach(async () => {
  await Promise.all(running.splice(0).map((simulator) => simulator.close()));
});

const question = user("Does glimmerroot interact with zorvane?");
const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => "no error",
    (error: unknown) => (error instanceof ApiError ? error.status : "broken stream"),
  );

describe("with the real SDK under a gateway's path", () => {
  test("[A-02] [A-03] [A-14] a call, its result, a streamed answer, and the next question", async () => {
    const { simulator, client, records } = await scene();
    const first = await stream(client, [question], { thoughts: true });
    const calls = first.parts.filter((part) => part.functionCall !== undefined);
    expect(calls.map((part) => part.functionCall?.args)).toEqual([{ items: ["glimmerroot", "zorvane"] }]);
    expect(first.finish).toEqual(["STOP"]);
    expect(first.parts[0]).toEqual({ text: expect.stringContaining("interaction_check"), thought: true });

    const id = calls[0]?.functionCall?.id ?? "";
    const output = JSON.stringify({
      findings: [{ a: "zorvane", b: "Glimmerroot", severity: "moderate" }],
      unknown: [],
    });
    const result = {
      role: "user",
      parts: [{ functionResponse: { id, name: "interaction_check", response: { output } } }],
    };
    const asked = [question, { role: "model", parts: [...first.parts] }, result];
    const second = await stream(client, asked);
    expect(second.text).toBe("**Zorvane and Glimmerroot: moderate interaction**");
    expect(second.events).toBeGreaterThan(2);
    expect(second.parts.at(-1)).toEqual({ text: "", thoughtSignature: expect.stringMatching(/^[\w+/=]{40,}$/) });

    const third = await stream(client, [
      ...asked,
      { role: "model", parts: [...second.parts] },
      user("what did I just ask?"),
    ]);
    expect(third.text).toBe("You asked: “Does glimmerroot interact with zorvane?”");
    expect(records.map(({ outcome }) => outcome)).toEqual([
      { kind: "answered", calls: ["interaction_check"] },
      { kind: "answered", calls: [] },
      { kind: "answered", calls: [] },
    ]);
    expect(new Set(simulator.requests().map(({ path }) => path))).toEqual(
      new Set([`${PREFIX}/v1beta/models/sim-1:streamGenerateContent?alt=sse`]),
    );
  });

  test("[A-02] of parallel calls, in an event each, only the first is signed", async () => {
    const { client } = await scene();
    const { parts, events } = await stream(client, [user("which lab test for zorvane and glimroot?")]);
    const calls = parts.map(({ functionCall, thoughtSignature }) => [
      functionCall?.args?.["query"],
      thoughtSignature !== undefined,
    ]);
    expect([events, calls]).toEqual([
      2,
      [
        ["zorvane", true],
        ["glimroot", false],
      ],
    ]);
    expect(new Set(parts.map(({ functionCall }) => functionCall?.id)).size).toBe(2);
  });

  test("[A-01] a signature of before a restart stays valid under the same seed and is refused under another", async () => {
    const before = await scene({ seed: 7 });
    const first = await stream(before.client, [question]);
    const id = first.parts[0]?.functionCall?.id ?? "";
    const result = {
      role: "user",
      parts: [{ functionResponse: { id, name: "interaction_check", response: { error: "down" } } }],
    };
    const contents = [question, { role: "model", parts: [...first.parts] }, result];
    await before.simulator.close();

    const same = await scene({ seed: 7 });
    expect((await stream(same.client, contents)).text).toContain("The interaction check failed: down.");
    const other = await scene({ seed: 8 });
    expect(await failure(stream(other.client, contents))).toBe(400);
    expect(other.records.at(-1)?.outcome).toEqual({ kind: "refused", rule: "S2" });
  });

  test("generateContent gives the same answer whole, with usage that adds up", async () => {
    const { client } = await scene();
    const whole = await client.models.generateContent({ model: "sim-1", contents: [user("hello")] });
    const streamed = await client.models.generateContentStream({ model: "sim-1", contents: [user("hello")] });
    let text = "";
    let usage = {};
    for await (const event of streamed) {
      text += event.text ?? "";
      usage = event.usageMetadata ?? usage;
    }
    expect(whole.text).toBe(text);
    expect(whole.usageMetadata).toEqual(usage);
    const {
      promptTokenCount = 0,
      candidatesTokenCount = 0,
      thoughtsTokenCount = 0,
      totalTokenCount,
    } = whole.usageMetadata ?? {};
    expect(totalTokenCount).toBe(promptTokenCount + candidatesTokenCount + thoughtsTokenCount);
    expect(candidatesTokenCount).toBeGreaterThan(0);
  });

  test("a refusal is Google's error JSON and says where, not what", async () => {
    const { simulator } = await scene();
    const response = await fetch(`${simulator.url}/v1beta/models/m:generateContent`, {
      method: "POST",
      body: JSON.stringify({ contents: [user("SECRET-A"), user("SECRET-B")] }),
    });
    expect([response.status, await response.json()]).toEqual([
      400,
      {
        error: {
          code: 400,
          message: "contents[1]: has the same role as the content before it [C5]",
          status: "INVALID_ARGUMENT",
        },
      },
    ]);
  });

  test("any prefix is served, other paths are 404, and credentials are not kept", async () => {
    const { simulator } = await scene();
    const post = (path: string) =>
      fetch(`${simulator.url}${path}`, {
        method: "POST",
        headers: { authorization: "Bearer KEY-1", "x-goog-api-key": "KEY-2", "x-trace": "t" },
        body: JSON.stringify({ contents: [user("hi")] }),
      }).then(({ status }) => status);
    const paths = [
      "/v1beta/models/m:generateContent",
      "/a/b/v1beta/models/m:generateContent",
      "/v1/models/m:generateContent",
      "/v1beta/models/m:embed",
    ];
    expect(await Promise.all(paths.map(post))).toEqual([200, 200, 404, 404]);
    expect(JSON.stringify(simulator.requests())).not.toContain("KEY-");
    expect(simulator.requests().map(({ headers }) => headers["x-trace"])).toEqual(["t", "t"]);
  });
});

describe("knobs", () => {
  test("latency is paid before the head and per token", async () => {
    const pauses: number[] = [];
    const { simulator, client } = await scene({
      knobs: { firstByteMs: 300, tokenMs: 10 },
      pause: async (ms) => void pauses.push(ms),
    });
    const { text, events } = await stream(client, [user("hello")]);
    expect(pauses[0]).toBe(300);
    expect(pauses).toHaveLength(events); // the last event, with the signature, has no tokens
    expect(pauses.slice(1).reduce((sum, ms) => sum + ms, 0)).toBeGreaterThanOrEqual((text.length / 4) * 10);
    expect(simulator.knobs.firstByteMs).toBe(300);
  });

  test("fails with a status as often as told, then answers", async () => {
    const { simulator, client } = await scene({ knobs: { faults: [{ kind: "status", status: 503, times: 2 }] } });
    const tries = [];
    for (let at = 0; at < 3; at += 1) tries.push(await failure(stream(client, [question])));
    expect(tries).toEqual([503, 503, "no error"]);
    expect(simulator.knobs.faults).toEqual([]);
  });

  test("a fault can aim at one model, and a model can be missing", async () => {
    const { client } = await scene({
      knobs: { missingModels: ["gone"], faults: [{ kind: "status", status: 429, model: "busy" }] },
    });
    const statuses = ["gone", "busy", "sim-1"].map((model) => failure(stream(client, [question], { model })));
    expect(await Promise.all(statuses)).toEqual([404, 429, "no error"]);
  });

  test("breaks in the middle: reset, error event, or an end without finish", async () => {
    const { simulator, client } = await scene();
    const broken = async (how: "reset" | "error_event" | "end") => {
      simulator.setKnobs({ faults: [{ kind: "cut", afterEvents: 1, how, times: 1 }] });
      return stream(client, [user("hello")]).then(
        ({ events, finish }) => ({ events, finish }),
        (error: unknown) => (error instanceof ApiError ? error.status : "broken stream"),
      );
    };
    expect(await broken("reset")).toBe("broken stream");
    expect(await broken("error_event")).toBe(503);
    expect(await broken("end")).toEqual({ events: 1, finish: [] });
  });

  test("all events but no finish reason", async () => {
    const { client } = await scene({ knobs: { faults: [{ kind: "no_finish" }] } });
    const answer = await stream(client, [user("hello")]);
    expect([answer.finish, answer.text.startsWith("Hello.")]).toEqual([[], true]);
  });

  test.each([0, 1])("hangs after %i events until the client leaves", async (afterEvents) => {
    const { client, records } = await scene({ knobs: { faults: [{ kind: "hang", afterEvents }] } });
    const stop = new AbortController();
    const answer = failure(stream(client, [user("hello")], { signal: stop.signal }));
    const first = await Promise.race([
      answer,
      vi.waitFor(() => expect(running[0]?.requests()).toHaveLength(1)).then(() => "waiting"),
    ]);
    expect(first).toBe("waiting");
    expect(records).toEqual([]);
    stop.abort();
    expect(await answer).toBe("broken stream");
    await vi.waitFor(() => expect(records.map(({ outcome }) => outcome)).toEqual([{ kind: "fault", fault: "hang" }]));
  });

  test("close ends what hangs", async () => {
    const { simulator, client } = await scene({ knobs: { faults: [{ kind: "hang", afterEvents: 0 }] } });
    const answer = failure(stream(client, [question]));
    await vi.waitFor(() => expect(simulator.requests()).toHaveLength(1));
    await simulator.close();
    expect(await answer).toBe("broken stream");
  });

  test("[A-15] every cut of the bytes gives the same answer", async () => {
    const { simulator, client } = await scene({ knobs: { lineEnd: "\r\n", keepAlive: true } });
    const whole = await stream(client, [question]);
    for (const cutBytes of [1, 7, 97]) {
      simulator.setKnobs({ cutBytes });
      expect(await stream(client, [question])).toEqual(whole);
    }
  });

  test("[A-15] the last event can come without its blank line", async () => {
    const { simulator } = await scene({ knobs: { lastBlankLine: false } });
    const response = await fetch(`${simulator.url}/v1beta/models/m:streamGenerateContent?alt=sse`, {
      method: "POST",
      body: JSON.stringify({ contents: [user("hello")] }),
    });
    expect((await response.text()).endsWith("}")).toBe(true);
  });

  test("[A-07] [A-06] blocked, empty and odd finishes have the wire form of the real ones", async () => {
    const { simulator } = await scene();
    const candidates = async (fault: NonNullable<SimulatorOptions["knobs"]>["faults"]) => {
      simulator.setKnobs({ faults: fault ?? [] });
      const response = await fetch(`${simulator.url}/v1beta/models/m:generateContent`, {
        method: "POST",
        body: JSON.stringify({ contents: [question], tools: [{ functionDeclarations: TOOLS }] }),
      });
      const body = (await response.json()) as { candidates?: unknown; promptFeedback?: unknown };
      return body.promptFeedback ?? body.candidates ?? "none";
    };
    expect(await candidates([{ kind: "blocked", reason: "SAFETY" }])).toEqual({ blockReason: "SAFETY" });
    expect(await candidates([{ kind: "empty", shape: "empty_list" }])).toEqual([]);
    expect(await candidates([{ kind: "empty", shape: "no_candidates" }])).toBe("none");
    expect(await candidates([{ kind: "empty", shape: "no_content" }])).toEqual([{ index: 0, finishReason: "STOP" }]);
    expect(await candidates([{ kind: "finish", reason: "MALFORMED_FUNCTION_CALL", keepParts: false }])).toEqual([
      { content: { role: "model" }, finishReason: "MALFORMED_FUNCTION_CALL", index: 0 },
    ]);
  });

  test("come over HTTP too: for all requests, or for one by its header", async () => {
    const { simulator } = await scene();
    const put = (body: string) =>
      fetch(`${simulator.url}/simulator/knobs`, { method: "PUT", body }).then(({ status }) => status);
    expect(await put(JSON.stringify({ missingModels: ["sim-1"] }))).toBe(200);
    expect(simulator.knobs.missingModels).toEqual(["sim-1"]);
    expect(await put(JSON.stringify({ wrong: 1 }))).toBe(400);
    const faults = JSON.stringify({ missingModels: [], faults: [{ kind: "status", status: 500 }] });
    expect(await failure(stream(sdk(simulator.url, { "x-sim-knobs": faults }), [question]))).toBe(500);
    expect(await failure(stream(sdk(simulator.url), [question]))).toBe(404);
  });

  test("[A-11] calls can come without ids", async () => {
    const { client } = await scene({ knobs: { callIds: false } });
    const { parts } = await stream(client, [question]);
    expect(parts.map((part) => Object.keys(part.functionCall ?? {}).sort())).toEqual([["args", "name"]]);
  });
});
