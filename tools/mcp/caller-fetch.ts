import { setMaxListeners } from "node:events";
import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport.js";
import { z } from "zod";
import type { Clock } from "../clock.ts";
import { answerStream, eventStream, readBounded } from "./bodies.ts";
import { McpFailure } from "./failures.ts";

export type CallerFetchOptions = {
  /** The caller's own cookie: on every request of this connection, and on no other connection. */
  readonly cookie: string;
  /** Most bytes of one answer, or of one event of the server's own stream. */
  readonly bodyBytes: number;
  readonly clock: Clock;
  readonly fetch: FetchLike;
};

export type CallerFetch = {
  readonly fetch: FetchLike;
  /** Tells that a request was answered: its stream is closed if the server does not do so. */
  answered(id: RequestId): void;
};

type RequestId = string | number;

/** How long a notice may take, and how long an event stream may stay open once its request was answered. */
const NOTICE_MS = 10_000;
const LINGER_MS = 5_000;

const requestId = z.union([z.string(), z.number()]);
const posted = z.looseObject({
  id: requestId.optional(),
  method: z.string().optional(),
  params: z.looseObject({ requestId: requestId.optional() }).optional(),
});

/**
 * The fetch under one MCP connection. It adds the cookie, follows no redirect, bounds what is read, closes the connection of a request
 * that the SDK gave up, and turns what HTTP says into `McpFailure`s: 401, redirects and HTML pages mean that the login is dead.
 */
export function callerFetch({ cookie, bodyBytes, clock, fetch }: CallerFetchOptions): CallerFetch {
  const open = new Map<RequestId, AbortController>();

  /** Ties a request to the SDK's signal and, by its id, to the notice that cancels it. */
  const begin = (init: RequestInit) => {
    const message = typeof init.body === "string" ? posted.safeParse(JSON.parse(init.body)).data : undefined;
    if (message?.method === "notifications/cancelled") open.get(message.params?.requestId ?? "")?.abort();

    const controller = new AbortController();
    const abort = () => controller.abort();
    if (init.signal?.aborted === true) abort();
    // One signal for all requests of a connection, and any number of them at once.
    if (init.signal) setMaxListeners(0, init.signal);
    init.signal?.addEventListener("abort", abort, { once: true });
    const isNotice = message !== undefined && message.id === undefined;
    const disarm = isNotice ? clock.schedule(NOTICE_MS, abort) : () => undefined;
    if (message?.id !== undefined) open.set(message.id, controller);
    const end = () => {
      disarm();
      init.signal?.removeEventListener("abort", abort);
      if (message?.id !== undefined && open.get(message.id) === controller) open.delete(message.id);
    };
    return { id: message?.id, isPost: message !== undefined, controller, end };
  };

  return {
    async fetch(url, init = {}) {
      const { id, isPost, controller, end } = begin(init);
      try {
        const headers = new Headers(init.headers);
        headers.set("cookie", cookie);
        const response = await fetch(url, { ...init, headers, redirect: "manual", signal: controller.signal });
        const refusal = refusalOf(response, headers.has("mcp-session-id"));
        if (refusal !== undefined) {
          await response.body?.cancel();
          throw refusal;
        }
        const { body } = response;
        if (body !== null && isEventStream(response)) {
          if (!isPost) return new Response(eventStream(body, bodyBytes), response);
          if (id !== undefined) return new Response(answerStream(body, id, bodyBytes, end), response);
        }
        const answer =
          body === null || id === undefined ? response : new Response(await readBounded(body, bodyBytes), response);
        end();
        return answer;
      } catch (cause) {
        end();
        if (cause instanceof McpFailure || controller.signal.aborted) throw cause;
        throw new McpFailure("mcp_unavailable", "the server could not be reached", {
          cause,
          reached: !neverSent(cause),
        });
      }
    },
    answered(id) {
      const controller = open.get(id);
      if (controller !== undefined) clock.schedule(LINGER_MS, () => controller.abort());
    },
  };
}

function refusalOf(response: Response, hadSession: boolean): McpFailure | undefined {
  const { status } = response;
  if (status === 401) return new McpFailure("mcp_auth", "the login was refused (401)");
  if (status >= 300 && status < 400) return new McpFailure("mcp_auth", "the request was redirected, as for a login");
  if (status === 403) return new McpFailure("mcp_forbidden", "the server does not allow this (403)");
  if (status === 404 && hadSession)
    return new McpFailure("mcp_session_lost", "the server forgot the MCP session (404)");
  if (status === 404 || status === 429 || status >= 500)
    return new McpFailure("mcp_unavailable", `the server cannot answer now (${status})`, { reached: status >= 500 });
  if (response.ok && essence(response) === "text/html")
    return new McpFailure("mcp_auth", "a web page came instead of an answer, as for a login");
  if (response.ok || status === 405) return undefined;
  return new McpFailure("mcp_protocol", `the server refused the request (${status})`);
}

const essence = (response: Response) => response.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase();
const isEventStream = (response: Response) => essence(response) === "text/event-stream";

const NEVER_SENT = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "UND_ERR_CONNECT_TIMEOUT"]);

function neverSent(error: unknown): boolean {
  const cause: unknown = error instanceof Error ? error.cause : undefined;
  return typeof cause === "object" && cause !== null && "code" in cause && NEVER_SENT.has(String(cause.code));
}
