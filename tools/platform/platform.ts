/** The reference platform: the system of record that Assist works on, as one HTTP server. Starts at `startPlatform`. */
import { randomBytes, randomUUID } from "node:crypto";
import { createServer, type Server as HttpServer } from "node:http";
import { catalog } from "./catalog/catalog.ts";
import { loadDataset } from "./catalog/dataset.ts";
import { interactionBook } from "./catalog/interactions.ts";
import { vocabulary } from "./catalog/vocabulary.ts";
import { errorFields } from "./failures.ts";
import { type Log, mcpServer } from "./mcp/server.ts";
import { mcpSessions } from "./mcp/sessions.ts";
import { toolbox } from "./mcp/toolbox.ts";
import { planBook } from "./plan-book.ts";
import { resolvers } from "./resolvers.ts";
import { fail, routes } from "./routes.ts";
import { openDatabase } from "./store/database.ts";
import { postgresLogins } from "./store/logins.ts";
import { postgresOnce } from "./store/once.ts";
import { postgresPlans } from "./store/plans.ts";
import type { Sealer } from "./store/sealer.ts";

const HOUR = 3_600_000;
const SWEEP_EVERY_MS = 60_000;

export type PlatformOptions = {
  /** 127.0.0.1 when left out. */
  readonly host?: string;
  /** A free port when left out or 0. */
  readonly port?: number;
  readonly databaseUrl: string;
  readonly seal: Sealer;
  /** Milliseconds since the epoch; the system clock when left out. */
  readonly now?: () => number;
  readonly log?: Log;
  /** How long a login lasts; 12 hours when left out. */
  readonly loginLifetimeMs?: number;
  /** How long an MCP session may lie idle; 15 minutes when left out. */
  readonly mcpIdleMs?: number;
};
export type Platform = { readonly url: string; close(): Promise<void> };

/** Opens the database (creating the schema `platform`) and listens. Throws when either cannot be had. */
export async function startPlatform(options: PlatformOptions): Promise<Platform> {
  const { host = "127.0.0.1", port = 0, databaseUrl, seal, now = Date.now, log = () => {} } = options;
  const { loginLifetimeMs: lifetimeMs = 12 * HOUR, mcpIdleMs = HOUR / 4 } = options;
  const sql = await openDatabase(databaseUrl);

  const data = loadDataset();
  const names = vocabulary(data);
  const logins = postgresLogins(sql, { lifetimeMs, now, newToken: () => randomBytes(32).toString("base64url") });
  const once = postgresOnce(sql, seal, now);
  const plans = planBook({ data, plans: postgresPlans(sql, seal), once, now, newId: randomUUID });
  const parts = { data, catalog: catalog(data, names), interactions: interactionBook(data, names), plans };
  const tools = toolbox(resolvers(parts));
  const limits = { idleMs: mcpIdleMs, most: 1000, bodyBytes: 1_048_576 };
  const mcp = mcpSessions((user) => mcpServer(user, tools, log), now, limits);

  const handle = routes({ logins, mcp, lifetimeMs });
  const http = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      log("platform_request_failed", errorFields(error));
      fail(response, 500, "internal", "The platform could not do this just now.");
    });
  });

  const sweep = setInterval(() => {
    Promise.all([mcp.sweep(), logins.sweep(), once.sweep()]).catch((error: unknown) =>
      log("platform_sweep_failed", errorFields(error)),
    );
  }, SWEEP_EVERY_MS);
  sweep.unref();

  const close = async () => {
    clearInterval(sweep);
    await mcp.close();
    await stop(http);
    await sql.end({ timeout: 2 });
  };
  try {
    return { url: await listen(http, host, port), close: onceOnly(close) };
  } catch (error) {
    await close();
    throw error;
  }
}

function listen(http: HttpServer, host: string, port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    http.once("error", reject);
    http.listen(port, host, () => {
      http.off("error", reject);
      const address = http.address();
      const bound = typeof address === "object" && address !== null ? address.port : port;
      resolve(`http://${host.includes(":") ? `[${host}]` : host}:${bound}`);
    });
  });
}

function stop(http: HttpServer): Promise<void> {
  return new Promise((resolve) => {
    http.close(() => resolve());
    http.closeAllConnections();
  });
}

function onceOnly(close: () => Promise<void>): () => Promise<void> {
  let closing: Promise<void> | undefined;
  return () => {
    closing ??= close();
    return closing;
  };
}
