import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { PlatformUser } from "../users.ts";

export type SessionLimits = { readonly idleMs: number; readonly most: number; readonly bodyBytes: number };

export type McpSessions = {
  /** Answers one request of `user` on `/mcp`. A session of somebody else is as unknown as one that never was: 404. */
  handle(user: PlatformUser, request: IncomingMessage, response: ServerResponse): Promise<void>;
  /** Drops sessions without a request for `idleMs`. */
  sweep(): Promise<void>;
  count(): number;
  close(): Promise<void>;
};

type Session = {
  readonly userId: string;
  readonly transport: StreamableHTTPServerTransport;
  readonly server: Server;
  usedAt: number;
  /** Requests and streams that are open now; such a session is not idle. */
  open: number;
};

/** MCP sessions in memory, each bound to the user who initialised it. The least recently used one gives way at the bound. */
export function mcpSessions(
  serverFor: (user: PlatformUser) => Server,
  now: () => number,
  { idleMs, most, bodyBytes }: SessionLimits,
): McpSessions {
  const sessions = new Map<string, Session>();

  async function drop(id: string): Promise<void> {
    const session = sessions.get(id);
    sessions.delete(id);
    await session?.server.close();
  }

  async function initialise(user: PlatformUser): Promise<Session> {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      enableJsonResponse: true,
      maxRequestBodySize: bodyBytes,
      onsessioninitialized: (id) => {
        sessions.set(id, session);
      },
      onsessionclosed: drop,
    });
    const server = serverFor(user);
    const session: Session = { userId: user.userId, transport, server, usedAt: now(), open: 0 };
    // The SDK's own types disagree under exactOptionalPropertyTypes.
    await server.connect(transport as Parameters<Server["connect"]>[0]);
    return session;
  }

  async function makeRoom(): Promise<void> {
    const oldest = [...sessions].sort(([, left], [, right]) => left.usedAt - right.usedAt);
    await Promise.all(oldest.slice(0, Math.max(0, sessions.size - most)).map(([id]) => drop(id)));
  }

  return {
    async handle(user, request, response) {
      const id = request.headers["mcp-session-id"];
      const known = typeof id === "string" ? sessions.get(id) : undefined;
      if (id !== undefined && known?.userId !== user.userId) return notFound(response);
      const session = known ?? (await initialise(user));
      session.usedAt = now();
      session.open += 1;
      response.once("close", () => {
        session.open -= 1;
        session.usedAt = now();
      });
      await session.transport.handleRequest(request, response);
      if (session.transport.sessionId === undefined) await session.server.close();
      else await makeRoom();
    },

    async sweep() {
      const idle = [...sessions].filter(([, { open, usedAt }]) => open === 0 && now() - usedAt >= idleMs);
      await Promise.all(idle.map(([id]) => drop(id)));
    },

    count: () => sessions.size,

    async close() {
      await Promise.all([...sessions.keys()].map(drop));
    },
  };
}

function notFound(response: ServerResponse): void {
  const error = { code: -32001, message: "Session not found" };
  response.writeHead(404, { "content-type": "application/json" });
  response.end(JSON.stringify({ jsonrpc: "2.0", error, id: null }));
}
