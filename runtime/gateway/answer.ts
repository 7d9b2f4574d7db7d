import type { ErrorCode } from "../../machines/protocol/signals.ts";
import type { Log } from "../observe/log.ts";
import { Refused } from "../sessions/conversations.ts";
import { BodyAborted, type IncomingBody, incomingBody } from "./body.ts";
import { type ArrivedRequest, readRequest } from "./request.ts";
import type { HttpRequest, HttpResponse } from "./uws.ts";

/** A whole HTTP response. */
export type Answer = {
  readonly status: number;
  readonly headers?: readonly (readonly [string, string])[];
  readonly body?: string | Uint8Array;
};

export type Handler = (request: ArrivedRequest) => Answer | Promise<Answer>;
/** Answers a request that brings a body. */
export type BodyHandler = (request: ArrivedRequest, body: IncomingBody) => Promise<Answer>;

/** Codes that only HTTP knows. */
type HttpCode =
  | ErrorCode
  | "auth_required"
  | "origin_not_allowed"
  | "method_not_allowed"
  | "unsupported_media_type"
  | "invalid_request"
  | "internal";

const STATUS: Readonly<Record<HttpCode, number>> = {
  invalid_json: 400,
  invalid_command: 400,
  invalid_request: 400,
  auth_required: 401,
  auth_expired: 401,
  origin_not_allowed: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  too_large: 413,
  unsupported_media_type: 415,
  rate_limited: 429,
  queue_full: 429,
  internal: 500,
  draining: 503,
  unavailable: 503,
  session_unavailable: 503,
};

const REASONS: Readonly<Record<number, string>> = {
  200: "OK",
  201: "Created",
  204: "No Content",
  303: "See Other",
  304: "Not Modified",
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  409: "Conflict",
  413: "Content Too Large",
  415: "Unsupported Media Type",
  429: "Too Many Requests",
  500: "Internal Server Error",
  503: "Service Unavailable",
};

const SAFETY = [
  ["X-Content-Type-Options", "nosniff"],
  ["Referrer-Policy", "no-referrer"],
] as const;

export function json(status: number, value: unknown): Answer {
  const headers = [
    ["Content-Type", "application/json; charset=utf-8"],
    ["Cache-Control", "no-store"],
  ] as const;
  return { status, headers, body: JSON.stringify(value) };
}

export function refusal(code: HttpCode, message: string): Answer {
  return json(STATUS[code], { error: { code, message } });
}

export const notFound = (): Answer => refusal("not_found", "there is nothing here");

/** What a client may know of an error: a `Refused` as it is, of anything else nothing. */
export function failureAnswer(error: unknown, log: Log, route: string): Answer {
  if (error instanceof Refused) return refusal(error.code, error.message);
  log.error("request failed", { route, err: error });
  return refusal("internal", "the server could not answer; its log says why");
}

/**
 * Runs a handler the way the native server demands: the request is read before anything is awaited, an abort is always
 * listened for, writes are corked, and a response whose client has gone is never touched.
 */
export function answering(log: Log, handle: Handler): (res: HttpResponse, req: HttpRequest) => void {
  return (res, req) => {
    const request = readRequest(req);
    const respond = responder(res, request.method === "head");
    const run = async () => handle(request);
    void run()
      .catch((error: unknown) => failureAnswer(error, log, request.route))
      .then(respond)
      .catch((err: unknown) => log.error("answer not written", { route: request.route, err }));
  };
}

/** Like `answering`, for a request with a body: of what the handler does not read nothing is kept. */
export function receiving(log: Log, handle: BodyHandler): (res: HttpResponse, req: HttpRequest) => void {
  return (res, req) => {
    const request = readRequest(req);
    const body = incomingBody(res, req);
    const respond = responder(res, false, body.aborted);
    void handle(request, body)
      .catch((error: unknown) => (error instanceof BodyAborted ? undefined : failureAnswer(error, log, request.route)))
      .then((answer) => {
        body.discard();
        if (answer !== undefined) respond(answer);
      })
      .catch((err: unknown) => log.error("answer not written", { route: request.route, err }));
  };
}

/** A function that writes one answer, or nothing when the client has gone. Call before the first `await`. */
export function responder(res: HttpResponse, headOnly: boolean, gone?: () => void): (answer: Answer) => void {
  let over = false;
  res.onAborted(() => {
    over = true;
    gone?.();
  });
  return (answer) => {
    if (over) return;
    over = true;
    res.cork(() => write(res, answer, headOnly));
  };
}

export function write(res: HttpResponse, { status, headers = [], body }: Answer, headOnly = false): void {
  res.writeStatus(`${status} ${REASONS[status] ?? "Unknown"}`);
  for (const [name, value] of [...SAFETY, ...headers]) res.writeHeader(name, value);
  if (status === 204 || status === 304) res.endWithoutBody();
  else if (headOnly) res.endWithoutBody(Buffer.byteLength(body ?? ""));
  else res.end(body ?? "");
}
