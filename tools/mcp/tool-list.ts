import type { Clock } from "../clock.ts";
import type { Connection } from "./connection.ts";
import { McpFailure } from "./failures.ts";
import { type McpToolDefinition, mcpToolSchema, toolPageSchema } from "./wire.ts";

const FRESH_MS = 60_000;
const MOST_PAGES = 50;
const PAGE_MS = 10_000;

/** Tools as one server lists them to one principal. `stale` when they are the last that were known. */
export type ListedTools = { readonly tools: readonly McpToolDefinition[]; readonly stale?: McpFailure };

/**
 * One principal's tool list of one server. Fresh for 60 s while the principal's flags stay the same and the server does not say
 * `list_changed`; asked for again otherwise, once for all who wait. Where that fails the last list is given, marked as stale.
 */
export class ToolList {
  readonly #clock: Clock;
  readonly #onOddTool: (problem: string) => void;
  #known: { readonly tools: readonly McpToolDefinition[]; readonly flags: string } | undefined;
  #freshUntil = 0;
  #asking: { readonly flags: string; readonly list: Promise<readonly McpToolDefinition[]> } | undefined;

  constructor(clock: Clock, onOddTool: (problem: string) => void) {
    this.#clock = clock;
    this.#onOddTool = onOddTool;
  }

  /** The server said that its list changed. */
  expire(): void {
    this.#freshUntil = 0;
    this.#asking = undefined;
  }

  /** Throws an `McpFailure` when the server cannot be asked and no list is known, and always when the login is dead. */
  async get(connection: Connection, flagList: readonly string[]): Promise<ListedTools> {
    const flags = [...flagList].sort().join(",");
    const known = this.#known?.flags === flags ? this.#known : undefined;
    if (known !== undefined && this.#clock.now() < this.#freshUntil) return { tools: known.tools };
    try {
      return { tools: await this.#ask(connection, flags) };
    } catch (error) {
      if (!(error instanceof McpFailure) || error.code === "mcp_auth" || known === undefined) throw error;
      return { tools: known.tools, stale: error };
    }
  }

  async #ask(connection: Connection, flags: string): Promise<readonly McpToolDefinition[]> {
    if (this.#asking?.flags === flags) return this.#asking.list;
    const list = readPages(connection, this.#onOddTool);
    const asking = { flags, list };
    this.#asking = asking;
    try {
      const tools = await list;
      // A change that was announced while we read may not be in what we read.
      if (this.#asking === asking) this.#freshUntil = this.#clock.now() + FRESH_MS;
      this.#known = { tools, flags };
      return tools;
    } finally {
      if (this.#asking === asking) this.#asking = undefined;
    }
  }
}

async function readPages(connection: Connection, onOddTool: (problem: string) => void) {
  const tools = new Map<string, McpToolDefinition>();
  const seen = new Set<string>();
  const unaborted = new AbortController().signal;
  for (let cursor: string | undefined; ; ) {
    const request = { method: "tools/list", ...(cursor === undefined ? {} : { params: { cursor } }) };
    const page = await connection.request(request, toolPageSchema, { totalMs: PAGE_MS }, unaborted);
    for (const item of page.tools) {
      const read = mcpToolSchema.safeParse(item);
      if (read.success) tools.set(read.data.name, read.data);
      else onOddTool(read.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`).join("; "));
    }
    cursor = page.nextCursor;
    if (cursor === undefined) return [...tools.values()];
    if (seen.has(cursor) || seen.size === MOST_PAGES)
      throw new McpFailure("mcp_protocol", "the server's tool list has no end: it repeats a page or has more than 50");
    seen.add(cursor);
  }
}
