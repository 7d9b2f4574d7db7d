import type { ConverseStreamOutput } from "@aws-sdk/client-bedrock-runtime";
import { describe, expect, test } from "vitest";
import { projectBedrock } from "../../machines/conversation/project-bedrock.ts";
import { assistant, request, result, user } from "../../machines/conversation/testing/build.ts";
import type { ToolDeclaration } from "../../machines/model.ts";
import { bedrockAnswerReader } from "./bedrock-answer.ts";
import type { ModelNotice } from "./notices.ts";
import { delta, type Event, stop, toolStart } from "./testing/bedrock.ts";
import { counter } from "./testing/gemini.ts";

const tool = (name: string): ToolDeclaration => ({ name, description: "", inputSchema: { type: "object" } });
const NO_USAGE = { input: 0, output: 0, thinking: 0, cached: 0 };

/** What a streamed answer shows and what it is in the end. */
function read(events: readonly Event[], tools: readonly ToolDeclaration[] = [tool("find")]) {
  const notices: ModelNotice[] = [];
  const reader = bedrockAnswerReader({ tools, newCallId: counter(), notice: (notice) => notices.push(notice) });
  const shown = events.flatMap(([name, body]) => reader.read({ [name]: body } as unknown as ConverseStreamOutput));
  return { shown, end: () => reader.end(), notices };
}
const failsWith = (events: readonly Event[], code: string, countsAgainstHealth: boolean, retryable: boolean) =>
  expect(() => read(events).end()).toThrow(expect.objectContaining({ code, countsAgainstHealth, retryable }));
const input = (text: string, at = 0) => delta({ toolUse: { input: text } }, at);

