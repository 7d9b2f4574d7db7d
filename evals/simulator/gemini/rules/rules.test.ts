import { describe, expect, test } from "vitest";
import { SKIP_PLACEHOLDERS, signer } from "../signatures.ts";
import { type GeminiContent, type GeminiPart, parseRequest } from "../wire.ts";
import { type RuleId, refusalOf } from "./all.ts";

const own = signer(1);
const args = { query: "zorvane" };
const signed: GeminiPart = {
  functionCall: { name: "find", args },
  thoughtSignature: own.issue({ kind: "call", name: "find", args }, "salt"),
};
const bare: GeminiPart = { functionCall: { name: "look", args: {} } };
const user = (...parts: GeminiPart[]): GeminiContent => ({ role: "user", parts });
const model = (...parts: GeminiPart[]): GeminiContent => ({ role: "model", parts });
const answer = (name: string, id?: string): GeminiPart => ({
  functionResponse: { name, response: { output: "x" }, ...(id === undefined ? {} : { id }) },
});
const file = (mimeType: string, data: string): GeminiPart => ({ inlineData: { mimeType, data } });
const hi = user({ text: "hi" });
const reply = { text: "It is so." };
const closed = (text: string): GeminiPart => ({ text: "", thoughtSignature: own.issue({ kind: "text", text }, "s") });

function judge(body: unknown): RuleId | "accepted" {
  const parsed = parseRequest(body);
  if ("problem" in parsed) return "R0";
  return refusalOf(parsed.request, own)?.rule ?? "accepted";
}
const ofContents = (...contents: GeminiContent[]) => judge({ contents });
const ofParameters = (parameters: unknown) =>
  judge({ contents: [hi], tools: [{ functionDeclarations: [{ name: "f", parameters }] }] });
const ofJsonSchema = (parametersJsonSchema: unknown) =>
  judge({ contents: [hi], tools: [{ functionDeclarations: [{ name: "f", parametersJsonSchema }] }] });
const ofNames = (...names: string[]) =>
  judge({ contents: [hi], tools: [{ functionDeclarations: names.map((name) => ({ name })) }] });
const object = (properties: Record<string, unknown>, more = {}) => ({ type: "OBJECT", properties, ...more });

describe("contents", () => {
  const good: readonly [string, readonly GeminiContent[]][] = [
    ["one question", [hi]],
    ["a finished exchange", [hi, model(reply, closed("It is so.")), hi]],
    [
      "calls, answers, then text in the same turn",
      [hi, model(signed, bare), user(answer("find"), answer("look"), { text: "and?" })],
    ],
    ["text before the calls", [hi, model(reply, signed), user(answer("find"))]],
    ["a file after the user's words", [user({ text: "hi" }, file("image/png", "iVBORw==")), model(reply), hi]],
    ["a thought part that is sent back", [hi, model({ text: "hm", thought: true }, reply), hi]],
  ];
  test.each(good)("accepts %s", (_, contents) => {
    expect(ofContents(...contents)).toBe("accepted");
  });

  const bad: readonly [RuleId, string, readonly GeminiContent[]][] = [
    ["C1", "no contents", []],
    ["C2", "an unknown role", [hi, { role: "assistant", parts: [reply] }, hi]],
    ["C3", "a model turn first", [model(reply), hi]],
    ["C4", "a model turn last", [hi, model(reply)]],
    ["C5", "two user turns in a row", [hi, hi]],
    ["C6", "an empty parts list", [hi, model(), hi]],
    ["C7", "a part without data", [user({})]],
    ["C7", "an empty text without a signature", [user({ text: "" })]],
    ["C7", "two kinds of data in one part", [user({ text: "a", inlineData: {} })]],
    ["C8", "a call by the user", [user(signed)]],
    ["C8", "a function response by the model", [hi, model(answer("find")), hi]],
    ["C9", "calls without responses", [hi, model(signed), hi]],
    ["C9", "fewer responses than calls", [hi, model(signed, bare), user(answer("find"))]],
    ["C10", "a response that nobody asked for", [user(answer("find"))]],
    ["C11", "responses in another order", [hi, model(signed, bare), user(answer("look"), answer("find"))]],
    ["C12", "a response with an id that no call has", [hi, model(signed), user(answer("find", "c9"))]],
    ["C13", "a file of the model's", [hi, model(file("image/png", "iVBORw==")), hi]],
    ["C13", "a file without a type", [user({ inlineData: { data: "iVBORw==" } })]],
    ["C13", "a file of a type that is not taken", [user(file("image/gif", "R0lGODlh"))]],
    ["C13", "a file without bytes", [user(file("image/png", ""))]],
    ["C13", "a file that is not base64", [user(file("image/png", "iVBORw="))]],
    ["C13", "a file in the web's base64", [user(file("image/png", "_-8="))]],
  ];
  test.each(bad)("[%s] refuses %s", (rule, _, contents) => {
    expect(ofContents(...contents)).toBe(rule);
  });

  test("[C12] an id that a call has must come back with its response", () => {
    const call = { ...signed, functionCall: { id: "c1", name: "find", args } };
    expect(ofContents(hi, model(call), user(answer("find", "c1")))).toBe("accepted");
    expect(ofContents(hi, model(call), user(answer("find")))).toBe("C12");
  });

  test("[R0] refuses a body of another shape, [R1] refuses an unknown field", () => {
    expect([judge(undefined), judge({ contents: "hi" }), judge({ contents: [hi], message: "x" })]).toEqual([
      "R0",
      "R0",
      "R1",
    ]);
  });
});

