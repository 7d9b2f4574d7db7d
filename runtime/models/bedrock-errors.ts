import { isObject } from "../../machines/conversation/json-values.ts";
import { BadModelRequest, ModelFailure, ModelMisconfigured, ModelUnavailable, type OutageCode } from "./failures.ts";

const OUTAGES: Readonly<Record<string, OutageCode>> = {
  ThrottlingException: "throttled",
  TooManyRequestsException: "throttled",
  ServiceQuotaExceededException: "throttled",
  ServiceUnavailableException: "overloaded",
  InternalServerException: "overloaded",
  InternalFailure: "overloaded",
  ModelNotReadyException: "overloaded",
  ModelTimeoutException: "overloaded",
  ModelErrorException: "overloaded",
  ModelStreamErrorException: "stream_error",
};

const UNAUTHORIZED: ReadonlySet<string> = new Set([
  "AccessDeniedException",
  "UnrecognizedClientException",
  "InvalidSignatureException",
  "InvalidClientTokenId",
  "IncompleteSignatureException",
  "MissingAuthenticationTokenException",
  "ExpiredTokenException",
  "ExpiredToken",
  "NotAuthorized",
  "CredentialsProviderError",
  "TokenProviderError",
]);

/** What Bedrock calls invalid although it is the profile that is wrong. */
const WRONG_MODEL = /model identifier|on-demand throughput|inference profile/i;

/** The headers had come when it broke, or had not. */
export type Phase = "opening" | "streaming";

/** What the SDK threw, as a failure of ours. Decided by class, status and system code; words only tell a model from a request. */
export function failureOfError(error: unknown, phase: Phase): ModelFailure {
  if (error instanceof ModelFailure) return error;
  const { name, message, status, code, retryAfterMs } = read(error);
  const extra = {
    cause: new Error([name, status && `HTTP ${status}`, code].filter(Boolean).join(" ")),
    detail: message,
  };
  const kind = capitalised(name);
  const outage = OUTAGES[kind];
  if (outage !== undefined) return new ModelUnavailable(outage, { ...extra, retryAfterMs });
  if (UNAUTHORIZED.has(kind)) return new ModelMisconfigured("unauthorized", extra);
  if (kind === "ResourceNotFoundException") return new ModelMisconfigured("not_found", extra);
  if (kind === "ValidationException") {
    return WRONG_MODEL.test(message) ? new ModelMisconfigured("not_found", extra) : new BadModelRequest(extra);
  }
  if (phase === "streaming") {
    const cut = /^Truncated event message/.test(message);
    return new ModelUnavailable(cut ? "truncated_stream" : "stream_error", extra);
  }
  if (status === undefined) return new ModelUnavailable("unreachable", extra);
  if (status === 429) return new ModelUnavailable("throttled", { ...extra, retryAfterMs });
  if (status === 401 || status === 403) return new ModelMisconfigured("unauthorized", extra);
  if (status === 404 || status === 405 || (status >= 300 && status < 400))
    return new ModelMisconfigured("not_found", extra);
  if (status === 408 || status >= 500) return new ModelUnavailable("overloaded", { ...extra, retryAfterMs });
  return status >= 400 ? new BadModelRequest(extra) : new ModelUnavailable("stream_error", extra);
}

/** In a stream the names begin with a small letter. */
const capitalised = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);

function read(error: unknown) {
  const { name, message } = error instanceof Error ? error : { name: typeof error, message: "" };
  const fields = isObject(error) || error instanceof Error ? (error as unknown as Record<string, unknown>) : {};
  const metadata = isObject(fields["$metadata"]) ? fields["$metadata"] : {};
  const response = isObject(fields["$response"]) || fields["$response"] instanceof Object ? fields["$response"] : {};
  const given = metadata["httpStatusCode"] ?? (response as Record<string, unknown>)["statusCode"];
  const status = typeof given === "number" ? given : undefined;
  const headers = (response as Record<string, unknown>)["headers"];
  const seconds = Number(isObject(headers) ? (headers["retry-after"] ?? Number.NaN) : Number.NaN);
  return {
    name,
    message: message.slice(0, 4_000),
    status,
    code: typeof fields["code"] === "string" ? fields["code"] : undefined,
    retryAfterMs: Number.isFinite(seconds) ? Math.max(0, seconds * 1_000) : undefined,
  };
}
