import { createHash } from "node:crypto";
import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { Credential, Principal } from "../../machines/principal.ts";
import type { Clock } from "../clock.ts";
import { Connection } from "./connection.ts";
import { McpFailure } from "./failures.ts";
import { ToolList } from "./tool-list.ts";

export type Caller = { readonly principal: Principal; readonly credential: Credential };
export type McpServer = {
  readonly name: string;
  readonly url: URL;
  /** Its tools keep their bare names; those of every other server are called `<server>__<tool>`. */
  readonly bareNames: boolean;
};

/** What the pool tells the telemetry. Counts and names, never a user, an address or a content. */
export type PoolEvent =
  | { readonly type: "mcp_connected" | "mcp_reinitialised"; readonly server: string }
  | { readonly type: "odd_tool"; readonly server: string; readonly problem: string };

export type PoolOptions = {
  readonly clock: Clock;
  readonly fetch: FetchLike;
  readonly observe: (event: PoolEvent) => void;
  readonly bodyBytes: number;
  readonly connectMs: number;
  /** An unused connection is closed after this time. */
  readonly idleMs: number;
  /** Most connections at once; the one that was unused longest makes room. */
  readonly most: number;
};

export type Pooled = { readonly connection: Connection; readonly list: ToolList };
type Kept = Pooled & { usedAt: number };

/**
 * All connections of the process, apart from sessions: one for each principal (user and cookie) and server. Equal cookies of two users
 * and two cookies of one user never share a connection, an MCP session or a tool list.
 */
export class Pool {
  readonly #options: PoolOptions;
  /** Least recently used first. */
  readonly #kept = new Map<string, Kept>();
  #disarm: (() => void) | undefined;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#kept.size;
  }

  /** Throws `mcp_unavailable` when the pool is full of connections in use. */
  of(caller: Caller, server: McpServer): Pooled {
    const key = keyOf(caller, server);
    const known = this.#kept.get(key);
    if (known !== undefined) {
      known.usedAt = this.#options.clock.now();
      this.#kept.delete(key);
      this.#kept.set(key, known);
      return known;
    }
    this.#makeRoom();
    const opened = this.#open(caller, server);
    this.#kept.set(key, opened);
    this.#watch();
    return opened;
  }

  /** Closes everything; the pool can be used again. */
  async close(): Promise<void> {
    this.#disarm?.();
    this.#disarm = undefined;
    const all = [...this.#kept.values()];
    this.#kept.clear();
    await Promise.all(all.map(({ connection }) => connection.close()));
  }

  #open({ credential }: Caller, server: McpServer): Kept {
    const { clock, observe } = this.#options;
    const list = new ToolList(clock, (problem) => observe({ type: "odd_tool", server: server.name, problem }));
    const connection = new Connection({
      ...this.#options,
      url: server.url,
      cookie: credential.cookie,
      onListChanged: () => list.expire(),
      onReinitialised: () => observe({ type: "mcp_reinitialised", server: server.name }),
    });
    observe({ type: "mcp_connected", server: server.name });
    return { connection, list, usedAt: clock.now() };
  }

  #makeRoom(): void {
    if (this.#kept.size < this.#options.most) return;
    const idle = [...this.#kept].find(([, { connection }]) => !connection.busy);
    if (idle === undefined) throw new McpFailure("mcp_unavailable", "every connection is in use", { reached: false });
    this.#drop(...idle);
  }

  #drop(key: string, { connection }: Kept): void {
    this.#kept.delete(key);
    void connection.close();
  }

  /** One alarm for all: it closes what was idle too long and sets itself again while anything is left. */
  #watch(): void {
    if (this.#disarm !== undefined) return;
    const { clock, idleMs } = this.#options;
    this.#disarm = clock.schedule(idleMs / 2, () => {
      this.#disarm = undefined;
      const before = clock.now() - idleMs;
      for (const [key, kept] of this.#kept) if (kept.usedAt <= before && !kept.connection.busy) this.#drop(key, kept);
      if (this.#kept.size > 0) this.#watch();
    });
  }
}

/** A digest, so that no cookie lies about as the key of a map. */
function keyOf({ principal, credential }: Caller, server: McpServer): string {
  return createHash("sha256")
    .update(JSON.stringify([principal.userId, credential.cookie, server.name]))
    .digest("hex");
}
