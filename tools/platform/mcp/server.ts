import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import {
  CallToolRequestSchema,
  type CallToolResult,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
  type Tool,
} from "@modelcontextprotocol/sdk/types.js";
import { errorFields } from "../failures.ts";
import type { PlatformUser } from "../users.ts";
import type { PlatformTool, Toolbox } from "./toolbox.ts";

/** Where a call that is not read-only carries its key, and where a tool says that it honours one. */
const IDEMPOTENCY_KEY = "dormouse/idempotency-key";
const LONGEST_KEY = 500;

export type Log = (event: string, fields: Record<string, unknown>) => void;

/** An MCP server that speaks for one user: it lists and runs what this user's flags allow. */
export function mcpServer(user: PlatformUser, tools: Toolbox, log: Log): Server {
  const available = tools.available(user.flags);
  const server = new Server({ name: "dormouse-platform", version: "1.0.0" }, { capabilities: { tools: {} } });

  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: available.map(listed) }));

  server.setRequestHandler(CallToolRequestSchema, async ({ params }): Promise<CallToolResult> => {
    const tool = available.find(({ name }) => name === params.name);
    if (!tool) throw new McpError(ErrorCode.InvalidParams, "Unknown tool");
    const key = tool.access === "write" ? keyOf(params._meta) : undefined;
    const outcome = await tools.call(tool, params.arguments ?? {}, { caller: { userId: user.userId, key } });
    if (outcome.kind === "result")
      return {
        content: [{ type: "text", text: JSON.stringify(outcome.value) }],
        structuredContent: outcome.value,
      };
    if (outcome.error !== undefined) log("platform_tool_failed", { tool: tool.name, ...errorFields(outcome.error) });
    return { content: [{ type: "text", text: outcome.text }], isError: true };
  });
  return server;
}

function listed(tool: PlatformTool): Tool {
  const reads = tool.access === "read";
  return {
    name: tool.name,
    title: tool.title,
    description: tool.description,
    inputSchema: { ...tool.input },
    outputSchema: { ...tool.output },
    annotations: {
      title: tool.title,
      readOnlyHint: reads,
      idempotentHint: reads,
      destructiveHint: false,
      openWorldHint: false,
    },
    ...(reads ? {} : { _meta: { [IDEMPOTENCY_KEY]: true } }),
  };
}

function keyOf(meta: Record<string, unknown> | undefined): string | undefined {
  const key = meta?.[IDEMPOTENCY_KEY];
  if (key === undefined) return undefined;
  if (typeof key !== "string" || key.length === 0 || key.length > LONGEST_KEY)
    throw new McpError(ErrorCode.InvalidParams, `The idempotency key must be a text of 1 to ${LONGEST_KEY} characters`);
  return key;
}
