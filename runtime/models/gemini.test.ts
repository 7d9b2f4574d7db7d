import { afterEach, describe, expect, test, vi } from "vitest";
import { assistant, call, calling, result, user } from "../../machines/conversation/testing/build.ts";
import type { ModelEvent } from "../../machines/model.ts";
import { ModelSettingsInvalid } from "./failures.ts";
import { fakeTimers } from "./testing/fake-timers.ts";
import { allOf, asking, failureOf, gemini, geminiWithoutKey } from "./testing/gemini.ts";
import {
  answers,
  breaks,
  bytes,
  chunk,
  events,
  goesSilent,
  type ModelServer,
  modelServer,
  type Reply,
} from "./testing/server.ts";

const servers: ModelServer[] = [];
async function serve(...replies: readonly [Reply, ...Reply[]]): Promise<ModelServer> {
  const server = await modelServer(...replies);
  servers.push(server);
  return server;
}
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

const end = (parts: unknown, usage = { input: 0, output: 0, thinking: 0, cached: 0 }) => ({
  type: "end",
  parts,
  truncated: false,
  usage,
  profile: "primary",
  issuer: "gemini-api",
});
const hello = events(chunk([{ text: "Hello" }], "STOP"));
const helloEvents = [{ type: "text", delta: "Hello" }, end([{ kind: "text", text: "Hello" }])];

