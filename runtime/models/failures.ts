import { Failure } from "../../machines/failure.ts";

type Extra = { readonly cause?: unknown; readonly detail?: string | undefined };

/**
 * A model call that gave no answer. Retry, health and failover read these three and nothing else:
 * `retryable` (asking again may help), `countsAgainstHealth` (the route is to blame), and the class.
 */
export abstract class ModelFailure extends Failure {
  abstract readonly countsAgainstHealth: boolean;
  readonly #detail: string | undefined;

  constructor(message: string, { cause, detail }: Extra = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.#detail = detail;
  }

  /** The provider's own words. May quote the conversation: for sealed records only, never for a log. */
  get detail(): string | undefined {
    return this.#detail;
  }
}

export type OutageCode = "overloaded" | "throttled" | "unreachable" | "stalled" | "stream_error" | "truncated_stream";

const OUTAGES: Readonly<Record<OutageCode, string>> = {
  overloaded: "the model's server is overloaded or failing; it is asked again, then the next profile",
  throttled: "the model's server refuses for now because of its rate limit; raise the quota if this goes on",
  unreachable: "the model's server can't be reached; check the base URL and the network",
  stalled: "the model's server sent nothing for too long",
  stream_error: "the model's answer broke off with an error",
  truncated_stream: "the model's answer ended without saying that it was complete",
};

/** The route does not answer as it should right now. */
export class ModelUnavailable extends ModelFailure {
  readonly code: OutageCode;
  readonly retryable = true;
  readonly countsAgainstHealth = true;
  /** How long the server asks to wait, in milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(code: OutageCode, extra: Extra & { readonly retryAfterMs?: number | undefined } = {}) {
    super(OUTAGES[code], extra);
    this.code = code;
    this.retryAfterMs = extra.retryAfterMs;
  }
}

export type MisanswerCode = "malformed_tool_call" | "empty_response" | `unknown_finish_reason:${string}`;

/** The model answered, but with nothing that can be used. Worth one more try. */
export class ModelMisanswered extends ModelFailure {
  readonly code: MisanswerCode;
  readonly retryable = true;
  readonly countsAgainstHealth: boolean;

  constructor(code: MisanswerCode, extra: Extra = {}) {
    super(`the model gave no usable answer (${code})`, extra);
    this.code = code;
    this.countsAgainstHealth = code !== "malformed_tool_call";
  }
}

/** The provider's safety layer refused the prompt or the answer. The same prompt is not sent again. */
export class ModelBlocked extends ModelFailure {
  readonly code = "blocked";
  readonly retryable = false;
  readonly countsAgainstHealth = false;

  constructor(extra: Extra = {}) {
    super("the provider's safety layer refused this request", extra);
  }
}

/** The provider calls our request invalid: a bug of ours, on every route. */
export class BadModelRequest extends ModelFailure {
  readonly code = "bad_request";
  readonly retryable = false;
  readonly countsAgainstHealth = false;

  constructor(extra: Extra = {}) {
    super("the provider refused the request as invalid: a bug in the projection, please report it", extra);
  }
}

/** The profile is wrong. No other try of this route can help until someone changes it. */
export class ModelMisconfigured extends ModelFailure {
  readonly code: "not_found" | "unauthorized";
  readonly retryable = false;
  readonly countsAgainstHealth = false;

  constructor(code: "not_found" | "unauthorized", extra: Extra = {}) {
    super(
      code === "not_found"
        ? "the model's address answers 404: check the base URL and the model's name in the profile"
        : "the model's server refuses our key: check the key and the gateway headers of the profile",
      extra,
    );
    this.code = code;
  }
}

/** The whole output budget went into thinking. Only a larger limit, or less thinking, can help. */
export class OutputBudgetExhausted extends ModelFailure {
  readonly code = "output_budget_exhausted";
  readonly retryable = false;
  readonly countsAgainstHealth = false;

  constructor(extra: Extra = {}) {
    super("the output limit was reached before any visible text; raise maxOutputTokens", extra);
  }
}

/** The settings of a profile can't be understood. Thrown at start, before any call. */
export class ModelSettingsInvalid extends Failure {
  readonly code = "model_settings_invalid";
  readonly retryable = false;
}
