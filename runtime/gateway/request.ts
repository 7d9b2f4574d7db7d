import type { HttpRequest } from "./uws.ts";

/** What is kept of a request: the native one is gone after the first `await`. */
export type ArrivedRequest = {
  /** Lower case. */
  readonly method: string;
  readonly path: string;
  /** The path with ids replaced: safe in logs. */
  readonly route: string;
  readonly query: URLSearchParams;
  readonly cookie: string;
  readonly origin: string;
  readonly authorization: string;
  readonly ifNoneMatch: string;
  /** Lower case, without parameters. */
  readonly contentType: string;
};

export function readRequest(req: HttpRequest): ArrivedRequest {
  const path = req.getUrl();
  return {
    method: req.getMethod(),
    path,
    route: path.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/gi, ":id").slice(0, 100),
    query: new URLSearchParams(req.getQuery()),
    cookie: req.getHeader("cookie"),
    origin: req.getHeader("origin"),
    authorization: req.getHeader("authorization"),
    ifNoneMatch: req.getHeader("if-none-match"),
    contentType: (req.getHeader("content-type").split(";")[0] ?? "").trim().toLowerCase(),
  };
}

/** The n-th part of a path: 0 is the first. */
export const segment = (request: ArrivedRequest, index: number): string => request.path.split("/")[index + 1] ?? "";
