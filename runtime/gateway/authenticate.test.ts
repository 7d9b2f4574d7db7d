import { createServer, type IncomingHttpHeaders, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import type { Log } from "../observe/log.ts";
import { platformAuthenticator } from "./authenticate.ts";
import { platformLogin } from "./platform-login.ts";
import { manualTimers } from "./testing/manual-timers.ts";
import { loginOf } from "./testing/stage.ts";

let server: Server;
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

async function platform(listener: RequestListener): Promise<string> {
  server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const log: Log = { debug() {}, info() {}, warn() {}, error() {}, flush: async () => {} };
const rivera = { user_id: "rivera", name: "rivera", flags: [], preferences: {} };
const answer =
  (status: number, body: unknown, headers = {}): RequestListener =>
  (_request, response) =>
    response.writeHead(status, headers).end(typeof body === "string" ? body : JSON.stringify(body));

test("[E-03] only the cookie is passed on, and the body becomes a principal", async () => {
  const seen: { url: string | undefined; headers: IncomingHttpHeaders }[] = [];
  const platformUrl = await platform((request, response) => {
    seen.push({ url: request.url, headers: request.headers });
    answer(200, { ...rivera, flags: ["labs"], expires_at: "2027-01-01T00:00:00Z" })(request, response);
  });
  const { principal } = loginOf("rivera", ["labs"]) as Extract<ReturnType<typeof loginOf>, { kind: "principal" }>;
  expect(await platformAuthenticator({ platformUrl, log })("a=1; b=2")).toEqual({
    kind: "principal",
    principal: { ...principal, expiresAt: Date.parse("2027-01-01T00:00:00Z") },
  });
  expect(seen).toHaveLength(1);
  expect(seen[0]).toMatchObject({ url: "/session", headers: { cookie: "a=1; b=2" } });
  expect(seen[0]?.headers).not.toHaveProperty("origin");
});

test("401 is no login; everything else that is no principal is a platform that can't be relied on", async () => {
  const odd: RequestListener[] = [
    answer(401, ""),
    answer(500, rivera),
    answer(302, "", { location: "/elsewhere" }),
    answer(200, "not json"),
    answer(200, { ...rivera, user_id: "" }),
    (request) => request.socket.destroy(),
    () => {},
  ];
  const kinds: string[] = [];
  for (const listener of odd) {
    const platformUrl = await platform(listener);
    kinds.push((await platformAuthenticator({ platformUrl, log, timeoutMs: 200 })("c")).kind);
    server.closeAllConnections();
    server.close();
  }
  expect(kinds).toEqual(["no_login", ...Array(6).fill("unreachable")]);
});

test("a burst asks once, a login is kept for seconds and never past its end, a refusal not at all", async () => {
  const timers = manualTimers();
  let asked = 0;
  let reply: RequestListener = answer(200, rivera);
  const platformUrl = await platform((request, response) => {
    asked += 1;
    reply(request, response);
  });
  const authenticate = platformAuthenticator({ platformUrl, log, timers, cacheMs: 60_000 });
  expect((await authenticate("")).kind).toBe("no_login");
  expect(asked).toBe(0);
  await Promise.all(Array.from({ length: 50 }, () => authenticate("c")));
  expect(asked).toBe(1);
  reply = answer(401, "");
  timers.advance(4_999);
  expect((await authenticate("c")).kind).toBe("principal");
  timers.advance(1);
  expect((await authenticate("c")).kind).toBe("no_login");
  reply = answer(200, { ...rivera, expires_at: timers.now() + 1_000 });
  expect((await authenticate("c")).kind).toBe("principal");
  timers.advance(1_000);
  expect((await authenticate("c")).kind).toBe("no_login");
  expect(asked).toBe(3);
});

test("the demo login is forwarded and its cookie re-issued for this host", async () => {
  const cookie = "platform_session=abc; Domain=platform.example; Path=/x; Max-Age=60; Secure";
  const platformUrl = await platform((request, response) => {
    const known = request.url === "/login?user=dr%20rivera";
    answer(known ? 302 : 404, "", known ? { "set-cookie": cookie, location: "/" } : {})(request, response);
  });
  const login = platformLogin(platformUrl);
  expect(await login("dr rivera")).toEqual({
    setCookie: ["platform_session=abc; Max-Age=60; Path=/; HttpOnly; SameSite=Lax"],
  });
  expect(await login("nobody")).toBeUndefined();
  server.closeAllConnections();
  server.close();
  await expect(login("dr rivera")).rejects.toMatchObject({ code: "unavailable" });
});
