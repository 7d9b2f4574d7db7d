import type { GenerateContentResponse } from "@google/genai";
import { describe, expect, test } from "vitest";
import { projectGemini } from "../../machines/conversation/project-gemini.ts";
import { assistant, request, result, user } from "../../machines/conversation/testing/build.ts";
import type { ToolDeclaration } from "../../machines/model.ts";
import { answerReader } from "./gemini-answer.ts";
import type { ModelNotice } from "./notices.ts";
import { counter } from "./testing/gemini.ts";
import { chunk } from "./testing/server.ts";

const NO_USAGE = { input: 0, output: 0, thinking: 0, cached: 0 };

/** What a streamed answer shows and what it is in the end. */
function read(chunks: readonly unknown[], tools: readonly ToolDeclaration[] = []) {
  const notices: ModelNotice[] = [];
  const reader = answerReader({ tools, newCallId: counter(), notice: (notice) => notices.push(notice) });
  const shown = chunks.flatMap((each) => reader.read(each as GenerateContentResponse));
  return { shown, end: () => reader.end(), notices };
}
const failsWith = (chunks: readonly unknown[], code: string, countsAgainstHealth: boolean, retryable: boolean) =>
  expect(() => read(chunks).end()).toThrow(expect.objectContaining({ code, countsAgainstHealth, retryable }));

