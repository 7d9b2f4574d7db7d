import { caller, contextOf } from "../../mcp/testing/scene.ts";
import type { SubagentCall, SubagentEnd, SubagentProgress, SubagentRequest, Subagents } from "../../subagents.ts";
import type { SubagentNews, Tool, ToolResult } from "../../tool.ts";

/** Runs a tool whose sub-agent ends as told. `asked` is what the sub-agent was asked, `news` what people saw. */
export function working(
  toolOf: (subagents: Subagents) => Tool,
  end: SubagentEnd | ((signal: AbortSignal) => Promise<SubagentEnd>),
  steps: readonly SubagentProgress[] = [],
) {
  const asked: { readonly call: SubagentCall; readonly request: SubagentRequest }[] = [];
  const news: SubagentNews[] = [];
  const subagents: Subagents = {
    async run(call, request, signal, onProgress) {
      asked.push({ call, request });
      for (const step of steps) onProgress(step);
      return typeof end === "function" ? end(signal) : end;
    },
  };
  const tool = toolOf(subagents);
  const stop = new AbortController();
  const who = caller("ana", "sid=ana");
  const context = contextOf(who, { onSubagent: (one) => void news.push(one) });
  const run = (args: unknown): Promise<ToolResult> => tool.run(args, context, stop.signal);
  return { tool, run, asked, news, stop, context };
}
