import type { IncomingMessage, ServerResponse } from "node:http";
import { parseCookie, stringifySetCookie } from "cookie";
import type { McpSessions } from "./mcp/sessions.ts";
import type { Login, Logins } from "./store/logins.ts";
import { findUser, type PlatformUser } from "./users.ts";

export const LOGIN_COOKIE = "platform_session";
const LONGEST_TOKEN = 200;

export type RouteParts = {
  readonly logins: Logins;
  readonly mcp: McpSessions;
  readonly lifetimeMs: number;
};
type Authenticated = { readonly login: Login; readonly user: PlatformUser; readonly token: string };

/** The platform's HTTP surface: /session, /login, /logout and /mcp. Errors are `{error: {code, message}}`. */
export function routes({ logins, mcp, lifetimeMs }: RouteParts) {
  async function authenticate(request: IncomingMessage): Promise<Authenticated | undefined> {
    const token = parseCookie(request.headers.cookie ?? "")[LOGIN_COOKIE];
    if (token === undefined || token.length > LONGEST_TOKEN) return undefined;
    const login = await logins.find(token);
    const user = login && findUser(login.userId);
    return login && user && { login, user, token };
  }

  const setCookie = (value: string, seconds: number) =>
    stringifySetCookie(LOGIN_COOKIE, value, { httpOnly: true, sameSite: "lax", path: "/", maxAge: seconds });

  return async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", "http://platform.invalid");
    const route = `${request.method} ${url.pathname}`;
    if (isForeignPage(request))
      return fail(response, 403, "origin_not_allowed", "This page may not call the platform.");

    if (route === "GET /login") {
      const user = findUser(url.searchParams.get("user") ?? "");
      if (!user) return fail(response, 404, "not_found", "There is no such user.");
      const cookie = setCookie(await logins.start(user.userId), Math.floor(lifetimeMs / 1000));
      response.writeHead(302, { location: "/", "set-cookie": cookie, "cache-control": "no-store" });
      response.end();
      return;
    }

    const known = route === "GET /session" || route === "POST /logout" || isMcp(request.method, url.pathname);
    if (!known) return fail(response, 404, "not_found", "There is nothing here.");
    const caller = await authenticate(request);
    if (route === "POST /logout") {
      if (caller) await logins.end(caller.token);
      response.writeHead(204, { "set-cookie": setCookie("", 0) });
      response.end();
      return;
    }
    if (!caller) return fail(response, 401, "auth_required", "Log in first.");
    if (route === "GET /session") return json(response, 200, principal(caller));
    await mcp.handle(caller.user, request, response);
  };
}

/** Answers `{error: {code, message}}` unless an answer has begun. */
export function fail(response: ServerResponse, status: number, code: string, message: string): void {
  if (response.headersSent) response.destroy();
  else json(response, status, { error: { code, message } });
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json", "cache-control": "no-store" });
  response.end(JSON.stringify(body));
}

const isMcp = (method: string | undefined, path: string): boolean =>
  path === "/mcp" && ["POST", "GET", "DELETE"].includes(method ?? "");

/** Only our own pages may call with a browser's cookie; servers send no Origin. */
function isForeignPage({ headers }: IncomingMessage): boolean {
  if (headers.origin === undefined) return false;
  return URL.canParse(headers.origin) ? new URL(headers.origin).host !== headers.host : true;
}

function principal({ login, user }: Authenticated) {
  const { userId, name, flags, preferences } = user;
  return { user_id: userId, name, flags, preferences, expires_at: login.expiresAt };
}
