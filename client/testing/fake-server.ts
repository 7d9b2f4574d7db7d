import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { WebSocketServer } from "ws";
import { commandSchema } from "../../machines/protocol/commands.ts";
import { type Answer, type FakeSession, fakeSession } from "./fake-session.ts";

export type { Answer, Stage } from "./fake-session.ts";

export type FakeServer = {
  readonly url: string;
  /** Ends every socket with this close code; the server goes on. */
  cut(code: number): void;
  /** What waits for an answer, in any session, has waited too long. */
  expire(): void;
  close(): Promise<void>;
};

export type FakeOptions = {
  readonly answer: Answer;
  /** Milliseconds between two deltas. */
  readonly pace?: number;
  readonly port?: number;
  /** Serves everything that is no route; the console in screenshots. */
  readonly page?: (path: string, response: ServerResponse) => void;
};

/** A server of the protocol in memory, with one user and answers that the caller writes. For tests and screenshots only. */
export async function fakeServer({ answer, pace = 0, port = 0, page }: FakeOptions): Promise<FakeServer> {
  const sessions = new Map<string, FakeSession>();

  const make = (): FakeSession => {
    const session = fakeSession(answer, pace);
    sessions.set(session.id, session);
    return session;
  };
  const loggedIn = (request: IncomingMessage) => request.headers.cookie?.includes("platform_session=") === true;

  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://fake");
    const json = (status: number, body: unknown) => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify(body));
    };
    if (url.pathname === "/login") {
      const user = url.searchParams.get("user");
      if (user === null) return json(400, { error: { code: "invalid", message: "user is missing" } });
      const cookie = `platform_session=${user}; HttpOnly; Path=/; SameSite=Lax`;
      response.writeHead(302, { "set-cookie": cookie, location: "/" });
      return response.end();
    }
    if (url.pathname === "/healthz") return json(200, { alive: true, simulated: true, demo_login: true });
    if (!url.pathname.startsWith("/v1/")) return page ? page(url.pathname, response) : json(404, {});
    if (!loggedIn(request)) return json(401, { error: { code: "auth_required", message: "log in first" } });
    const [, , , id] = url.pathname.split("/");
    if (id === undefined && request.method === "POST") return json(201, { session_id: make().id });
    if (id === undefined)
      return json(200, { sessions: [...sessions.values()].map((session) => session.summary()).reverse() });
    const session = sessions.get(id);
    if (session === undefined) return json(404, { error: { code: "not_found", message: "no such session" } });
    if (request.method === "DELETE") {
      sessions.delete(id);
      session.erase();
      return json(200, {});
    }
    json(200, session.page(Number(url.searchParams.get("before") ?? Number.POSITIVE_INFINITY)));
  });

  const sockets = new WebSocketServer({ noServer: true });
  server.on("upgrade", (request, socket, head) => {
    const url = new URL(request.url ?? "/", "http://fake");
    const session = sessions.get(url.searchParams.get("session") ?? "");
    const refusal = !loggedIn(request) ? 401 : session === undefined ? 404 : undefined;
    if (refusal !== undefined || session === undefined) {
      socket.end(`HTTP/1.1 ${refusal} Refused\r\nconnection: close\r\n\r\n`);
      return;
    }
    sockets.handleUpgrade(request, socket, head, (ready) => {
      session.join(ready, url.searchParams.get("after"));
      ready.on("message", (data) => session.hear(ready, commandSchema.parse(JSON.parse(String(data)))));
    });
  });
  await new Promise<void>((ready) => server.listen(port, "127.0.0.1", ready));
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : port}`,
    cut(code) {
      for (const socket of sockets.clients) socket.close(code);
    },
    expire() {
      for (const session of sessions.values()) session.expire();
    },
    close: () =>
      new Promise((closed) => {
        for (const socket of sockets.clients) socket.terminate();
        server.close(() => closed());
        server.closeAllConnections();
      }),
  };
}
