import { Failure } from "../machines/failure.ts";
import type { ErrorCode } from "../machines/protocol/signals.ts";

/** The command breaks a limit of `session_opened.limits` and was not sent. */
export class LimitExceeded extends Failure {
  readonly code: "text_too_long" | "frame_too_large" | "too_many_commands";
  readonly retryable: boolean;
  readonly limit: number;
  constructor(code: LimitExceeded["code"], limit: number) {
    super(LIMIT_WORDS[code](limit));
    this.code = code;
    this.limit = limit;
    this.retryable = code === "too_many_commands";
  }
}

const LIMIT_WORDS = {
  text_too_long: (limit: number) => `the message is longer than ${limit} bytes; shorten it`,
  frame_too_large: (limit: number) => `the command is larger than ${limit} bytes; send less at once`,
  too_many_commands: (limit: number) => `more than ${limit} commands a second; wait a moment`,
};

/** The server answered the command with `error`. */
export class CommandRefused extends Failure {
  readonly code: ErrorCode;
  readonly retryable: boolean;
  constructor(code: ErrorCode, message: string) {
    super(message);
    this.code = code;
    this.retryable = RETRYABLE.has(code);
  }
}

const RETRYABLE: ReadonlySet<ErrorCode> = new Set(["rate_limited", "draining", "queue_full", "unavailable"]);

/** The connection ended before the command was answered. It may or may not have been carried out. */
export class ConnectionEnded extends Failure {
  readonly code = "connection_ended";
  readonly retryable = false;
}

/** The server could not be reached, or what answered is not Dormouse. */
export class Unreachable extends Failure {
  readonly code = "unreachable";
  readonly retryable = true;
}

/** An HTTP route answered with an error. `code` is the server's own where it gave one. */
export class HttpRefused extends Failure {
  readonly code: string;
  readonly retryable: boolean;
  readonly status: number;
  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
    this.retryable = status === 503 || status === 429;
  }
}

/** The loop over a conversation can't go on: `code` says why. A new login, or another session, needs a new conversation. */
export class ConversationEnded extends Failure {
  readonly code: "login_required" | "origin_refused" | "not_yours" | "not_found";
  readonly retryable = false;
  constructor(code: ConversationEnded["code"], message: string) {
    super(message);
    this.code = code;
  }
}
