import { afterEach, describe, expect, test, vi } from "vitest";
import { assistant, call, calling, reasoning, result, user } from "../../machines/conversation/testing/build.ts";
import type { ModelEvent } from "../../machines/model.ts";
import { thinkingStyle } from "./bedrock.ts";
import { withRetry } from "./retry.ts";
import {
  bedrock,
  delta,
  refuses,
  saying,
  stop,
  streams,
  streamsThenHangs,
  streamsThenResets,
  toolStart,
} from "./testing/bedrock.ts";
import { fakeTimers } from "./testing/fake-timers.ts";
import { allOf, asking, failureOf } from "./testing/gemini.ts";
import { answers, type ModelServer, modelServer, type Reply } from "./testing/server.ts";

const servers: ModelServer[] = [];
async function serve(...replies: readonly [Reply, ...Reply[]]): Promise<ModelServer> {
  const server = await modelServer(...replies);
  servers.push(server);
  return server;
}
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

const end = (parts: unknown) => ({
  type: "end",
  parts,
  truncated: false,
  usage: { input: 0, output: 0, thinking: 0, cached: 0 },
  profile: "secondary",
  issuer: "bedrock-claude",
});
const POINT = { cachePoint: { type: "default" } };

describe("Claude on Bedrock through the SDK", () => {
  test("[B-07] tools, thinking, signed and sealed reasoning reach the wire as they are", async () => {
    const server = await serve(streams(saying("Hello")));
    const inputSchema = { type: "object", properties: { q: { type: "string" } }, additionalProperties: false };
    const entries = [
      user("find R."),
      assistant(
        [
          { kind: "reasoning", text: "", redacted: "AAH/" },
          reasoning("why", "R1"),
          calling(call("c1", "find", { q: "R." })),
        ],
        "bedrock-claude",
      ),
      result("c1", "find", "pat-001"),
    ];
    const asked = {
      ...asking([{ name: "find", description: "Finds.", inputSchema }]),
      entries,
      thinking: true,
      maxOutputTokens: 4_096,
    };
    expect(await allOf(bedrock(`${server.url}/gw`), asked)).toEqual([
      { type: "text", delta: "Hello" },
      end([{ kind: "text", text: "Hello" }]),
    ]);
    const [received] = server.received;
    expect(received?.url).toBe("/gw/model/us.anthropic.claude-test-v1%3A0/converse-stream");
    expect(received?.headers["authorization"]).toMatch(/^AWS4-HMAC-SHA256 Credential=AKTEST\//);
    expect(received?.body).toEqual({
      system: [{ text: "be brief" }, POINT],
      messages: [
        { role: "user", content: [{ text: "find R." }, POINT] },
        {
          role: "assistant",
          content: [
            { reasoningContent: { redactedContent: "AAH/" } },
            { reasoningContent: { reasoningText: { text: "why", signature: "R1" } } },
            { toolUse: { toolUseId: "c1", name: "find", input: { q: "R." } } },
          ],
        },
        {
          role: "user",
          content: [{ toolResult: { toolUseId: "c1", content: [{ text: "pat-001" }], status: "success" } }, POINT],
        },
      ],
      toolConfig: {
        tools: [{ toolSpec: { name: "find", description: "Finds.", inputSchema: { json: inputSchema } } }, POINT],
      },
      inferenceConfig: { maxTokens: 4_096 },
      additionalModelRequestFields: { thinking: { type: "enabled", budget_tokens: 2_048 } },
    });
  });

  test("[E-08] any cut of the bytes gives the same text", async () => {
    const words = "naïve 妊娠 👩‍⚕️ ½";
    for (const size of [1, 7]) {
      const server = await serve(streams(saying(words), { size }));
      expect(await allOf(bedrock(server.url))).toEqual([
        { type: "text", delta: words },
        end([{ kind: "text", text: words }]),
      ]);
    }
  });

  test("[B-10] a stream that dies in the middle is no answer, and its failure has a class", async () => {
    const outage = (code: string) => ({ code, retryable: true, countsAgainstHealth: true });
    const half = [delta({ text: "Two opt" })];
    const message = { message: "secret words" };
    const cases: readonly [Reply, object][] = [
      [streams([...half, ["modelStreamErrorException", message]]), outage("stream_error")],
      [streams([toolStart("u1", "find"), delta({ toolUse: { input: '{"id":' } })]), outage("truncated_stream")],
      [streams([["throttlingException", message]]), outage("throttled")],
      [streams([...half, ...half, ...half, ["throttlingException", message]]), outage("throttled")],
      [streams([...half, ["internalServerException", message]]), outage("overloaded")],
      [streams([...half, ["serviceUnavailableException", message]]), outage("overloaded")],
      [
        streams([...half, ["validationException", message]]),
        { code: "bad_request", retryable: false, countsAgainstHealth: false },
      ],
      [streams([...half, ["somethingNewException", message]]), outage("stream_error")],
      [streams(half), outage("truncated_stream")],
      [streams(saying("Two options"), { cutLast: 5 }), outage("truncated_stream")],
      [streams([]), outage("truncated_stream")],
      [streamsThenResets(half), outage("stream_error")],
    ];
    for (const [reply, expected] of cases) {
      const server = await serve(reply);
      const seen: ModelEvent[] = [];
      const failure = await failureOf(
        (async () => {
          for await (const event of bedrock(server.url).stream(asking(), new AbortController().signal))
            seen.push(event);
        })(),
      );
      expect(failure).toMatchObject(expected);
      expect(seen.filter(({ type }) => type === "end")).toEqual([]);
      const { message: words, cause, stack } = failure as Error;
      expect(`${words} ${stack} ${String(cause)} ${JSON.stringify(failure)}`).not.toContain("secret");
    }
  });

  test("[B-10] a throttle as first event is mended in place and invisible; after some text, what was shown is reset", async () => {
    const throttled = ["throttlingException", { message: "slow down" }] as const;
    const timers = {
      after(_ms: number, then: () => void) {
        queueMicrotask(then);
        return () => {};
      },
    };
    const failures: unknown[] = [];
    const ask = async (reply: Reply) => {
      const server = await serve(reply, streams(saying("Hello")));
      const onFailure = ({ code }: { code: string }) => failures.push(code);
      return allOf(withRetry(bedrock(server.url), { waitMs: 1, longestWaitMs: 10, timers, onFailure }));
    };
    const hello = [{ type: "text", delta: "Hello" }, end([{ kind: "text", text: "Hello" }])];
    expect(await ask(streams([throttled]))).toEqual(hello);
    expect(await ask(streams([delta({ text: "Two" }), throttled]))).toEqual([
      { type: "text", delta: "Two" },
      { type: "reset", reason: "retry" },
      ...hello,
    ]);
    expect(failures).toEqual(["throttled", "throttled"]);
  });

  test("[B-12] errors before the stream are told apart; the SDK does not try again by itself", async () => {
    const bug = { code: "bad_request", retryable: false, countsAgainstHealth: false };
    const wrong = (code: string) => ({ code, retryable: false, countsAgainstHealth: false });
    const outage = (code: string) => ({ code, retryable: true, countsAgainstHealth: true });
    const cases: readonly [Reply, object][] = [
      [refuses(400, "ValidationException", "secret"), bug],
      [refuses(400, "ValidationException", "The provided model identifier is invalid."), wrong("not_found")],
      [refuses(403, "AccessDeniedException", "secret"), wrong("unauthorized")],
      [refuses(403, "UnrecognizedClientException", "secret"), wrong("unauthorized")],
      [refuses(404, "ResourceNotFoundException", "secret"), wrong("not_found")],
      [
        refuses(429, "ThrottlingException", "secret", { "retry-after": "2" }),
        { ...outage("throttled"), retryAfterMs: 2_000 },
      ],
      [refuses(429, "ModelNotReadyException", "secret"), outage("overloaded")],
      [refuses(408, "ModelTimeoutException", "secret"), outage("overloaded")],
      [refuses(424, "ModelErrorException", "secret"), outage("overloaded")],
      [refuses(500, "InternalServerException", "secret"), outage("overloaded")],
      [refuses(503, "ServiceUnavailableException", "secret"), outage("overloaded")],
      [answers(502, "<html>secret", { "content-type": "text/html" }), outage("overloaded")],
      [answers(404, "secret", { "content-type": "text/plain" }), wrong("not_found")],
      [(response) => void response.destroy(), outage("unreachable")],
    ];
    for (const [reply, expected] of cases) {
      const server = await serve(reply);
      const failure = await failureOf(allOf(bedrock(server.url)));
      expect(failure).toMatchObject(expected);
      expect(server.received.length).toBe(1);
      const { message, cause, stack } = failure as Error;
      expect(`${message} ${stack} ${String(cause)} ${JSON.stringify(failure)}`).not.toContain("secret");
    }
    const gone = await serve(streams([]));
    await gone.close();
    expect(await failureOf(allOf(bedrock(gone.url)))).toMatchObject(outage("unreachable"));
  });

  test("[B-10] a stall before or in the middle of an answer fails the call and closes the connection", async () => {
    for (const sent of [[], [delta({ text: "Hel" })]]) {
      const closed = vi.fn();
      const server = await serve(streamsThenHangs(closed, sent));
      const timers = fakeTimers();
      const stream = bedrock(server.url, { timers, stallMs: 5_000 })
        .stream(asking(), new AbortController().signal)
        [Symbol.asyncIterator]();
      if (sent.length > 0) expect((await stream.next()).value).toEqual({ type: "text", delta: "Hel" });
      const failure = failureOf(stream.next());
      await vi.waitFor(() => expect([server.received.length, timers.pending()]).toEqual([1, [5_000]]));
      timers.fire();
      expect(await failure).toMatchObject({ code: "stalled", retryable: true, countsAgainstHealth: true });
      expect(timers.pending()).toEqual([]);
      await vi.waitFor(() => expect(closed).toHaveBeenCalledTimes(1));
    }
  });

  test("[D-04] an abort gives the signal's own reason and closes the connection, as does a reader that leaves", async () => {
    const closed = vi.fn();
    const server = await serve(streamsThenHangs(closed, [delta({ text: "Hel" })]));
    const cancel = new AbortController();
    const model = bedrock(server.url);
    const stream = model.stream(asking(), cancel.signal)[Symbol.asyncIterator]();
    await stream.next();
    const reason = new Error("the user pressed Stop");
    const failure = failureOf(stream.next());
    cancel.abort(reason);
    expect(await failure).toBe(reason);
    await vi.waitFor(() => expect(closed).toHaveBeenCalledTimes(1));
    expect(await failureOf(allOf(model, asking(), cancel.signal))).toBe(reason);
    expect(server.received.length).toBe(1);
    for await (const event of model.stream(asking(), new AbortController().signal)) {
      expect(event).toEqual({ type: "text", delta: "Hel" });
      break;
    }
    await vi.waitFor(() => expect(closed).toHaveBeenCalledTimes(2));
  });

  test("[B-06] what is left out of a request, or lost, is noticed with the profile's name", async () => {
    const server = await serve(streams([...saying("a").slice(0, 2), stop("end_turn")]));
    const notice = vi.fn();
    const tools = [{ name: "list", description: "", inputSchema: { type: "array" } }];
    const entries = [user("q"), assistant([reasoning("lost"), calling(call("c1", "x"))], "bedrock-claude")];
    await allOf(bedrock(server.url, { notice }), { ...asking(tools), entries });
    expect(notice.mock.calls.map(([{ kind }, profile]) => [kind, profile])).toEqual([
      ["tool_left_out", "secondary"],
      ["reasoning_dropped", "secondary"],
    ]);
  });

  test("newer Claudes are not given a budget", () => {
    const ids = [
      "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
      "anthropic.claude-sonnet-4-20250514-v1:0",
      "anthropic.claude-3-7-sonnet-20250219-v1:0",
      "arn:aws:bedrock:x:1:application-inference-profile/abc",
    ];
    expect(ids.map(thinkingStyle)).toEqual(["budget", "budget", "budget", "budget"]);
    expect(["eu.anthropic.claude-opus-4-6-v1", "global.anthropic.claude-sonnet-5"].map(thinkingStyle)).toEqual([
      "adaptive",
      "adaptive",
    ]);
  });
});
