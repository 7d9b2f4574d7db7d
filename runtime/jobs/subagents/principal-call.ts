import { badArguments } from "../../../tools/builtin/lookup.ts";
import { runTool } from "../../../tools/execute.ts";
import type { Tool, ToolContext } from "../../../tools/tool.ts";

/** Calls of the principal's own tools from inside a tool of a sub-agent: its model does not see them, nor does progress. */
export function callsOf(tools: readonly Tool[], context: ToolContext, signal: AbortSignal): ToolContext["call"] {
  const toolbox = { tools, find: (name: string) => tools.find((tool) => tool.name === name) };
  return async (name, args) => {
    const result = await runTool(toolbox, { callId: context.callId, name, args }, context, signal);
    return result.kind === "pause" ? badArguments(`${name} asks the user, which a sub-agent can't.`) : result;
  };
}
