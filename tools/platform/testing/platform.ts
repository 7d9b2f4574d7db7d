import { randomBytes } from "node:crypto";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { testDatabase } from "../../../persistence/testing/database.ts";
import { type Platform, type PlatformOptions, startPlatform } from "../platform.ts";
import { keySealer } from "./sealer.ts";

export type TestPlatform = {
  readonly databaseUrl: string;
  readonly clock: { now: number };
  readonly events: { event: string; fields: Record<string, unknown> }[];
  /** One more process on the same database. */
  start(options?: Partial<PlatformOptions>): Promise<Platform>;
  login(url: string, user: string): Promise<string>;
  connect(url: string, cookie: string): Promise<Client>;
  /** Logs in and connects. */
  clientFor(url: string, user: string): Promise<Client>;
  /** Ends clients, platforms and the database. */
  close(): Promise<void>;
};

/** A database of its own and whatever a test starts on it. */
export async function testPlatform(): Promise<TestPlatform> {
  const database = await testDatabase();
  const clock = { now: Date.parse("2026-07-01T09:00:00Z") };
  const events: { event: string; fields: Record<string, unknown> }[] = [];
  const seal = keySealer(randomBytes(32));
  const platforms: Platform[] = [];
  const clients: Client[] = [];
  const log = (event: string, fields: Record<string, unknown>) => void events.push({ event, fields });

  async function connect(url: string, cookie: string): Promise<Client> {
    const client = new Client({ name: "test", version: "0.0.0" });
    const transport = new StreamableHTTPClientTransport(new URL("/mcp", url), { requestInit: { headers: { cookie } } });
    await client.connect(transport as Parameters<Client["connect"]>[0]);
    clients.push(client);
    return client;
  }
  async function login(url: string, user: string): Promise<string> {
    const response = await fetch(`${url}/login?user=${user}`, { redirect: "manual" });
    return response.headers.getSetCookie()[0]?.split(";")[0] ?? "";
  }

  return {
    databaseUrl: database.url,
    clock,
    events,
    async start(options = {}) {
      const platform = await startPlatform({ databaseUrl: database.url, seal, now: () => clock.now, log, ...options });
      platforms.push(platform);
      return platform;
    },
    login,
    connect,
    clientFor: async (url, user) => connect(url, await login(url, user)),
    async close() {
      await Promise.all(clients.map((client) => client.close()));
      await Promise.all(platforms.map((platform) => platform.close()));
      await database.drop();
    },
  };
}

/** What a tool returned; a tool error is thrown with its text. */
export async function callTool(
  client: Client,
  name: string,
  args: Record<string, unknown>,
  key?: string,
): Promise<Record<string, unknown>> {
  const _meta = key === undefined ? {} : { _meta: { "dormouse/idempotency-key": key } };
  const result = await client.callTool({ name, arguments: args, ..._meta });
  const [content] = result.content as { type: string; text: string }[];
  if (result.isError) throw new TypeError(content?.text);
  const structured = result.structuredContent as Record<string, unknown>;
  if (content?.text !== JSON.stringify(structured)) throw new TypeError("text and structured content differ");
  return structured;
}
