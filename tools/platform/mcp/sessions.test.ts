import { createServer, type Server as HttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { afterEach, beforeEach, expect, test } from "vitest";
import { findUser } from "../users.ts";
import { type McpSessions, mcpSessions } from "./sessions.ts";

const clock = { now: 0 };
let http: HttpServer;
let sessions: McpSessions;
let url: string;

beforeEach(async () => {
  clock.now = 0;
  const server = () => new Server({ name: "test", version: "0" }, { capabilities: { tools: {} } });
  sessions = mcpSessions(server, () => clock.now, { idleMs: 1000, most: 2, bodyBytes: 10_000 });
  http = createServer((request, response) => {
    const user = findUser(String(request.headers["x-user"]));
    if (user) void sessions.handle(user, request, response);
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
});
afterEach(async () => {
  await sessions.close();
  http.closeAllConnections();
  await new Promise((resolve) => http.close(resolve));
});

const headers = (session?: string, user = "dr-rivera") => ({
  "x-user": user,
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
  ...(session === undefined ? {} : { "mcp-session-id": session }),
});
async function initialise(): Promise<string> {
  const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "raw", version: "0" } };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params });
  const response = await fetch(url, { method: "POST", headers: headers(), body });
  await response.text();
  return response.headers.get("mcp-session-id") ?? "";
}
async function ping(session: string, user?: string): Promise<number> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 2, method: "ping" });
  const response = await fetch(url, { method: "POST", headers: headers(session, user), body });
  await response.text();
  return response.status;
}

test("[F-01] an idle session is forgotten, one in use is not", async () => {
  const [idle, used] = [await initialise(), await initialise()];
  clock.now = 600;
  expect(await ping(used)).toBe(200);
  clock.now = 1000;
  await sessions.sweep();
  expect([await ping(idle), await ping(used), sessions.count()]).toEqual([404, 200, 1]);
});

test("[PF-57] an open stream keeps its session", async () => {
  const id = await initialise();
  const stream = await fetch(url, { headers: headers(id) });
  clock.now = 5000;
  await sessions.sweep();
  expect([stream.status, sessions.count()]).toEqual([200, 1]);
  await stream.body?.cancel();
});

test("[PF-58] at the bound the session that was used longest ago gives way", async () => {
  const first = await initialise();
  clock.now = 1;
  const second = await initialise();
  clock.now = 2;
  await ping(first);
  clock.now = 3;
  const third = await initialise();
  expect([await ping(first), await ping(second), await ping(third)]).toEqual([200, 404, 200]);
});

test("[PF-59] a request that opens no session leaves none behind", async () => {
  const response = await fetch(url, { method: "POST", headers: headers(), body: "{}" });
  expect([response.status, sessions.count()]).toEqual([400, 0]);
});
