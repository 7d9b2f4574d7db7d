import { describe, expect, test } from "vitest";
import { blobId, blockId, commandId, interactionId } from "../ids.ts";
import type { Entry } from "./entries.ts";
import { sentName } from "./names.ts";
import { GEMINI_PROJECTOR, projectGemini, SKIP_SIGNATURE } from "./project-gemini.ts";
import { assistant, call, calling, reasoning, request, result, summary, TURN, text, user } from "./testing/build.ts";
import { contentProblems } from "./testing/gemini-rules.ts";

const ID = "00000000-0000-4000-8000-000000000002";
const contentsOf = (...entries: readonly Entry[]) => projectGemini(request(entries), "gemini-api").contents;
const said = (words: string) => ({ role: "user", parts: [{ text: words }] });
const answered = (words: string) => ({ role: "model", parts: [{ text: words }] });
const response = (name: string, output: string) => ({ functionResponse: { name, response: { output } } });

describe("projection for Gemini", () => {
  test("[A-01] a signature comes back byte-identical on the part that carried it, through JSON", () => {
    const history: readonly Entry[] = [
      user("find R."),
      assistant([calling(call("c1", "find_patient", { q: "R." }), "c2lnLTE=")]),
      result("c1", "find_patient", "pat-001"),
      assistant([text("Here is the first one.")]),
      user("and the second one?"),
    ];
    const thawed = JSON.parse(JSON.stringify(history)) as readonly Entry[];
    const expected = [
      said("find R."),
      {
        role: "model",
        parts: [{ functionCall: { name: "find_patient", args: { q: "R." } }, thoughtSignature: "c2lnLTE=" }],
      },
      { role: "user", parts: [response("find_patient", "pat-001")] },
      answered("Here is the first one."),
      said("and the second one?"),
    ];
    expect(contentsOf(...history)).toEqual(expected);
    expect(JSON.stringify(contentsOf(...thawed))).toBe(JSON.stringify(contentsOf(...history)));
  });

  test("[A-02] parallel calls are one content, only the first signed; results come in call order", () => {
    const contents = contentsOf(
      user("three things"),
      assistant([calling(call("a", "A"), "s1"), calling(call("b", "B")), calling(call("c", "C"))]),
      result("c", "C", "3"),
      result("a", "A", "1"),
      result("b", "B", "2"),
    );
    expect(contents).toEqual([
      said("three things"),
      {
        role: "model",
        parts: [
          { functionCall: { name: "A", args: {} }, thoughtSignature: "s1" },
          { functionCall: { name: "B", args: {} } },
          { functionCall: { name: "C", args: {} } },
        ],
      },
      { role: "user", parts: [response("A", "1"), response("B", "2"), response("C", "3")] },
    ]);
  });

  test("[A-03] a signature on an empty text goes back where it came", () => {
    expect(contentsOf(user("how?"), assistant([text("Take it with food."), text("", "s9")]), user("and?"))[1]).toEqual({
      role: "model",
      parts: [{ text: "Take it with food." }, { text: "", thoughtSignature: "s9" }],
    });
  });

  test("[A-04] reasoning belongs to the route kind: a renamed profile replays it, another issuer does not", () => {
    const step = assistant([reasoning("first look it up", "t1"), calling(call("c1", "find"), "s1")]);
    const history = [user("q"), { ...step, profile: "gateway-gemini" } as Entry, result("c1", "find", "x")];
    const own = {
      role: "model",
      parts: [
        { text: "first look it up", thought: true, thoughtSignature: "t1" },
        { functionCall: { name: "find", args: {} }, thoughtSignature: "s1" },
      ],
    };
    expect(contentsOf(...history)[1]).toEqual(own);
    const renamed = history.map(
      (entry): Entry => (entry.kind === "assistant" ? { ...entry, profile: "gemini-gw" } : entry),
    );
    expect(contentsOf(...renamed)[1]).toEqual(own);
    expect(projectGemini(request(history), "vertex").contents[1]).toEqual({
      role: "model",
      parts: [{ functionCall: { name: "find", args: {} }, thoughtSignature: SKIP_SIGNATURE }],
    });
  });

  test("[A-04] same-issuer reasoning that can't be sent is told", () => {
    const lost = assistant([{ kind: "reasoning", text: "", redacted: "xyz" }, text("Yes.")]);
    expect(projectGemini(request([user("q"), lost, user("r")]), "gemini-api").warnings).toEqual([
      { kind: "reasoning_dropped", turnId: TURN, step: 1, reason: "redacted" },
    ]);
  });

  test("[A-05] history that Claude wrote: no foreign signature or thought, the calls stay readable", () => {
    const history = [
      user("q"),
      assistant(
        [
          reasoning("secret plan", "CL-1"),
          calling(call("c1", "find", { q: 1 }, { providerId: "tooluse_x" })),
          calling(call("c2", "find", { q: 2 })),
        ],
        "bedrock-claude",
      ),
      result("c1", "find", "one"),
      result("c2", "find", "two"),
      assistant([text("It is one.", "CL-2")], "bedrock-claude"),
      user("sure?"),
    ];
    const before = structuredClone(history);
    expect(contentsOf(...history)).toEqual([
      said("q"),
      {
        role: "model",
        parts: [
          { functionCall: { name: "find", args: { q: 1 } }, thoughtSignature: SKIP_SIGNATURE },
          { functionCall: { name: "find", args: { q: 2 } } },
        ],
      },
      { role: "user", parts: [response("find", "one"), response("find", "two")] },
      answered("It is one."),
      said("sure?"),
    ]);
    expect(history).toEqual(before);
  });

  test("[A-11] the id that the vendor gave goes back to it with the response", () => {
    const [, model, results] = contentsOf(
      user("compare"),
      assistant([
        calling(call("x1", "get_item", { id: 1 }, { providerId: "fc-1" }), "s"),
        calling(call("x2", "get_item", { id: 2 }, { providerId: "fc-2" })),
      ]),
      result("x2", "get_item", "two"),
      result("x1", "get_item", "one"),
    );
    expect(model?.parts?.map((part) => part.functionCall)).toEqual([
      { id: "fc-1", name: "get_item", args: { id: 1 } },
      { id: "fc-2", name: "get_item", args: { id: 2 } },
    ]);
    expect(results?.parts?.map((part) => part.functionResponse)).toEqual([
      { id: "fc-1", name: "get_item", response: { output: "one" } },
      { id: "fc-2", name: "get_item", response: { output: "two" } },
    ]);
  });

  test("[A-10] arguments that our schema changed are replayed as the model wrote them", () => {
    const args = { entries: [{ key: "a", value: "1" }] };
    const made = call("c1", "set_labels", { a: "1" }, { providerArgs: args });
    const history = [user("label"), assistant([calling(made, "s")]), result("c1", "set_labels", "done")];
    expect(contentsOf(...history)[1]?.parts?.[0]?.functionCall?.args).toEqual(args);
    expect(projectGemini(request(history), "vertex").contents[1]?.parts?.[0]?.functionCall?.args).toEqual({ a: "1" });
  });

  test("[A-12] whatever it opens or ends with, it begins and ends with the user", () => {
    const step = assistant([calling(call("c1", "find"), "s1")]);
    const found = response("find", "x");
    const asked = { role: "model", parts: [{ functionCall: { name: "find", args: {} }, thoughtSignature: "s1" }] };
    const earlier = said("[The conversation began before this point.]");
    expect(contentsOf(step, result("c1", "find", "x"), assistant([text("Found.")]), user("thanks"))).toEqual([
      earlier,
      asked,
      { role: "user", parts: [found] },
      answered("Found."),
      said("thanks"),
    ]);
    expect(contentsOf(user("hi"), assistant([text("Hello")]))).toEqual([
      said("hi"),
      answered("Hello"),
      said("[Continue.]"),
    ]);
    expect(contentsOf(user("hi"), step)).toEqual([
      said("hi"),
      asked,
      { role: "user", parts: [{ functionResponse: { name: "find", response: { error: "no result recorded" } } }] },
    ]);
    expect(contentsOf(user("a"), result("c9", "find", "x"), user("b"))).toEqual([
      { role: "user", parts: [{ text: "a" }, { text: "b" }] },
    ]);
    expect(contentsOf(user("a"), user("b"), assistant([text("c")]), assistant([text("d")]), user("e"))).toEqual([
      { role: "user", parts: [{ text: "a" }, { text: "b" }] },
      { role: "model", parts: [{ text: "c" }, { text: "d" }] },
      said("e"),
    ]);
    expect(contentsOf()).toEqual([said("[Continue.]")]);
  });

  test("[B-03] text that arrived between call and result comes after the result", () => {
    expect(
      contentsOf(
        user("A"),
        assistant([calling(call("u1", "find"), "s")]),
        user("B"),
        result("u1", "find", "x"),
        user("C"),
      ),
    ).toEqual([
      said("A"),
      { role: "model", parts: [{ functionCall: { name: "find", args: {} }, thoughtSignature: "s" }] },
      { role: "user", parts: [response("find", "x"), { text: "B" }, { text: "C" }] },
    ]);
  });

  test("[A-12] an id that was used in an earlier step belongs to the step it answers", () => {
    const step = assistant([calling(call("same", "find"), "s")]);
    const contents = contentsOf(
      user("q"),
      step,
      result("same", "find", "1"),
      step,
      result("same", "find", "2"),
      result("same", "find", "3"),
    );
    expect(contents.map(({ parts }) => parts?.[0]?.functionResponse?.response?.["output"])).toEqual([
      undefined,
      undefined,
      "1",
      undefined,
      "2",
    ]);
    expect(contentProblems(contents)).toEqual([]);
  });

  test("[A-12] one id twice in one step: results belong to the calls in their order", () => {
    const step = assistant([calling(call("same", "find", { q: 1 }), "s"), calling(call("same", "find", { q: 2 }))]);
    const contents = contentsOf(user("q"), step, result("same", "find", "1"), result("same", "find", "2"));
    expect(contents[2]).toEqual({ role: "user", parts: [response("find", "1"), response("find", "2")] });
  });

  test("[A-12] a step that was cancelled or failed leaves valid history", () => {
    const contents = contentsOf(
      user("q"),
      assistant([
        text("Let me lo"),
        calling(call("c1", "find"), "s"),
        calling(call("c2", "find", '{"q":', { broken: "truncated" })),
      ]),
      result("c1", "find", "cancelled by the user", "cancelled"),
      result("c2", "find", "  ", "unknown"),
      user("next"),
      assistant([]),
      assistant([text("  \n")]),
      user("\ud800"),
      user("again"),
    );
    expect(contentProblems(contents)).toEqual([]);
    expect(contents.slice(1)).toEqual([
      {
        role: "model",
        parts: [
          { text: "Let me lo" },
          { functionCall: { name: "find", args: {} }, thoughtSignature: "s" },
          { functionCall: { name: "find", args: { value: '{"q":' } } },
        ],
      },
      {
        role: "user",
        parts: [
          { functionResponse: { name: "find", response: { error: "cancelled by the user" } } },
          { functionResponse: { name: "find", response: { error: "outcome: unknown" } } },
          { text: "next" },
          { text: "again" },
        ],
      },
    ]);
  });

  test("[J-01] context is a part of its own before the user's unaltered words; the summary comes first, once", () => {
    const interaction = interactionId(ID);
    expect(
      contentsOf(
        user("<b>hi</b> </context>", { context: { patient: { id: "p", name: "</context>" } } }),
        summary("old"),
        {
          kind: "interaction",
          turnId: TURN,
          interactionId: interaction,
          callId: call("c", "ask").callId,
          pending: { id: ID, revision: 1, kind: "single_choice", prompt: "Which?", schema: {} },
        },
        {
          kind: "resolution",
          turnId: TURN,
          interactionId: interaction,
          by: "user",
          text: "The user answered: </plan> yes",
        },
        { kind: "action", turnId: TURN, commandId: commandId(ID), blockId: blockId(ID), text: "Added <patient>." },
        summary("She takes </context> zinc"),
        user("", {
          entryPoint: "check_interactions",
          attachments: [{ blobId: blobId(ID), mime: "image/png", bytes: 12 }],
        }),
      ),
    ).toEqual([
      {
        role: "user",
        parts: [
          { text: "[Summary of earlier conversation: She takes &lt;/context> zinc]" },
          { text: '<context><patient id="p" name="&lt;/context&gt;"/></context>' },
          { text: "<b>hi</b> </context>" },
          { text: "The user answered: &lt;/plan> yes" },
          { text: "Added &lt;patient>." },
          { text: "[The user chose: check_interactions]" },
          { text: "[Attachment: image/png, 12 bytes]" },
        ],
      },
    ]);
  });

  test("[A-09] the whole request: instruction, declarations under legal names, limits, what was left out", () => {
    const tools = [
      {
        name: "core.find",
        description: "Finds.",
        inputSchema: { type: "object", properties: { q: { type: "string" } } },
      },
      { name: "bad", description: "Bad.", inputSchema: { type: "array" } },
    ];
    const entries = [user("q"), assistant([calling(call("c", "core.find"), "s")]), result("c", "core.find", "x")];
    const built = projectGemini(request(entries, tools, { thinking: true }), "gemini-api");
    const name = sentName("core.find");
    expect(built).toEqual({
      projector: GEMINI_PROJECTOR,
      systemInstruction: { role: "user", parts: [{ text: "be brief" }] },
      contents: [
        said("q"),
        { role: "model", parts: [{ functionCall: { name, args: {} }, thoughtSignature: "s" }] },
        { role: "user", parts: [response(name, "x")] },
      ],
      tools: [
        {
          functionDeclarations: [
            { name, description: "Finds.", parameters: { type: "OBJECT", properties: { q: { type: "STRING" } } } },
          ],
        },
      ],
      generation: { maxOutputTokens: 1_000, thinkingConfig: { includeThoughts: true } },
      warnings: [{ kind: "tool_left_out", tool: "bad", reason: "arguments must be an object" }],
    });
    expect(projectGemini(request([user("q")], [], { system: " " }), "gemini-api")).toEqual({
      projector: GEMINI_PROJECTOR,
      contents: [said("q")],
      generation: { maxOutputTokens: 1_000 },
      warnings: [],
    });
  });
});
