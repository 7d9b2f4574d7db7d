import { isObject, parsedJson } from "../../machines/conversation/json-values.ts";
import { BadModelRequest, type ModelFailure, ModelMisconfigured, ModelUnavailable } from "./failures.ts";

/** Seconds or an HTTP date, as milliseconds from `now`. */
function retryAfter(value: string | null, now: number): number | undefined {
  if (value === null) return undefined;
  const seconds = Number(value);
  const ms = Number.isFinite(seconds) ? seconds * 1_000 : Date.parse(value) - now;
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}

function saysBadKey(body: unknown): boolean {
  const error = isObject(body) ? body["error"] : undefined;
  const details = isObject(error) && Array.isArray(error["details"]) ? error["details"] : [];
  return details.some((detail) => isObject(detail) && detail["reason"] === "API_KEY_INVALID");
}

/** What an HTTP status of the model's server, or the code of an error inside its stream, means for us. */
export function failureOfStatus(
  status: number,
  body: string,
  now = 0,
  retryAfterHeader: string | null = null,
): ModelFailure {
  const extra = { cause: new Error(`HTTP ${status}`), detail: body.slice(0, 4_000) };
  if (status === 429)
    return new ModelUnavailable("throttled", { ...extra, retryAfterMs: retryAfter(retryAfterHeader, now) });
  if (status === 401 || status === 403) return new ModelMisconfigured("unauthorized", extra);
  if (status === 404 || status === 405 || (status >= 300 && status < 400))
    return new ModelMisconfigured("not_found", extra);
  if (status === 408 || status === 499 || status >= 500) {
    return new ModelUnavailable("overloaded", { ...extra, retryAfterMs: retryAfter(retryAfterHeader, now) });
  }
  return saysBadKey(parsedJson(body)) ? new ModelMisconfigured("unauthorized", extra) : new BadModelRequest(extra);
}

/** The failure that an event of the stream reports, if it does. */
export function failureInEvent(event: unknown): ModelFailure | undefined {
  const [first] = Array.isArray(event) ? event : [event];
  if (!isObject(first) || first["error"] === undefined || first["error"] === null) return undefined;
  const { error } = first;
  const code = isObject(error) ? Number(error["code"]) : Number.NaN;
  const text = JSON.stringify(first);
  if (code >= 400 && code < 600) return failureOfStatus(code, text);
  return new ModelUnavailable("stream_error", { detail: text.slice(0, 4_000) });
}

/** A thrown error by its class and system code alone: messages of parsers quote what they read. */
export function bareCause(error: unknown): Error {
  const { code, cause } = error instanceof Error ? (error as NodeJS.ErrnoException) : {};
  const inner = isObject(cause) || cause instanceof Error ? (cause as NodeJS.ErrnoException).code : undefined;
  return new Error([error instanceof Error ? error.name : typeof error, code ?? inner].filter(Boolean).join(" "));
}
