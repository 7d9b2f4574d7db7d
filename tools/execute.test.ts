import { expect, test } from "vitest";
import type { ToolCall } from "../machines/conversation/entries.ts";
import { callId } from "../machines/ids.ts";
import { runTool, type StepContext } from "./execute.ts";
import { caller, contextOf, never } from "./mcp/testing/scene.ts";
import type { Tool, Toolbox, ToolContext, ToolResult } from "./tool.ts";

const ana = caller("ana", "sid=ana");
const seen: ToolContext[] = [];

function tool(
  name: string,
  run: Tool["run"] = async () => ({ kind: "ok", text: `${name} ran` }),
  readOnly = true,
): Tool {
  const inputSchema = { type: "object", properties: { n: { type: "integer" } } };
  return { name, title: name, description: name, inputSchema, traits: { readOnly, repeatable: readOnly }, run };
}

const box = (...tools: readonly Tool[]): Toolbox => ({ tools, find: (name) => tools.find((one) => one.name === name) });
const call = (name: string, args: unknown = {}, broken?: ToolCall["broken"]): ToolCall => ({
  callId: callId("call-1"),
  name,
  args,
  ...(broken === undefined ? {} : { broken }),
});
const { callId: _, idempotencyKey: __, call: ___, ...step }: ToolContext = contextOf(ana);
const run = (toolbox: Toolbox, one: ToolCall, over: Partial<StepContext> = {}, signal = never) =>
  runTool(toolbox, one, { ...step, ...over }, signal);

const shop = box(
  tool("product_search"),
  tool("patient_search"),
  tool("broken", () => Promise.reject(new Error("secret")), false),
  tool("asks", async (_, context) => {
    seen.push(context);
    return context.call("reads", { n: "4" });
  }),
  tool("reads", async (args, context): Promise<ToolResult> => {
    seen.push(context);
    return { kind: "ok", text: JSON.stringify(args) };
  }),
);
const unknown = (text: string): ToolResult => ({ kind: "error", reason: "unknown_tool", text });

test("[J-02] an invented name: the problem and close valid names, nothing is run in its place", async () => {
  const close = "Nothing was run. Close names: product_search.";
  expect(await run(shop, call("product_serch"))).toEqual(unknown(`There is no tool "product_serch". ${close}`));
  expect(await run(shop, call("Product_Search"))).toEqual(unknown(`There is no tool "Product_Search". ${close}`));
  const none = "Nothing was run. Call only tools that you were given.";
  expect(await run(shop, call(""))).toEqual(unknown(`The call names no tool. ${none}`));
  expect(await run(shop, call("weather"))).toEqual(unknown(`There is no tool "weather". ${none}`));
  expect(await run(shop, call("toString"))).toEqual(unknown(`There is no tool "toString". ${none}`));
});

test("[J-02] five times the same wrong name gives the same result, other calls of the batch run, only this user's tools are told", async () => {
  const calls = [...Array(5).fill("product_serch"), "patient_search"].map((name: string) => call(name));
  const small = box(tool("patient_search"));
  const results = await Promise.all(calls.map((one) => run(small, one)));
  const wrong = unknown('There is no tool "product_serch". Nothing was run. Call only tools that you were given.');
  expect(results).toEqual([...Array(5).fill(wrong), { kind: "ok", text: "patient_search ran" }]);
});

test("[J-05] calls that arrived broken are not run", async () => {
  const error = (text: string) => ({ kind: "error", reason: "invalid_arguments", text });
  expect(await run(shop, call("reads", {}, "truncated"))).toEqual(
    error(
      'The call of "reads" was cut off before its arguments were complete, so it was not run. Call it again, with shorter arguments.',
    ),
  );
  expect(await run(shop, call("reads", '{"n": 1,}', "invalid_json"))).toEqual(
    error('"reads" was not run: its arguments are not valid JSON (at character 8). Call it again.'),
  );
  expect(await run(shop, call("reads", undefined))).toEqual({ kind: "ok", text: "{}" });
  expect((await run(shop, call("reads", null))).kind).toBe("error");
});

test("[J-09] arguments are checked before the tool sees them, also those of a call inside a tool", async () => {
  expect(await run(shop, call("reads", { n: "x" }))).toEqual({
    kind: "error",
    reason: "invalid_arguments",
    text: 'reads was not run: its arguments do not fit its schema.\n- n: expected integer, got the string "x"',
  });
  seen.length = 0;
  expect(await run(shop, call("asks"))).toEqual({ kind: "ok", text: '{"n":4}' });
  const key = `${step.sessionId}.${step.turnId}.call-1`;
  expect(seen.map(({ idempotencyKey }) => idempotencyKey)).toEqual([key, `${key}.reads`]);
});

test("a tool of ours that throws is an error result and a reported fault; an abort throws its reason", async () => {
  const faults: string[] = [];
  const onFault = (name: string, error: unknown) => void faults.push(`${name}: ${String(error)}`);
  expect(await run(shop, call("broken"), { onFault })).toEqual({
    kind: "error",
    reason: "tool",
    text: "broken failed because of a fault of ours.",
    mayHaveHappened: true,
  });
  expect(faults).toEqual(["broken: Error: secret"]);

  const stop = new AbortController();
  const waiting = box(
    tool(
      "waits",
      (_, __, signal) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("x")))),
    ),
  );
  const result = run(waiting, call("waits"), { onFault }, stop.signal);
  const reason = new Error("stopped");
  stop.abort(reason);
  await expect(result).rejects.toBe(reason);
  expect(faults).toHaveLength(1);
});

test("news of a sub-agent reach whoever watches, as progress does, also from a tool that another one calls", async () => {
  const news: unknown[] = [];
  const inner = tool("works", async (_, context) => {
    context.onSubagent?.({ kind: "started", subagent: "research" });
    context.onProgress?.({ progress: 1 });
    return { kind: "ok", text: "done" };
  });
  const outer = tool("asks", (_, context) => context.call("works", {}));
  const note = (one: unknown) => void news.push(one);
  await runTool(box(inner, outer), call("asks"), step, never, note, note);
  expect(news).toEqual([{ kind: "started", subagent: "research" }, { progress: 1 }]);
  expect(await runTool(box(inner), call("works"), step, never)).toEqual({ kind: "ok", text: "done" });
});