describe("Gemini through the SDK", () => {
  test("[A-13] the path has one version under any prefix; key, headers and body are what was set", async () => {
    const server = await serve(hello);
    for (const form of ["/v1/acct/gw/google-ai-studio", "/v1/acct/gw/google-ai-studio/v1beta/", ""]) {
      expect(await allOf(gemini(`${server.url}${form}`, { headers: { "x-gw": "1" } }))).toEqual(helloEvents);
    }
    const path = "/v1beta/models/gemini-test:streamGenerateContent?alt=sse";
    expect(server.received.map(({ url }) => url)).toEqual([
      `/v1/acct/gw/google-ai-studio${path}`,
      `/v1/acct/gw/google-ai-studio${path}`,
      path,
    ]);
    const headers = server.received[0]?.headers ?? {};
    expect([headers["x-gw"], headers["x-goog-api-key"], headers["content-type"]]).toEqual([
      "1",
      "k-1",
      "application/json",
    ]);
    expect(server.received[0]?.body).toEqual({
      contents: [{ role: "user", parts: [{ text: "hi" }] }],
      systemInstruction: { role: "user", parts: [{ text: "be brief" }] },
      generationConfig: { maxOutputTokens: 500 },
    });
    expect(() => gemini("nonsense")).toThrow(ModelSettingsInvalid);
  });

  test("[A-13] a gateway that holds the key sees none of ours", async () => {
    const server = await serve(hello);
    await allOf(geminiWithoutKey(server.url, { "cf-aig-authorization": "Bearer b" }));
    const headers = server.received[0]?.headers ?? {};
    expect([headers["x-goog-api-key"], headers["cf-aig-authorization"]]).toEqual([undefined, "Bearer b"]);
  });

  test("[A-01] tools, thinking and a signed call reach the wire as they are", async () => {
    const server = await serve(hello);
    const tools = [
      {
        name: "find_patient",
        description: "Finds.",
        inputSchema: { type: "object", properties: { q: { type: "string" } }, additionalProperties: false },
      },
    ];
    const entries = [
      user("find R."),
      assistant([calling(call("c1", "find_patient", { q: "R." }), "c2lnLTE=")]),
      result("c1", "find_patient", "pat-001"),
    ];
    await allOf(gemini(server.url), { ...asking(tools), entries, thinking: true });
    expect(server.received[0]?.body).toEqual({
      contents: [
        { role: "user", parts: [{ text: "find R." }] },
        {
          role: "model",
          parts: [{ functionCall: { name: "find_patient", args: { q: "R." } }, thoughtSignature: "c2lnLTE=" }],
        },
        { role: "user", parts: [{ functionResponse: { name: "find_patient", response: { output: "pat-001" } } }] },
      ],
      systemInstruction: { role: "user", parts: [{ text: "be brief" }] },
      tools: [
        {
          functionDeclarations: [
            {
              name: "find_patient",
              description: "Finds.",
              parameters: { type: "OBJECT", properties: { q: { type: "STRING" } } },
            },
          ],
        },
      ],
      generationConfig: { maxOutputTokens: 500, thinkingConfig: { includeThoughts: true } },
    });
  });

  test("[A-15] the events are the same in pieces of any size, with CRLF, comments, names and no last blank line", async () => {
    const signed = chunk([{ text: "", thoughtSignature: "s".repeat(60_000) }]);
    const lines = [
      ": ka",
      "",
      `data: ${JSON.stringify(chunk([{ text: "One " }]))}`,
      "",
      ": ka",
      "event: message",
      "id: 1",
      `data: ${JSON.stringify(signed)}`,
      "",
      `data: ${JSON.stringify(chunk([{ text: "two" }], "STOP"))}`,
    ];
    const raw = Buffer.from(lines.join("\r\n"));
    const whole = [
      { type: "text", delta: "One " },
      { type: "text", delta: "two" },
      end([
        { kind: "text", text: "One " },
        { kind: "text", text: "", signature: "s".repeat(60_000) },
        { kind: "text", text: "two" },
      ]),
    ];
    for (const size of [raw.length, 9_973, 97]) {
      const server = await serve(bytes(raw, size));
      expect(await allOf(gemini(server.url))).toEqual(whole);
    }
  });

  test("[E-08] text that arrives one byte at a time is whole", async () => {
    const text = "naïve 妊娠 👩‍⚕️ ½";
    const server = await serve(bytes(Buffer.from(`data: ${JSON.stringify(chunk([{ text }], "STOP"))}\n\n`), 1));
    expect(await allOf(gemini(server.url))).toEqual([{ type: "text", delta: text }, end([{ kind: "text", text }])]);
  });

  test("[A-07] a body of {} and a block that came as plain JSON", async () => {
    const server = await serve(
      answers(200, "{}"),
      answers(200, '[{"promptFeedback":{"blockReason":"SAFETY"}}]'),
      answers(200, ""),
    );
    const model = gemini(server.url);
    expect(await failureOf(allOf(model))).toMatchObject({ code: "empty_response" });
    expect(await failureOf(allOf(model))).toMatchObject({
      code: "blocked",
      retryable: false,
      countsAgainstHealth: false,
    });
    expect(await failureOf(allOf(model))).toMatchObject({ code: "stream_error" });
  });

  test("[A-13] statuses: ours, the setting's, or the server's fault", async () => {
    const google = (code: number, message: string, details: unknown[] = []) =>
      JSON.stringify({ error: { code, message, details } });
    const cases: readonly (readonly [reply: Reply, failure: object])[] = [
      [
        answers(400, google(400, "secret words")),
        { code: "bad_request", retryable: false, countsAgainstHealth: false },
      ],
      [
        answers(400, google(400, "key", [{ reason: "API_KEY_INVALID" }])),
        { code: "unauthorized", retryable: false, countsAgainstHealth: false },
      ],
      [answers(403, google(403, "no")), { code: "unauthorized", retryable: false, countsAgainstHealth: false }],
      [answers(404, "nothing here", {}), { code: "not_found", retryable: false, countsAgainstHealth: false }],
      [
        answers(302, "", { location: "http://127.0.0.1:1/" }),
        { code: "not_found", retryable: false, countsAgainstHealth: false },
      ],
      [
        answers(429, google(429, "slow"), { "content-type": "application/json", "retry-after": "7" }),
        { code: "throttled", retryable: true, countsAgainstHealth: true, retryAfterMs: 7_000 },
      ],
      [
        answers(503, "<html>", { "content-type": "text/html" }),
        { code: "overloaded", retryable: true, countsAgainstHealth: true },
      ],
      [
        events(chunk([{ text: "a" }]), { error: { code: 503, message: "secret words", status: "UNAVAILABLE" } }),
        { code: "overloaded", retryable: true, countsAgainstHealth: true },
      ],
      [
        events({ error: { code: 400, message: "secret words" } }),
        { code: "bad_request", retryable: false, countsAgainstHealth: false },
      ],
      [events({ error: "secret words" }), { code: "stream_error", retryable: true, countsAgainstHealth: true }],
      [
        bytes(Buffer.from("data: secret words\n\n")),
        { code: "stream_error", retryable: true, countsAgainstHealth: true },
      ],
      [breaks(chunk([{ text: "a" }])), { code: "stream_error", retryable: true, countsAgainstHealth: true }],
      [events(chunk([{ text: "a" }])), { code: "truncated_stream", retryable: true, countsAgainstHealth: true }],
    ];
    for (const [reply, expected] of cases) {
      const server = await serve(reply);
      const failure = await failureOf(allOf(gemini(server.url)));
      expect(failure).toMatchObject(expected);
      const { message, cause, stack } = failure as Error;
      expect(`${message} ${stack} ${String(cause)} ${JSON.stringify(failure)}`).not.toContain("secret");
    }
  });

  test("[A-13] nobody listens", async () => {
    const server = await serve(hello);
    await server.close();
    expect(await failureOf(allOf(gemini(server.url)))).toMatchObject({
      code: "unreachable",
      retryable: true,
      countsAgainstHealth: true,
    });
  });

  test("[A-15] a stall before or in the middle of an answer fails the call and closes the connection", async () => {
    for (const sent of [[], [chunk([{ text: "Hel" }])]]) {
      const closed = vi.fn();
      const server = await serve(goesSilent(closed, ...sent));
      const timers = fakeTimers();
      const shown: ModelEvent[] = [];
      const stream = gemini(server.url, { timers, stallMs: 5_000 })
        .stream(asking(), new AbortController().signal)
        [Symbol.asyncIterator]();
      if (sent.length > 0) shown.push((await stream.next()).value as ModelEvent);
      const failure = failureOf(stream.next());
      await vi.waitFor(() => expect([server.received.length, timers.pending()]).toEqual([1, [5_000]]));
      timers.fire();
      // The first silence may have been that before the headers.
      expect(await failure).toMatchObject({ code: "stalled", retryable: true, countsAgainstHealth: true });
      expect(timers.pending()).toEqual([]);
      expect(shown).toEqual(sent.length > 0 ? [{ type: "text", delta: "Hel" }] : []);
      await vi.waitFor(() => expect(closed).toHaveBeenCalledTimes(1));
    }
  });

  test("[A-15] a user's abort is no failure of the model: the signal's own reason comes out, and the connection closes", async () => {
    const closed = vi.fn();
    const server = await serve(goesSilent(closed, chunk([{ text: "Hel" }])));
    const cancel = new AbortController();
    const stream = gemini(server.url).stream(asking(), cancel.signal)[Symbol.asyncIterator]();
    await stream.next();
    const reason = new Error("the user pressed Stop");
    const failure = failureOf(stream.next());
    cancel.abort(reason);
    expect(await failure).toBe(reason);
    await vi.waitFor(() => expect(closed).toHaveBeenCalledTimes(1));
    expect(await failureOf(allOf(gemini(server.url), asking(), cancel.signal))).toBe(reason);
    expect(server.received.length).toBe(1);
  });

  test("[A-15] a reader that leaves early closes the connection", async () => {
    const closed = vi.fn();
    const server = await serve(goesSilent(closed, chunk([{ text: "Hel" }])));
    for await (const event of gemini(server.url).stream(asking(), new AbortController().signal)) {
      expect(event).toEqual({ type: "text", delta: "Hel" });
      break;
    }
    await vi.waitFor(() => expect(closed).toHaveBeenCalledTimes(1));
  });
});