describe("an answer of Claude on Bedrock", () => {
  test("[B-07] the signature is a delta of its own; reasoning is not answer text and is replayed unmodified", () => {
    const { shown, end } = read([
      ["messageStart", { role: "assistant" }],
      delta({ reasoningContent: { text: "Let me " } }),
      delta({ reasoningContent: { text: "see" } }),
      delta({ reasoningContent: { signature: "R1" } }),
      ["contentBlockStop", { contentBlockIndex: 0 }],
      delta({ text: "Checking." }, 1),
      toolStart("u1", "find", 2),
      input('{"q":', 2),
      input('"R."}', 2),
      stop("tool_use"),
      [
        "metadata",
        {
          usage: {
            inputTokens: 5,
            outputTokens: 7,
            totalTokens: 42,
            cacheReadInputTokens: 20,
            cacheWriteInputTokens: 10,
          },
        },
      ],
    ]);
    expect(shown).toEqual([
      { type: "thinking", delta: "Let me " },
      { type: "thinking", delta: "see" },
      { type: "text", delta: "Checking." },
    ]);
    const { parts, ...rest } = end();
    expect(rest).toEqual({ truncated: false, usage: { input: 35, output: 7, thinking: 0, cached: 20 } });
    expect(parts).toEqual([
      { kind: "reasoning", text: "Let me see", signature: "R1" },
      { kind: "text", text: "Checking." },
      { kind: "tool_call", call: { callId: "our-1", name: "find", args: { q: "R." }, providerId: "u1" } },
    ]);
    const history = [user("q"), assistant(parts, "bedrock-claude"), result("our-1", "find", "x")];
    const asked = request(history, [], { thinking: true, maxOutputTokens: 4_000 });
    expect(projectBedrock(asked, "bedrock-claude").messages[1]?.content).toEqual([
      { reasoningContent: { reasoningText: { text: "Let me see", signature: "R1" } } },
      { text: "Checking." },
      { toolUse: { toolUseId: "u1", name: "find", input: { q: "R." } } },
    ]);
  });

  test("[B-07] sealed reasoning keeps its bytes, in one piece", () => {
    const { shown, end } = read([
      delta({ reasoningContent: { redactedContent: Uint8Array.of(0, 1) } }),
      delta({ reasoningContent: { redactedContent: Uint8Array.of(255) } }),
      delta({ text: "Done." }, 1),
      stop("end_turn"),
    ]);
    expect(shown).toEqual([{ type: "text", delta: "Done." }]);
    expect(end().parts).toEqual([
      { kind: "reasoning", text: "", redacted: "AAH/" },
      { kind: "text", text: "Done." },
    ]);
  });

  test("[B-06] a call of a sent name is a call of the tool's own name", () => {
    const names = ["clinic-core.patient.find", "näme"];
    const declared = projectBedrock(request([user("q")], names.map(tool)), "bedrock-claude").toolConfig?.tools ?? [];
    const events = declared.flatMap(({ toolSpec }, at) =>
      toolSpec ? [toolStart(`u${at}`, toolSpec.name ?? "", at)] : [],
    );
    const { parts } = read([...events, stop("tool_use")], names.map(tool)).end();
    expect(parts.map((part) => part.kind === "tool_call" && part.call.name)).toEqual(names);
  });

  test("[J-05] arguments that the limit cut are broken; absent ones are {}; what is no JSON is kept for its position", () => {
    const cut = read([
      toolStart("u0", "find"),
      input('{"a":1}'),
      toolStart("u1", "find", 1),
      input('{"items":["a","b', 1),
      stop("max_tokens"),
    ]);
    expect(cut.end()).toEqual({
      parts: [
        { kind: "tool_call", call: { callId: "our-1", name: "find", args: { a: 1 }, providerId: "u0" } },
        { kind: "tool_call", call: { callId: "our-2", name: "find", args: {}, providerId: "u1", broken: "truncated" } },
      ],
      truncated: true,
      usage: NO_USAGE,
    });
    const whole = (text: string) => read([toolStart("u1", "find"), input(text), stop("tool_use")]).end().parts;
    expect([whole(""), whole("{}"), whole('{"a":}'), whole("[1]")]).toEqual([
      [{ kind: "tool_call", call: { callId: "our-1", name: "find", args: {}, providerId: "u1" } }],
      [{ kind: "tool_call", call: { callId: "our-1", name: "find", args: {}, providerId: "u1" } }],
      [
        {
          kind: "tool_call",
          call: { callId: "our-1", name: "find", args: '{"a":}', providerId: "u1", broken: "invalid_json" },
        },
      ],
      [{ kind: "tool_call", call: { callId: "our-1", name: "find", args: [1], providerId: "u1" } }],
    ]);
    // Cut before the first letter of its arguments, a call looks like one without any.
    expect(read([toolStart("u1", "find"), stop("max_tokens")]).end().parts).toMatchObject([
      { call: { broken: "truncated" } },
    ]);
  });

  test("[B-04] where nothing could be called, a call is dropped", () => {
    const events = [delta({ text: "So:" }), toolStart("u1", "no_tool_can_be_called_now", 1), stop("tool_use")];
    expect(read(events, []).end().parts).toEqual([{ kind: "text", text: "So:" }]);
    expect(() => read(events.slice(1), []).end()).toThrow(expect.objectContaining({ code: "malformed_tool_call" }));
  });

  test("[B-10] without the stop event nothing is an answer", () => {
    failsWith([delta({ text: "Two opt" })], "truncated_stream", true, true);
    failsWith([toolStart("u1", "find"), input('{"id":')], "truncated_stream", true, true);
    failsWith([], "truncated_stream", true, true);
  });

  test("[A-08] the whole limit spent on thinking is told; a text that was cut is kept", () => {
    failsWith(
      [delta({ reasoningContent: { text: "hm" } }), stop("max_tokens")],
      "output_budget_exhausted",
      false,
      false,
    );
    const { parts, truncated } = read([delta({ text: "So far" }), stop("max_tokens")]).end();
    expect([parts, truncated]).toEqual([[{ kind: "text", text: "So far" }], true]);
  });

  test("[A-06] refusals, unusable calls, empty answers and unknown reasons are no answers", () => {
    failsWith([delta({ text: "I" }), stop("guardrail_intervened")], "blocked", false, false);
    failsWith([stop("content_filtered")], "blocked", false, false);
    failsWith([toolStart("u1", "find"), stop("malformed_tool_use")], "malformed_tool_call", false, true);
    failsWith([stop("end_turn")], "empty_response", true, true);
    failsWith([delta({ text: " " }), stop("end_turn")], "empty_response", true, true);
    failsWith([toolStart("u1", "find"), stop("new_reason")], "unknown_finish_reason:new_reason", true, true);
    failsWith([stop("so </b> odd")], "unknown_finish_reason:UNREADABLE", true, true);
    expect(read([delta({ text: "So far" }), stop("new_reason")]).end().truncated).toBe(true);
  });

  test("deltas that fit no block break the answer; unknown ones are noticed", () => {
    expect(() => read([input("{}")])).toThrow(expect.objectContaining({ code: "stream_error" }));
    expect(() => read([delta({ text: "a" }), input("{}")])).toThrow(expect.objectContaining({ code: "stream_error" }));
    expect(read([delta({ citation: {} }), delta({ text: "a" }, 1), stop("end_turn")]).notices).toEqual([
      { kind: "unknown_part", fields: ["citation"] },
    ]);
  });
});
