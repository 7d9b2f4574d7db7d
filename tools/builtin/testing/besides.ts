import { callId } from "../../../machines/ids.ts";
import { runTool } from "../../execute.ts";
import { caller, contextOf, never } from "../../mcp/testing/scene.ts";
import type { Tool, ToolAnswer, Toolbox, ToolResult } from "../../tool.ts";

/** What a tool of the platform gives: its data, or a whole answer. */
export type Given = (args: Readonly<Record<string, unknown>>) => { readonly data: unknown } | ToolAnswer;

/** Runs a tool of ours as a turn does, over platform tools that give what they are told. `calls` notes what was asked of them. */
export function besides(own: Tool, platform: Readonly<Record<string, Given>>) {
  const calls: string[] = [];
  const given = Object.entries(platform).map(
    ([name, give]): Tool => ({
      ...{ name, title: name, description: name, inputSchema: { type: "object" } },
      traits: { readOnly: true, repeatable: true },
      async run(args) {
        calls.push(`${name} ${JSON.stringify(args)}`);
        const answer = give(args as Readonly<Record<string, unknown>>);
        return "kind" in answer ? answer : { kind: "ok", text: "read", data: answer.data };
      },
    }),
  );
  const tools = [own, ...given];
  const box: Toolbox = { tools, find: (name) => tools.find((tool) => tool.name === name) };
  const { callId: _, idempotencyKey: __, call: ___, ...step } = contextOf(caller("ana", "sid=ana"));
  const run = (args: unknown): Promise<ToolResult> =>
    runTool(box, { callId: callId("c"), name: own.name, args }, step, never);
  return { run, calls };
}

export const away: ToolAnswer = { kind: "error", reason: "unavailable", text: "down" };
