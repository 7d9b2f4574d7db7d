import { McpError, type Progress } from "@modelcontextprotocol/sdk/types.js";
import { RESULT_CHARACTERS } from "../bounds.ts";
import type { Clock } from "../clock.ts";
import { DOUBT } from "../doubt.ts";
import { safeText } from "../safe-text.ts";
import type { Tool, ToolProgress, ToolResult, ToolTraits } from "../tool.ts";
import { McpFailure } from "./failures.ts";
import { outputMismatch } from "./output-check.ts";
import type { Waiting } from "./patience.ts";
import type { McpServer, Pool } from "./pool.ts";
import { toolResult } from "./result.ts";
import { callResultSchema, IDEMPOTENCY_META, type McpToolDefinition } from "./wire.ts";

/** What a tool tells the telemetry about a call that did not go as it should. */
export type ToolEvent =
  | { readonly type: "output_mismatch"; readonly server: string; readonly tool: string; readonly problem: string }
  | { readonly type: "call_failed"; readonly server: string; readonly tool: string; readonly code: string };

export type McpToolOptions = {
  readonly pool: Pool;
  readonly server: McpServer;
  readonly definition: McpToolDefinition;
  readonly waiting: Required<Pick<Waiting, "totalMs" | "firstMs" | "silenceMs">>;
  readonly clock: Clock;
  readonly observe: (event: ToolEvent) => void;
};

const PROGRESS_CHARACTERS = 200;
const INVALID_PARAMS = -32_602;
const METHOD_NOT_FOUND = -32_601;

/** The name the model knows: a server is added without renaming the tools of another, in whatever order they are listed. */
export function publicName(server: McpServer, tool: string): string {
  return server.bareNames ? tool : `${server.name}__${tool}`;
}

/** What the tool's annotations and `_meta` say. A tool that says nothing may write, and may not be sent twice. */
export function traitsOf({ annotations, _meta }: McpToolDefinition): ToolTraits {
  const readOnly = annotations?.readOnlyHint === true;
  const repeatable = readOnly || annotations?.idempotentHint === true || _meta?.[IDEMPOTENCY_META] === true;
  return { readOnly, repeatable };
}

/** A discovered tool, called with the login of whoever calls. */
export function mcpTool({ pool, server, definition, waiting, clock, observe }: McpToolOptions): Tool {
  const name = publicName(server, definition.name);
  const traits = traitsOf(definition);
  return {
    name,
    title: definition.annotations?.title ?? definition.title ?? humanised(definition.name),
    description: definition.description,
    inputSchema: definition.inputSchema,
    traits,
    async run(args, context, signal) {
      const params = {
        name: definition.name,
        arguments: args,
        ...(traits.readOnly ? {} : { _meta: { [IDEMPOTENCY_META]: context.idempotencyKey } }),
      };
      // A second try has what the first left of the time.
      const patience: Waiting = {
        ...waiting,
        since: clock.now(),
        onProgress: (progress) => context.onProgress?.(readable(progress)),
      };
      const send = () =>
        pool
          .of(context, server)
          .connection.request({ method: "tools/call", params }, callResultSchema, patience, signal);
      try {
        const result = await sendAgainOnce(send, traits.readOnly);
        if (definition.outputSchema !== undefined && result.isError !== true) {
          const problem = outputMismatch(definition.outputSchema, result.structuredContent);
          if (problem !== undefined) observe({ type: "output_mismatch", server: server.name, tool: name, problem });
        }
        return toolResult(result, RESULT_CHARACTERS);
      } catch (error) {
        if (!(error instanceof McpFailure)) throw error;
        observe({ type: "call_failed", server: server.name, tool: name, code: error.code });
        return failed(name, error, traits);
      }
    },
  };
}

/** A call that only reads is sent a second time when the server was unavailable. */
async function sendAgainOnce<T>(send: () => Promise<T>, readOnly: boolean): Promise<T> {
  try {
    return await send();
  } catch (error) {
    if (readOnly && error instanceof McpFailure && error.retryable) return await send();
    throw error;
  }
}

/** The server's words are shown to the user as they are the model's: short, and without addresses. */
function readable({ progress, total, message }: Progress): ToolProgress {
  const words = message === undefined ? "" : safeText(message, PROGRESS_CHARACTERS);
  return { progress, ...(total !== undefined && { total }), ...(words !== "" && { message: words }) };
}

function failed(name: string, failure: McpFailure, { readOnly }: ToolTraits): ToolResult {
  const unsure = !readOnly && failure.reached;
  const doubt = unsure ? ` ${DOUBT}` : "";
  const mayHaveHappened = unsure ? { mayHaveHappened: true } : {};
  switch (failure.code) {
    case "mcp_auth":
      return error("auth", `${name} was not run: the user's login has ended. The user has to log in again.`);
    case "mcp_forbidden":
      return error("tool", `${name} is not allowed for this user.`);
    case "mcp_timeout":
      return {
        ...error("timeout", `${name} gave ${failure.message}.${doubt}`),
        ...mayHaveHappened,
      };
    case "mcp_session_lost":
      return error("unavailable", `${name} is temporarily unavailable.`);
    case "mcp_unavailable":
      return { ...error("unavailable", `${name} is temporarily unavailable.${doubt}`), ...mayHaveHappened };
    case "mcp_too_large":
      return {
        ...error(
          "tool",
          `The answer of ${name} was too large to read. Narrow the request: a more specific query or a smaller limit.${doubt}`,
        ),
        ...mayHaveHappened,
      };
    case "mcp_protocol":
      return error("protocol", protocolText(name, failure.cause));
  }
}

function protocolText(name: string, cause: unknown): string {
  if (!(cause instanceof McpError)) return `${name} failed: its answer could not be understood.`;
  if (cause.code === METHOD_NOT_FOUND) return `${name} failed: it is not there any more.`;
  if (cause.code !== INVALID_PARAMS) return `${name} failed on the other side.`;
  return `${name} refused the arguments: ${safeText(cause.message.replace(/^(?:MCP error -?\d+: )+/, ""), 200)}`;
}

type ErrorResult = Extract<ToolResult, { kind: "error" }>;
const error = (reason: ErrorResult["reason"], text: string): ErrorResult => ({ kind: "error", reason, text });

function humanised(name: string): string {
  const text = name.replaceAll(/[_-]+/g, " ").trim();
  return text.charAt(0).toUpperCase() + text.slice(1);
}