describe("an answer of Gemini", () => {
  test("[A-03] a signature on an empty last chunk is kept in a part of its own, without an empty delta", () => {
    const { shown, end } = read([
      chunk([{ text: "Take it " }]),
      chunk([{ text: "with food." }]),
      chunk([{ text: "", thoughtSignature: "s9" }], "STOP"),
      {
        usageMetadata: {
          promptTokenCount: 10,
          candidatesTokenCount: 5,
          thoughtsTokenCount: 3,
          cachedContentTokenCount: 4,
        },
      },
    ]);
    expect(shown).toEqual([
      { type: "text", delta: "Take it " },
      { type: "text", delta: "with food." },
    ]);
    const { parts, truncated, usage } = end();
    expect({ parts, truncated, usage }).toEqual({
      parts: [
        { kind: "text", text: "Take it with food." },
        { kind: "text", text: "", signature: "s9" },
      ],
      truncated: false,
      usage: { input: 10, output: 5, thinking: 3, cached: 4 },
    });
    const { contents } = projectGemini(request([user("q"), assistant(parts), user("r")]), "gemini-api");
    expect(contents[1]?.parts).toEqual([{ text: "Take it with food." }, { text: "", thoughtSignature: "s9" }]);
  });

  test("[A-03] signed chunks are never joined; thoughts are reasoning and are shown as thinking", () => {
    const { shown, end } = read([
      chunk([{ text: "Let me ", thought: true }]),
      chunk([
        { text: "see", thought: true },
        { text: "", thought: true, thoughtSignature: "t" },
      ]),
      chunk([{ text: "A" }, { text: "B", thoughtSignature: "s" }, { text: "C" }]),
      chunk([{ thoughtSignature: "bare" }], "STOP"),
    ]);
    expect(shown).toEqual([
      { type: "thinking", delta: "Let me " },
      { type: "thinking", delta: "see" },
      { type: "text", delta: "A" },
      { type: "text", delta: "B" },
      { type: "text", delta: "C" },
    ]);
    expect(end().parts).toEqual([
      { kind: "reasoning", text: "Let me see" },
      { kind: "reasoning", text: "", signature: "t" },
      { kind: "text", text: "A" },
      { kind: "text", text: "B", signature: "s" },
      { kind: "text", text: "C" },
      { kind: "text", text: "", signature: "bare" },
    ]);
  });

  test("[A-06] a malformed call is no answer, and a call beside it is not one either", () => {
    failsWith(
      [{ candidates: [{ content: {}, finishReason: "MALFORMED_FUNCTION_CALL" }] }],
      "malformed_tool_call",
      false,
      true,
    );
    failsWith(
      [chunk([{ functionCall: { name: "delete_draft" } }], "MALFORMED_FUNCTION_CALL")],
      "malformed_tool_call",
      false,
      true,
    );
    failsWith([chunk([{ functionCall: { name: "x" } }], "UNEXPECTED_TOOL_CALL")], "malformed_tool_call", false, true);
  });

  test("[A-06] a finish reason nobody knows is no success", () => {
    failsWith([chunk([], "NEW_REASON")], "unknown_finish_reason:NEW_REASON", true, true);
    failsWith([chunk([{ functionCall: { name: "x" } }], "NEW_REASON")], "unknown_finish_reason:NEW_REASON", true, true);
    failsWith([chunk([], "so </b> odd")], "unknown_finish_reason:UNREADABLE", true, true);
    expect(read([chunk([{ text: "So far" }], "NEW_REASON")]).end()).toEqual({
      parts: [{ kind: "text", text: "So far" }],
      truncated: true,
      usage: NO_USAGE,
    });
  });

  test("[A-07] a blocked prompt is blocked; no candidates is an empty response", () => {
    failsWith([{ promptFeedback: { blockReason: "SAFETY" } }], "blocked", false, false);
    failsWith([chunk([{ text: "I " }], "PROHIBITED_CONTENT")], "blocked", false, false);
    for (const empty of [[{ candidates: [] }], [{}], [], [chunk([], "STOP")], [chunk([{ text: " \n" }], "STOP")]]) {
      failsWith(empty, "empty_response", true, true);
    }
  });

  test("[A-08] a budget spent on thinking is told apart; text that was cut is shown as cut", () => {
    failsWith(
      [
        {
          candidates: [{ content: { role: "model" }, finishReason: "MAX_TOKENS" }],
          usageMetadata: { thoughtsTokenCount: 251, candidatesTokenCount: 0 },
        },
      ],
      "output_budget_exhausted",
      false,
      false,
    );
    failsWith([chunk([{ text: "hm", thought: true }], "MAX_TOKENS")], "output_budget_exhausted", false, false);
    expect(read([chunk([{ text: "First, " }], "MAX_TOKENS")]).end()).toEqual({
      parts: [{ kind: "text", text: "First, " }],
      truncated: true,
      usage: NO_USAGE,
    });
  });

  test("[A-14] calls decide, not the finish reason; absent arguments are {}", () => {
    expect(
      read([chunk([{ text: "Checking" }, { functionCall: { name: "x", args: { a: 1 } } }], "STOP")]).end().parts,
    ).toEqual([
      { kind: "text", text: "Checking" },
      { kind: "tool_call", call: { callId: "our-1", name: "x", args: { a: 1 } } },
    ]);
    expect(read([chunk([{ functionCall: { name: "x" } }], "STOP")]).end().parts).toEqual([
      { kind: "tool_call", call: { callId: "our-1", name: "x", args: {} } },
    ]);
  });

  test("[A-14] a call on which the limit fell must not run; those before it may", () => {
    const made = read([
      chunk([{ functionCall: { name: "x" } }, { functionCall: { name: "y", args: { items: ["a"] } } }], "MAX_TOKENS"),
    ]).end();
    expect(made).toEqual({
      parts: [
        { kind: "tool_call", call: { callId: "our-1", name: "x", args: {} } },
        { kind: "tool_call", call: { callId: "our-2", name: "y", args: { items: ["a"] }, broken: "truncated" } },
      ],
      truncated: true,
      usage: NO_USAGE,
    });
  });

  test("[A-14] a part nobody knows is told and left out; alone it is no answer", () => {
    const odd = { videoMetadata: {}, inlineData: { data: "AAAA" } };
    const { shown, end, notices } = read([chunk([odd, { text: "Hi" }], "STOP")]);
    expect(shown).toEqual([{ type: "text", delta: "Hi" }]);
    expect(end().parts).toEqual([{ kind: "text", text: "Hi" }]);
    expect(notices).toEqual([{ kind: "unknown_part", fields: ["inlineData", "videoMetadata"] }]);
    failsWith([chunk([odd], "STOP")], "empty_response", true, true);
  });

  test("[A-15] an answer that ends without a finish reason is not complete", () => {
    failsWith([chunk([{ text: "Two opt" }])], "truncated_stream", true, true);
    failsWith([chunk([{ functionCall: { name: "x" } }])], "truncated_stream", true, true);
  });

  test("[A-02] parallel calls over several chunks keep their order, the signature on the first only", () => {
    const { parts } = read([
      chunk([{ functionCall: { name: "A", args: {} }, thoughtSignature: "s1" }]),
      chunk([{ functionCall: { name: "B", args: {} } }, { functionCall: { name: "C", args: {} } }], "STOP"),
    ]).end();
    expect(parts).toEqual([
      { kind: "tool_call", call: { callId: "our-1", name: "A", args: {} }, signature: "s1" },
      { kind: "tool_call", call: { callId: "our-2", name: "B", args: {} } },
      { kind: "tool_call", call: { callId: "our-3", name: "C", args: {} } },
    ]);
  });

  test("[A-11] the same tool twice without ids: two ids of ours; a result belongs to its call", () => {
    const twice = [
      { functionCall: { name: "get_item", args: { id: 1 } } },
      { functionCall: { name: "get_item", args: { id: 2 } } },
    ];
    const { parts } = read([chunk(twice, "STOP")]).end();
    expect(parts).toEqual([
      { kind: "tool_call", call: { callId: "our-1", name: "get_item", args: { id: 1 } } },
      { kind: "tool_call", call: { callId: "our-2", name: "get_item", args: { id: 2 } } },
    ]);
    const history = [
      user("compare"),
      assistant(parts),
      result("our-2", "get_item", "two"),
      result("our-1", "get_item", "one"),
    ];
    expect(projectGemini(request(history), "gemini-api").contents[2]?.parts).toEqual([
      { functionResponse: { name: "get_item", response: { output: "one" } } },
      { functionResponse: { name: "get_item", response: { output: "two" } } },
    ]);
    expect(read([chunk([{ functionCall: { name: "x", id: "fc-1" } }], "STOP")]).end().parts).toEqual([
      { kind: "tool_call", call: { callId: "our-1", name: "x", args: {}, providerId: "fc-1" } },
    ]);
  });

  test("[A-10] names and arguments come back in the tool's own form", () => {
    const tools = [
      {
        name: "core.labels",
        description: "",
        inputSchema: { type: "object", additionalProperties: { type: "string" } },
      },
    ];
    const sent = projectGemini(request([user("q")], tools), "gemini-api").tools?.[0];
    const name =
      sent !== undefined && "functionDeclarations" in sent ? sent.functionDeclarations?.[0]?.name : undefined;
    const args = { entries: [{ key: "a", value: "1" }] };
    expect(read([chunk([{ functionCall: { name, args } }], "STOP")], tools).end().parts).toEqual([
      { kind: "tool_call", call: { callId: "our-1", name: "core.labels", args: { a: "1" }, providerArgs: args } },
    ]);
  });
});
