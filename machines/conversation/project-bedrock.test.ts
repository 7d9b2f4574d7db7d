import { describe, expect, test } from "vitest";
import { blobId } from "../ids.ts";
import type { AssistantEntry, Entry } from "./entries.ts";
import { projectBedrock } from "./project-bedrock.ts";
import { INERT_TOOL } from "./schema-bedrock.ts";
import { converseProblems } from "./testing/bedrock-rules.ts";
import { assistant, call, calling, reasoning, request, result, summary, TURN, text, user } from "./testing/build.ts";

const POINT = { cachePoint: { type: "default" } };
const find = { name: "find", description: "Finds.", inputSchema: { type: "object", properties: {} } };
const claude = (...parts: Parameters<typeof assistant>[0]): AssistantEntry =>
  assistant(parts, "bedrock-claude") as AssistantEntry;
const project = (entries: readonly Entry[], more: Parameters<typeof request>[2] = {}, tools = [find]) => {
  const made = projectBedrock(request(entries, tools, { maxOutputTokens: 4_000, ...more }), "bedrock-claude");
  expect(converseProblems(made)).toEqual([]);
  return made;
};
/** Messages without cache points. */
const messagesOf = (entries: readonly Entry[], more: Parameters<typeof request>[2] = {}) =>
  project(entries, more).messages.map(({ role, content = [] }) => [
    role,
    content.filter(({ cachePoint }) => cachePoint === undefined),
  ]);
const use = (toolUseId: string, name = "find", input: unknown = {}) => ({ toolUse: { toolUseId, name, input } });
const answer = (toolUseId: string, words: string, status = "success") => ({
  toolResult: { toolUseId, content: [{ text: words }], status },
});
const thought = (words: string, signature: string) => ({
  reasoningContent: { reasoningText: { text: words, signature } },
});
const thinkingOf = (entries: readonly Entry[]) =>
  project(entries, { thinking: true }).additionalModelRequestFields?.thinking;

