import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport.js";
import { type Clock, systemClock } from "../clock.ts";
import type { Tool } from "../tool.ts";
import { McpFailure, McpServersInvalid } from "./failures.ts";
import { mcpTool, publicName, type ToolEvent } from "./mcp-tool.ts";
import { type Caller, type McpServer, Pool, type PoolEvent, type PoolOptions } from "./pool.ts";

export type McpEvent =
  | PoolEvent
  | ToolEvent
  | { readonly type: "list_failed"; readonly server: string; readonly code: string };

export type McpServersOptions = {
  readonly servers: readonly { readonly name: string; readonly url: string; readonly bareNames?: boolean }[];
  /**
   * Limit of one call by the tool's public name, in milliseconds, whatever progress it reports. Where it names none: 30 s, and 120 s
   * for a call that reports progress.
   */
  readonly timeouts?: Readonly<Record<string, number>>;
  /** How long a call that has reported progress may then be silent, in milliseconds; 30 s unless told. */
  readonly silenceMs?: number;
  readonly clock?: Clock;
  readonly fetch?: FetchLike;
  readonly observe?: (event: McpEvent) => void;
} & Partial<Pick<PoolOptions, "bodyBytes" | "connectMs" | "idleMs" | "most">>;

/** A server whose tools are not all there, and why. `stale`: they are the last that were known. */
export type Missing = { readonly server: string; readonly reason: "auth" | "unavailable"; readonly stale: boolean };
export type Discovery = { readonly tools: readonly Tool[]; readonly missing: readonly Missing[] };

export interface McpServers {
  /** The tools every server lists to this caller. From memory for 60 s. Never throws for what a server does. */
  discover(caller: Caller): Promise<Discovery>;
  /** How many connections are open or may be taken up again. */
  readonly connections: number;
  close(): Promise<void>;
}

const CALL_MS = 30_000;
const CALL_WITH_PROGRESS_MS = 120_000;

/** The MCP side of an agent's tools. Throws `McpServersInvalid` for names or addresses that cannot be. */
export function mcpServers(options: McpServersOptions): McpServers {
  const servers = checked(options.servers);
  const observe = options.observe ?? (() => undefined);
  const clock = options.clock ?? systemClock;
  const pool = new Pool({
    clock,
    fetch: options.fetch ?? fetch,
    observe,
    bodyBytes: options.bodyBytes ?? 8 * 1024 * 1024,
    connectMs: options.connectMs ?? 10_000,
    idleMs: options.idleMs ?? 10 * 60_000,
    most: options.most ?? 500,
  });

  const listed = async (server: McpServer, caller: Caller): Promise<Discovery> => {
    try {
      const { connection, list } = pool.of(caller, server);
      const { tools, stale } = await list.get(connection, caller.principal.flags);
      if (stale !== undefined) observe({ type: "list_failed", server: server.name, code: stale.code });
      return {
        tools: tools.map((definition) => {
          const own = options.timeouts?.[publicName(server, definition.name)];
          const [firstMs, totalMs] = [own ?? CALL_MS, own ?? CALL_WITH_PROGRESS_MS];
          const waiting = { firstMs, totalMs, silenceMs: options.silenceMs ?? CALL_MS };
          return mcpTool({ pool, server, definition, waiting, clock, observe });
        }),
        missing: stale === undefined ? [] : [{ server: server.name, reason: "unavailable", stale: true }],
      };
    } catch (error) {
      if (!(error instanceof McpFailure)) throw error;
      observe({ type: "list_failed", server: server.name, code: error.code });
      const reason = error.code === "mcp_auth" ? "auth" : "unavailable";
      return { tools: [], missing: [{ server: server.name, reason, stale: false }] };
    }
  };

  return {
    async discover(caller) {
      const all = await Promise.all(servers.map((server) => listed(server, caller)));
      return { tools: all.flatMap(({ tools }) => tools), missing: all.flatMap(({ missing }) => missing) };
    },
    get connections() {
      return pool.size;
    },
    close: () => pool.close(),
  };
}

/** In the order of their names, so that tools come in the same order whatever the file's. */
function checked(servers: McpServersOptions["servers"]): readonly McpServer[] {
  const names = servers.map(({ name }) => name);
  const problems = [
    ...names.filter((name) => !/^[a-z][a-z0-9-]{0,19}$/.test(name)).map((name) => `"${name}" is no server name`),
    ...names.filter((name, at) => names.indexOf(name) < at).map((name) => `"${name}" is there twice`),
    ...servers.filter(({ url }) => !URL.canParse(url)).map(({ name }) => `"${name}" has no usable address`),
    ...(servers.filter(({ bareNames }) => bareNames === true).length > 1
      ? ["only one server can have bare names"]
      : []),
  ];
  if (problems.length > 0) throw new McpServersInvalid(`MCP servers: ${problems.join("; ")}`);
  return servers
    .map(({ name, url, bareNames }) => ({ name, url: new URL(url), bareNames: bareNames === true }))
    .sort((left, right) => (left.name < right.name ? -1 : 1));
}