describe("signatures", () => {
  const step = (...parts: GeminiPart[]) =>
    ofContents(hi, model(...parts), user(...parts.map((part) => answer(part.functionCall?.name ?? ""))));
  const signature = signed.thoughtSignature ?? "";

  test("[A-02] [S1] the first call of every step is signed; the others need no signature", () => {
    expect([step(signed, bare), step(bare, signed), step({ ...bare, thoughtSignature: "" })]).toEqual([
      "accepted",
      "S1",
      "S1",
    ]);
  });

  test("[S1] holds for older steps too, not for the last one only", () => {
    expect(ofContents(hi, model(bare), user(answer("look")), model(reply), hi)).toBe("S1");
  });

  test("[S2] refuses what this simulator did not issue", () => {
    const foreign = signer(2).issue({ kind: "call", name: "find", args }, "salt");
    const marks = [foreign, "c2lnLTE=", "not base64!", `${signature}AAAA`];
    expect(marks.map((thoughtSignature) => step({ ...signed, thoughtSignature }))).toEqual(["S2", "S2", "S2", "S2"]);
  });

  test("[S3] refuses a signature on another call, on changed arguments, on a text, and a text's on a call", () => {
    const moved = [
      step({ ...bare, thoughtSignature: signature }),
      step({ functionCall: { name: "find", args: { query: "other" } }, thoughtSignature: signature }),
      ofContents(hi, model({ text: "x", thoughtSignature: signature }), hi),
      step({ ...signed, thoughtSignature: closed("It is so.").thoughtSignature ?? "" }),
      step(signed, { ...bare, thoughtSignature: signature }),
    ];
    expect(moved).toEqual(["S3", "S3", "S3", "S3", "S3"]);
  });

  test("[A-03] [S3] a text signature is at home on the empty last part and on the part that holds the whole text", () => {
    const thoughtSignature = closed("It is so.").thoughtSignature ?? "";
    const asked = (...parts: GeminiPart[]) => ofContents(hi, model(...parts), hi);
    expect([
      asked({ text: "It is " }, { text: "so." }, { text: "", thoughtSignature }),
      asked({ text: "It is so.", thoughtSignature }),
      asked({ text: "It is so", thoughtSignature }),
      asked({ text: "It is so.", thought: true, thoughtSignature }),
    ]).toEqual(["accepted", "accepted", "S3", "S3"]);
  });

  test("[A-05] [S4] the documented placeholders stand in on calls only", () => {
    for (const thoughtSignature of SKIP_PLACEHOLDERS) {
      expect(step({ ...bare, thoughtSignature })).toBe("accepted");
      expect(ofContents(hi, model({ text: "x", thoughtSignature }), hi)).toBe("S4");
    }
  });

  test("[A-01] the order of argument keys does not matter, and a restart with the same seed keeps signatures valid", () => {
    const thing = { kind: "call", name: "f", args: { a: 1, b: 2 } } as const;
    const again = signer(1).check(own.issue(thing, "x"), [{ kind: "call", name: "f", args: { b: 2, a: 1 } }]);
    expect(again).toBe("genuine");
  });
});