describe("projection for Claude on Bedrock", () => {
  test("[B-01] no blank text, no empty message, no empty system; the conversation goes on", () => {
    const entries = [
      user("hi"),
      claude(text(""), calling(call("u1", "find"))),
      result("u1", "find", " "),
      user("   "),
      claude(text("\n")),
      user("\ud800"),
      claude(text("\u001c")),
      user("\u001f"),
    ];
    expect(messagesOf(entries)).toEqual([
      ["user", [{ text: "hi" }]],
      ["assistant", [use("u1")]],
      ["user", [answer("u1", "[The result is empty.]")]],
    ]);
    expect(project(entries, { system: " \n" }).system).toEqual([]);
    expect(messagesOf([user("\ud800")])).toEqual([["user", [{ text: "[Continue.]" }]]]);
    expect(messagesOf([user("\u001f")])).toEqual([["user", [{ text: "[Continue.]" }]]]);
  });

  test("[B-02] the results of a batch are one user message, in call order, the missing one told", () => {
    const entries = [
      user("three"),
      claude(calling(call("u1", "a")), calling(call("u2", "b")), calling(call("u3", "c"))),
      result("u2", "b", "", "error"),
      result("u1", "a", "one"),
    ];
    expect(messagesOf(entries)).toEqual([
      ["user", [{ text: "three" }]],
      ["assistant", [use("u1", "a"), use("u2", "b"), use("u3", "c")]],
      [
        "user",
        [answer("u1", "one"), answer("u2", "outcome: error", "error"), answer("u3", "no result recorded", "error")],
      ],
    ]);
  });

  test("[B-03] text that came between a call and its result stands after the result; neighbours are one", () => {
    const entries = [user("A"), claude(calling(call("u1", "find"))), user("B"), result("u1", "find", "x"), user("C")];
    expect(messagesOf(entries)).toEqual([
      ["user", [{ text: "A" }]],
      ["assistant", [use("u1")]],
      ["user", [answer("u1", "x"), { text: "B" }, { text: "C" }]],
    ]);
    expect(messagesOf([claude(text("a")), claude(text("b"))])).toEqual([
      ["user", [{ text: "[The conversation began before this point.]" }]],
      ["assistant", [{ text: "a" }, { text: "b" }]],
      ["user", [{ text: "[Continue.]" }]],
    ]);
  });

  test("[B-04] calls in history without tools get an inert tool; without calls there is no toolConfig", () => {
    const calls = [
      user("q"),
      claude(calling(call("u1", "find"))),
      result("u1", "find", "x"),
      claude(text("y")),
      user("sum"),
    ];
    const names = project(calls, {}, []).toolConfig?.tools?.map(({ toolSpec }) => toolSpec?.name);
    expect(names).toEqual([INERT_TOOL]);
    expect(project([user("q"), claude(text("y")), user("sum")], {}, []).toolConfig).toBeUndefined();
  });

  test("[B-05] ids are legal, distinct, the same on call and result, and the same in each build", () => {
    const long = `call_${"a".repeat(90)}`;
    const ids = [`${long}|1`, `${long}|2`, "fc.7:ü", "", "", "ok-1", "ok-1"];
    const entries = ids.flatMap((id): Entry[] => {
      const made = { ...call("x", "find"), callId: id as never };
      return [user("q"), assistant([calling(made)]), { ...result("x", "find", "r"), callId: id as never }];
    });
    const sent = (history: readonly Entry[]) =>
      project(history).messages.flatMap(({ content = [] }) =>
        content.flatMap(({ toolUse }) => toolUse?.toolUseId ?? []),
      );
    const made = sent(entries);
    expect(new Set(made).size).toBe(ids.length);
    expect(made.filter((id) => /^[A-Za-z0-9_-]{1,64}$/.test(id))).toEqual(made);
    expect(made[5]).toBe("ok-1");
    const answered = project(entries).messages.flatMap(({ content = [] }) =>
      content.flatMap(({ toolResult }) => toolResult?.toolUseId ?? []),
    );
    expect(answered).toEqual(made);
    expect(sent(JSON.parse(JSON.stringify(entries)) as Entry[])).toEqual(made);
  });

  test("[A-11] two calls without ids keep their results apart; an own id is echoed to its provider only", () => {
    const calls = [calling(call("our-1", "get_item", { id: 1 })), calling(call("our-2", "get_item", { id: 2 }))];
    const entries = [
      user("q"),
      assistant(calls),
      result("our-2", "get_item", "two"),
      result("our-1", "get_item", "one"),
    ];
    expect(messagesOf(entries).slice(1)).toEqual([
      ["assistant", [use("our-1", "get_item", { id: 1 }), use("our-2", "get_item", { id: 2 })]],
      ["user", [answer("our-1", "one"), answer("our-2", "two")]],
    ]);
    const named = calling(call("our-1", "find", {}, { providerId: "tooluse_x" }));
    const own = [user("q"), claude(named), result("our-1", "find", "r")];
    expect(messagesOf(own)[1]).toEqual(["assistant", [use("tooluse_x")]]);
    expect(messagesOf([user("q"), assistant([named]), result("our-1", "find", "r")])[1]).toEqual([
      "assistant",
      [use("our-1")],
    ]);
  });

  test("[B-06] every name is legal, in declarations as in history", () => {
    const names = ["clinic-core.patient.find", `catalog_${"x".repeat(70)}`, "näme"];
    const tools = names.map((name) => ({ ...find, name }));
    const entries = names.flatMap((name, at): Entry[] => [
      user("q"),
      claude(calling(call(`u${at}`, name))),
      result(`u${at}`, name, "r"),
    ]);
    const made = project(entries, {}, tools);
    const declared = made.toolConfig?.tools?.flatMap(({ toolSpec }) => toolSpec?.name ?? []);
    const used = made.messages.flatMap(({ content = [] }) => content.flatMap(({ toolUse }) => toolUse?.name ?? []));
    expect(used).toEqual(declared);
    expect(new Set(used).size).toBe(3);
  });

  test("[B-07] signed reasoning and redacted bytes are replayed unmodified, reasoning first, through JSON too", () => {
    const redacted: Parameters<typeof assistant>[0][number] = { kind: "reasoning", text: "", redacted: "AAH/" };
    const entries = [
      user("q"),
      claude(reasoning("Let me see", "R1"), text("Checking."), calling(call("u1", "find"))),
      result("u1", "find", "x"),
      claude(redacted, text("Done.")),
      user("and?"),
      claude(calling(call("u2", "find")), reasoning("later", "R2")),
      result("u2", "find", "y"),
    ];
    const expected = [
      ["user", [{ text: "q" }]],
      ["assistant", [thought("Let me see", "R1"), { text: "Checking." }, use("u1")]],
      ["user", [answer("u1", "x")]],
      ["assistant", [{ reasoningContent: { redactedContent: Uint8Array.of(0, 1, 255) } }, { text: "Done." }]],
      ["user", [{ text: "and?" }]],
      ["assistant", [thought("later", "R2"), use("u2")]],
      ["user", [answer("u2", "y")]],
    ];
    expect(messagesOf(entries, { thinking: true })).toEqual(expected);
    expect(messagesOf(JSON.parse(JSON.stringify(entries)) as Entry[], { thinking: true })).toEqual(expected);
    expect(project(entries, { thinking: true }).warnings).toEqual([]);
  });

  test("[B-07] answers that stand side by side keep each its reasoning first", () => {
    const entries = [
      user("q"),
      claude(reasoning("a", "R1"), text("A")),
      claude(reasoning("b", "R2"), text("B")),
      user("r"),
    ];
    expect(messagesOf(entries)).toEqual([
      ["user", [{ text: "q" }]],
      ["assistant", [thought("a", "R1"), { text: "A" }]],
      ["user", [{ text: "[Continue.]" }]],
      ["assistant", [thought("b", "R2"), { text: "B" }]],
      ["user", [{ text: "r" }]],
    ]);
  });

  test("[B-07] reasoning never stands with the call of a neighbour", () => {
    const entries = [
      user("q"),
      claude(reasoning("a", "R1"), text("A")),
      claude(calling(call("u1", "find"))),
      result("u1", "find", "x"),
    ];
    expect(messagesOf(entries, { thinking: true }).slice(1)).toEqual([
      ["assistant", [thought("a", "R1"), { text: "A" }]],
      ["user", [{ text: "[Continue.]" }]],
      ["assistant", [use("u1")]],
      ["user", [answer("u1", "x")]],
    ]);
    expect(thinkingOf(entries)).toBeUndefined();
  });

  test("files take their markers' places, each once; what Converse does not take stays a marker", () => {
    const blob = (n: number) => blobId(`00000000-0000-4000-8000-${String(n).padStart(12, "0")}`);
    const file = (n: number, mime: string) => ({ blobId: blob(n), mime, bytes: 3 });
    const bytes = Uint8Array.of(1, 2, 3);
    const media = new Map([
      [blob(1), { mime: "image/png", bytes }],
      [blob(2), { mime: "application/pdf", bytes }],
      [blob(3), { mime: "image/png", bytes: new Uint8Array(3_750_001) }],
    ]);
    const entries = [
      user("look", { attachments: [file(1, "image/png"), file(3, "image/png"), file(4, "text/plain")] }),
      claude(text("a")),
      user("", { attachments: [file(2, "application/pdf")] }),
      claude(text("b")),
      user("again", { attachments: [file(1, "image/png")] }),
    ];
    const document = { format: "pdf", name: `attachment-${blob(2)}`, source: { bytes } };
    const users = messagesOf(entries, { media }).filter(([role]) => role === "user");
    expect(users.map(([, content]) => content)).toEqual([
      [
        { text: "look" },
        { image: { format: "png", source: { bytes } } },
        { text: "[Attachment: image/png, 3 bytes]" },
        { text: "[Attachment: text/plain, 3 bytes]" },
      ],
      [{ document }, { text: "[See the attached document.]" }],
      [{ text: "again" }, { text: "[Attachment: image/png, 3 bytes]" }],
    ]);
    const many = Array.from({ length: 7 }, (_, at) => file(10 + at, "text/plain"));
    const texts = new Map(many.map((one) => [one.blobId, { mime: "text/plain", bytes }]));
    const sent = project([user("seven", { attachments: many })], { media: texts }).messages[0]?.content ?? [];
    expect(sent.map((block) => Object.keys(block)[0])).toEqual([
      ...["text", "text", "text"],
      ...["document", "document", "document", "document", "document"],
      "cachePoint",
    ]);
  });

  test("[B-08] foreign and unsigned reasoning is left out in any form; the rest stays", () => {
    const entries = [
      user("q"),
      assistant([reasoning("secret plan", "G"), calling(call("u1", "find"), "G")]),
      result("u1", "find", "x"),
      claude(reasoning("lost words"), text("Yes.")),
      user("r"),
    ];
    const made = project(entries, { thinking: true });
    expect(JSON.stringify(made)).not.toMatch(/secret|lost words|"G"/);
    expect(made.warnings).toEqual([{ kind: "reasoning_dropped", turnId: TURN, step: 1, reason: "unsigned" }]);
    expect(messagesOf(entries)).toEqual([
      ["user", [{ text: "q" }]],
      ["assistant", [use("u1")]],
      ["user", [answer("u1", "x")]],
      ["assistant", [{ text: "Yes." }]],
      ["user", [{ text: "r" }]],
    ]);
  });

  test("[B-08] a step that goes on without signed reasoning goes on without thinking", () => {
    const unsigned = [user("q"), assistant([calling(call("u1", "find"))]), result("u1", "find", "x")];
    const signed = [user("q"), claude(reasoning("r", "R1"), calling(call("u1", "find"))), result("u1", "find", "x")];
    const later = [claude(calling(call("u2", "find"))), result("u2", "find", "y")];
    expect([unsigned, signed, [...signed, ...later], [...unsigned, user("new")]].map(thinkingOf)).toEqual([
      undefined,
      { type: "enabled", budget_tokens: 2_000 },
      { type: "enabled", budget_tokens: 2_000 },
      undefined,
    ]);
    expect(thinkingOf([...unsigned, claude(text("so")), user("new")])).toEqual({
      type: "enabled",
      budget_tokens: 2_000,
    });
  });

  test("[A-04] reasoning that must stay behind because thinking is off is told, never lost in silence", () => {
    const step = [user("q"), claude(reasoning("r", "R1"), calling(call("u1", "find"))), result("u1", "find", "x")];
    const off = project(step);
    expect([JSON.stringify(off).includes("R1"), off.warnings]).toEqual([
      false,
      [{ kind: "reasoning_dropped", turnId: TURN, step: 1, reason: "thinking_off" }],
    ]);
    const finished = project([...step, claude(text("so")), user("new")]);
    expect([JSON.stringify(finished).includes("R1"), finished.warnings]).toEqual([true, []]);
    const alone = project([user("q"), claude(reasoning("r", "R1")), user("new")]);
    expect(alone.warnings).toEqual([{ kind: "reasoning_dropped", turnId: TURN, step: 1, reason: "alone" }]);
    const damaged: Parameters<typeof assistant>[0][number] = { kind: "reasoning", text: "", redacted: "%" };
    expect(project([user("q"), claude(damaged, text("a")), user("new")]).warnings).toEqual([
      { kind: "reasoning_dropped", turnId: TURN, step: 1, reason: "damaged" },
    ]);
  });

  test("[B-09] at most four cache points, after tools, system and the last two user messages, never stored", () => {
    const entries = Array.from({ length: 5 }, (_, at): Entry[] => [
      user(`q${at}`),
      claude(reasoning("r", "R"), text("a")),
    ]);
    const history = [
      ...entries.flat(),
      user("last"),
      claude(reasoning("r", "R"), calling(call("u1", "find"))),
      result("u1", "find", "x"),
    ];
    const before = JSON.stringify(history);
    const made = project(history, { thinking: true });
    expect(made.system).toEqual([{ text: "be brief" }, POINT]);
    expect(made.toolConfig?.tools?.at(-1)).toEqual(POINT);
    const marked = made.messages.flatMap(({ content = [] }, at) =>
      content.some(({ cachePoint }) => cachePoint) ? [at] : [],
    );
    expect(marked).toEqual([10, 12]);
    expect(made.messages.at(-1)?.content).toEqual([answer("u1", "x"), POINT]);
    expect(JSON.stringify(history)).toBe(before);
  });

  test("[B-09] an answer that ends with reasoning gets it first, and no cache point", () => {
    const made = project([user("q"), claude(text("a"), reasoning("r", "R")), user("r")]);
    expect(made.messages[1]?.content).toEqual([thought("r", "R"), { text: "a" }]);
  });

  test("[J-05] arguments that are no object stay readable", () => {
    const args = [undefined, null, "half {", [1]];
    const entries = args.flatMap((each, at): Entry[] => [user("q"), claude(calling(call(`u${at}`, "find", each)))]);
    const inputs = project(entries).messages.flatMap(({ content = [] }) =>
      content.flatMap(({ toolUse }) => (toolUse ? [toolUse.input] : [])),
    );
    expect(inputs).toEqual([{}, {}, { value: "half {" }, { value: [1] }]);
  });

  test("newer models think as they see fit; a small output limit leaves no room for thinking", () => {
    const asked = request([user("q")], [], { thinking: true, maxOutputTokens: 50_000 });
    expect(projectBedrock(asked, "bedrock-claude", "adaptive").additionalModelRequestFields).toEqual({
      thinking: { type: "adaptive" },
    });
    expect(projectBedrock(asked, "bedrock-claude").additionalModelRequestFields).toEqual({
      thinking: { type: "enabled", budget_tokens: 16_000 },
    });
    expect(
      projectBedrock({ ...asked, maxOutputTokens: 2_000 }, "bedrock-claude").additionalModelRequestFields,
    ).toBeUndefined();
  });

  test("[C-01] a summary stands first, whatever followed it", () => {
    expect(messagesOf([claude(text("a")), summary("We spoke of iron."), user("and?")])).toEqual([
      ["user", [{ text: "[Summary of earlier conversation: We spoke of iron.]" }]],
      ["assistant", [{ text: "a" }]],
      ["user", [{ text: "and?" }]],
    ]);
  });
});
