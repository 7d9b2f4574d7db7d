import { describe, expect, test } from "vitest";
import { converseSigner } from "../signatures.ts";
import { type ConverseBlock, type ConverseMessage, parseConverse } from "../wire.ts";
import { CONVERSE_RULES, type ConverseRuleId, converseRefusal } from "./all.ts";

const own = converseSigner(1);
const user = (...content: ConverseBlock[]): ConverseMessage => ({ role: "user", content });
const model = (...content: ConverseBlock[]): ConverseMessage => ({ role: "assistant", content });
const say = (text: string): ConverseBlock => ({ text });
const use = (toolUseId: string, name = "find", input: unknown = {}): ConverseBlock => ({
  toolUse: { toolUseId, name, input },
});
const answer = (toolUseId: string, ...content: readonly Readonly<Record<string, unknown>>[]): ConverseBlock => ({
  toolResult: { toolUseId, content: content.length === 0 ? [{ text: "x" }] : [...content] },
});
const why = (text: string, salt = "s", signature = own.sign(text, salt, 0)): ConverseBlock => ({
  reasoningContent: { reasoningText: { text, signature } },
});
const sealed = (salt = "s"): ConverseBlock => ({ reasoningContent: { redactedContent: own.seal("secret", salt, 0) } });
const point = { cachePoint: { type: "default" } };
const hi = user(say("hi"));
const spec = (name: string, json: unknown = { type: "object" }, description = "Finds.") => ({
  toolSpec: { name, description, inputSchema: { json } },
});
const toolConfig = { tools: [spec("find")] };
const thinking = { additionalModelRequestFields: { thinking: { type: "enabled", budget_tokens: 1_024 } } };

function judge(body: object): ConverseRuleId | "accepted" {
  const parsed = parseConverse(body);
  if ("problem" in parsed) return "CM0";
  return converseRefusal(parsed.request, own)?.rule ?? "accepted";
}
const ofMessages = (...messages: ConverseMessage[]) => judge({ messages, toolConfig });
/** A question, the model's turn, the results that its calls want, as a request that thinks or does not. */
const step = (thinks: boolean, ...content: ConverseBlock[]) => {
  const results = content.flatMap(({ toolUse }) => (toolUse === undefined ? [] : [answer(toolUse.toolUseId)]));
  return judge({ messages: [hi, model(...content), user(...results)], toolConfig, ...(thinks ? thinking : {}) });
};