describe("[A-09] [A-10] tool declarations", () => {
  test("accepts names and schemas of the restricted form, and a tool without parameters", () => {
    const nested = object(
      { list: { type: "ARRAY", items: object({ id: { type: "INTEGER", format: "int64" } }) } },
      { required: ["list"] },
    );
    const choice = object({
      one: { anyOf: [{ type: "STRING" }, { type: "NULL" }] },
      mode: { type: "STRING", enum: ["a"], nullable: true },
    });
    expect([ofNames("a", "_b.c-d"), ofParameters(nested), ofParameters(choice), ofParameters(undefined)]).toEqual(
      Array(4).fill("accepted"),
    );
  });

  const bad: readonly [RuleId, string, unknown][] = [
    ["T4", "$ref", object({ a: { $ref: "#/$defs/x" } })],
    ["T5", "additionalProperties", object({ a: { type: "STRING" } }, { additionalProperties: false })],
    ["T5", "const deep inside", object({ a: { type: "ARRAY", items: { type: "STRING", const: "x" } } })],
    ["T5", "exclusiveMinimum in anyOf", object({ a: { anyOf: [{ type: "INTEGER", exclusiveMinimum: 0 }] } })],
    ["T6", "a list of types", object({ a: { type: ["integer", "null"] } })],
    ["T6", "a schema without type", object({ a: { description: "x" } })],
    ["T6", "an unknown type", object({ a: { type: "uuid" } })],
    ["T7", "an empty properties object", object({})],
    ["T7", "a nested object without properties", object({ opts: { type: "OBJECT" } })],
    ["T8", "an array without items", object({ a: { type: "ARRAY" } })],
    ["T9", "a required name that does not exist", object({ a: { type: "STRING" } }, { required: ["a", "gone"] })],
    ["T10", "an unsupported format", object({ a: { type: "STRING", format: "uuid" } })],
    ["T11", "an enum of numbers", object({ a: { type: "INTEGER", enum: [1] } })],
    ["T4", "a schema that is no object", "string"],
  ];
  test.each(bad)("[%s] refuses %s", (rule, _, parameters) => {
    expect(ofParameters(parameters)).toBe(rule);
  });

  test("[T1] refuses bad names, [T2] a name twice, [T3] both schema fields", () => {
    const both = { name: "f", parameters: object({ a: { type: "STRING" } }), parametersJsonSchema: { type: "object" } };
    expect([
      ...["1a", "a b", "é", "", "a".repeat(65)].map((name) => ofNames(name)),
      ofNames("a", "b", "a"),
      judge({ contents: [hi], tools: [{ functionDeclarations: [both] }] }),
    ]).toEqual(["T1", "T1", "T1", "T1", "T1", "T2", "T3"]);
  });

  test("parametersJsonSchema takes any standard keyword and local references", () => {
    const schema = {
      $schema: "x",
      type: "object",
      additionalProperties: false,
      properties: {
        a: { const: 1 },
        b: { $ref: "#/$defs/b" },
        c: { type: ["string", "null"] },
        d: { type: "object", properties: {} },
      },
      $defs: { b: { type: "array", uniqueItems: true } },
    };
    expect(ofJsonSchema(schema)).toBe("accepted");
  });

  test("[J1] its root is an object, [J2] its keywords exist, [J3] its references resolve", () => {
    const a = (inner: unknown) => ({ type: "object", properties: { a: inner } });
    expect([
      ofJsonSchema({ type: "string" }),
      ofJsonSchema(a({ kind: "x" })),
      ofJsonSchema(a({ $ref: "https://elsewhere.test/x" })),
      ofJsonSchema(a({ $ref: "#/$defs/none" })),
    ]).toEqual(["J1", "J2", "J3", "J3"]);
  });
});
