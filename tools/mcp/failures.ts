import { Failure } from "../../machines/failure.ts";

export type McpFailureCode =
  | "mcp_auth"
  | "mcp_forbidden"
  | "mcp_session_lost"
  | "mcp_unavailable"
  | "mcp_timeout"
  | "mcp_too_large"
  | "mcp_protocol";

/** Under this code our own reader reports, in the stream, that an answer could not be read to its end. */
export const BROKEN_STREAM = -32_099;

/** A request to an MCP server that got no usable answer. The message names neither host nor address. */
export class McpFailure extends Failure {
  readonly code: McpFailureCode;
  readonly retryable: boolean;
  /** False when the request certainly never reached the server. */
  readonly reached: boolean;
  constructor(code: McpFailureCode, message: string, options?: { reached?: boolean; cause?: unknown }) {
    super(message, { cause: options?.cause });
    this.code = code;
    this.retryable = code === "mcp_unavailable";
    this.reached = options?.reached ?? true;
  }
}

/** Two MCP servers of one agent contradict each other, or one has no address: the agent file must be corrected. */
export class McpServersInvalid extends Failure {
  readonly code = "mcp_servers_invalid";
  readonly retryable = false;
}