describe("the Converse rules", () => {
  const good: readonly [string, readonly ConverseMessage[]][] = [
    ["one question", [hi]],
    ["a finished exchange", [hi, model(say("a")), hi]],
    [
      "calls, results in another order, then text",
      [hi, model(say("a"), use("u1"), use("u2")), user(answer("u2"), answer("u1"), say("b"))],
    ],
    ["signed and sealed reasoning of an answered question", [hi, model(why("w"), sealed(), say("a")), hi]],
    [
      "an error with a reason",
      [hi, model(use("u1")), user({ toolResult: { toolUseId: "u1", content: [{ text: "no" }], status: "error" } })],
    ],
    ["a cache point beside a result", [hi, model(use("u1")), user(answer("u1"), point)]],
  ];
  test.each(good)("accepts %s", (_, messages) => {
    expect(ofMessages(...messages)).toBe("accepted");
  });

  const bad: readonly [ConverseRuleId, string, readonly ConverseMessage[]][] = [
    ["CM1", "no messages", []],
    ["CM2", "an unknown role", [{ role: "system", content: [say("a")] }]],
    ["CM3", "an assistant message first", [model(say("a")), hi]],
    ["CM4", "an assistant message last", [hi, model(say("a"))]],
    ["CM5", "two user messages in a row", [hi, hi]],
    ["CM6", "a message without content", [hi, model(), hi]],
    ["CM7", "a block with two members", [user({ text: "a", ...point })]],
    ["CM7", "a block of a kind that does not exist", [user({ sound: {} })]],
    ["CM8", "a call by the user", [user(use("u1"))]],
    ["CM8", "a result by the model", [hi, model(answer("u1")), hi]],
    ["CM8", "reasoning by the user", [user(why("w"), say("a"))]],
    ["CM9", "an empty text", [user(say(""))]],
    ["CM9", "a text of white space", [user(say(" \n\u001c"))]],
    ["CM11", "a lone surrogate", [user(say("a\ud800"))]],
    ["CU1", "an id with a dot", [hi, model(use("a.b")), user(answer("a.b"))]],
    ["CU1", "an id of 65 characters", [hi, model(use("a".repeat(65))), user(answer("a".repeat(65)))]],
    ["CU2", "an id twice", [hi, model(use("u1")), user(answer("u1")), model(use("u1")), user(answer("u1"))]],
    ["CU3", "a name with a dot", [hi, model(use("u1", "a.b")), user(answer("u1"))]],
    ["CU4", "an input that is a list", [hi, model(use("u1", "find", [])), user(answer("u1"))]],
    ["CU5", "a call without a result", [hi, model(use("u1")), hi]],
    ["CU5", "a result after a text", [hi, model(use("u1")), user(say("b"), answer("u1"))]],
    ["CU5", "fewer results than calls", [hi, model(use("u1"), use("u2")), user(answer("u1"))]],
    ["CU6", "a result that nobody asked for", [user(answer("u1"))]],
    ["CU6", "a result twice", [hi, model(use("u1")), user(answer("u1"), answer("u1"))]],
    ["CU7", "a blank result", [hi, model(use("u1")), user(answer("u1", { text: " " }))]],
    [
      "CU7",
      "an error without content",
      [hi, model(use("u1")), user({ toolResult: { toolUseId: "u1", content: [], status: "error" } })],
    ],
    ["CC2", "a cache point after reasoning", [hi, model(why("w"), point, say("a")), hi]],
    ["CC3", "a cache point inside a result", [hi, model(use("u1")), user(answer("u1", { text: "x" }, point))]],
    ["CC4", "a cache point with nothing before it", [user(point, say("a"))]],
    [
      "CR1",
      "reasoning without a signature",
      [hi, model({ reasoningContent: { reasoningText: { text: "w" } } }, say("a")), hi],
    ],
    ["CR5", "reasoning after a text", [hi, model(say("a"), why("w"), say("b")), hi]],
    ["CR6", "reasoning at the end", [hi, model(why("w")), hi]],
  ];
  test.each(bad)("[%s] refuses %s", (rule, _, messages) => {
    expect(ofMessages(...messages)).toBe(rule);
  });

  test("[CM0] refuses a body of another shape, [CM10] a blank system, [CU8] calls without toolConfig", () => {
    const traffic = [hi, model(use("u1")), user(answer("u1"))];
    expect([
      judge({ messages: "hi" }),
      judge({ messages: [hi], system: [{ text: " " }] }),
      judge({ messages: traffic }),
      judge({ messages: traffic, toolConfig }),
    ]).toEqual(["CM0", "CM10", "CU8", "accepted"]);
  });

  test("[CR2] refuses what this simulator did not sign, [CR3] what was changed, signed or sealed", () => {
    const foreign = converseSigner(2);
    const other = own.sign("another thought", "s", 0);
    const bytes = Buffer.from(own.seal("secret", "s", 0), "base64");
    bytes[bytes.length - 1] = 65;
    const asked = (block: ConverseBlock) => ofMessages(hi, model(block, say("a")), hi);
    expect([
      asked(why("w", "s", foreign.sign("w", "s", 0))),
      asked(why("w", "s", "R1")),
      asked({ reasoningContent: { redactedContent: foreign.seal("secret", "s", 0) } }),
      asked({ reasoningContent: { redactedContent: "AAH/" } }),
      asked(why("w", "s", other)),
      asked(why("w ", "s", own.sign("w", "s", 0))),
      asked({ reasoningContent: { redactedContent: bytes.toString("base64") } }),
    ]).toEqual(["CR2", "CR2", "CR2", "CR2", "CR3", "CR3", "CR3"]);
  });

  test("[CR4] reasoning stands before the call it came with, [CR7] and not with the calls of another answer", () => {
    const mine = own.toolUseId("s", 0);
    expect([
      step(true, why("w"), use(mine)),
      step(true, why("w"), sealed(), say("a"), use(mine), use(own.toolUseId("s", 1))),
      step(true, why("w"), use("foreign-id")),
      step(true, use(mine), why("w")),
      step(true, why("w", "t"), use(mine)),
      step(true, sealed("t"), use(mine)),
    ]).toEqual(["accepted", "accepted", "accepted", "CR4", "CR7", "CR7"]);
  });

  test("[CR8] thinking goes on only where it began, [CR9] and a step without it holds no reasoning", () => {
    const longer = (...first: ConverseBlock[]) => [
      hi,
      model(...first, use("u1")),
      user(answer("u1")),
      model(use("u2")),
      user(answer("u2")),
    ];
    expect([
      step(true, use("u1")),
      step(false, why("w"), use("u1")),
      step(false, use("u1")),
      judge({ messages: longer(why("w")), toolConfig, ...thinking }),
      judge({ messages: longer(), toolConfig, ...thinking }),
      judge({ messages: longer(why("w")), toolConfig }),
      judge({ messages: [...longer(), model(say("a")), hi], toolConfig, ...thinking }),
    ]).toEqual(["CR8", "CR9", "accepted", "accepted", "CR8", "CR9", "accepted"]);
  });

  test("[CR10] the budget of thinking has a floor and stays under the limit", () => {
    const asked = (budget_tokens: number, maxTokens: number) =>
      judge({
        messages: [hi],
        inferenceConfig: { maxTokens },
        additionalModelRequestFields: { thinking: { type: "enabled", budget_tokens } },
      });
    expect([asked(1_024, 1_025), asked(1_023, 5_000), asked(2_000, 2_000)]).toEqual(["accepted", "CR10", "CR10"]);
  });

  test("[CC1] at most four cache points over tools, system and messages", () => {
    const marked = (questions: number) => ({
      system: [{ text: "s" }, point],
      toolConfig: { tools: [spec("find"), point] },
      messages: Array.from({ length: questions * 2 - 1 }, (_, at) =>
        at % 2 === 0 ? user(say("q"), point) : model(say("a")),
      ),
    });
    expect([judge(marked(2)), judge(marked(3))]).toEqual(["accepted", "CC1"]);
  });

  test("[CD1] files are whole and small, [CD2] named harmlessly, [CD3] once, [CD4] with text beside, [CD5] few", () => {
    const image = (bytes: string, format = "png"): ConverseBlock => ({ image: { format, source: { bytes } } });
    const document = (name: string): ConverseBlock => ({
      document: { format: "pdf", name, source: { bytes: "AAH/" } },
    });
    const asked = (...content: ConverseBlock[]) => judge({ messages: [user(...content)] });
    const many = (count: number) => Array.from({ length: count }, (_, at) => document(`d ${at}`));
    expect([
      asked(image("AAH/"), document("a (1) [x]-2"), say("q")),
      asked(image("")),
      asked(image("%")),
      asked(image("AAH/", "tiff")),
      asked(image(Buffer.alloc(3_750_001).toString("base64"))),
      ofMessages(hi, model(image("AAH/")), hi),
      asked(document("a_b.pdf"), say("q")),
      asked(document("a"), document("a"), say("q")),
      asked(document("a")),
      asked(...many(5), say("q")),
      asked(...many(6), say("q")),
    ]).toEqual(["accepted", "CD1", "CD1", "CD1", "CD1", "CD1", "CD2", "CD3", "CD4", "accepted", "CD5"]);
  });

  test("[CT1] tools are given, [CT2] named well and described, [CT3] once, [CT4] with an object at the root, [CT5] of legal names", () => {
    const ofTools = (...tools: object[]) => judge({ messages: [hi], toolConfig: { tools } });
    expect([
      ofTools(),
      ofTools(spec("a.b")),
      ofTools(spec("a", { type: "object" }, "")),
      ofTools(spec("a"), spec("a")),
      ofTools(spec("a", { type: "string" })),
      ofTools(spec("a", {})),
      ofTools(spec("a", { type: "object", anyOf: [] })),
      ofTools(spec("a", { type: "object", properties: { $filter: {} } })),
      ofTools(spec("a"), spec("b"), point),
    ]).toEqual(["CT1", "CT2", "CT2", "CT3", "CT4", "CT4", "CT4", "CT5", "accepted"]);
  });

  test("a refusal says where, not what", () => {
    const parsed = parseConverse({ messages: [user(say("SECRET-A")), user(say("SECRET-B"))] });
    expect("request" in parsed && converseRefusal(parsed.request, own)).toEqual({
      rule: "CM5",
      message: "messages.1: roles must alternate between user and assistant",
    });
    expect(Object.keys(CONVERSE_RULES)).toHaveLength(43);
  });
});
