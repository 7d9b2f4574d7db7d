/**
 * An error the runtime expected. `code` is stable and documented; `retryable` is what machines branch on.
 *
 * The message is for the person who runs Dormouse: it says what to do and never holds a value from a conversation.
 */
export abstract class Failure extends Error {
  abstract readonly code: string;
  abstract readonly retryable: boolean;
  override get name(): string {
    return this.constructor.name;
  }
}

export function isRetryable(error: unknown): boolean {
  return error instanceof Failure && error.retryable;
}

/** The stable code of any error: a `Failure`'s own, else `internal`. Safe for logs, metrics and clients. */
export function failureCode(error: unknown): string {
  return error instanceof Failure ? error.code : "internal";
}

/** Closes a `switch` over a union: a member that was forgotten is a type error here. */
export function never(value: never): never {
  throw new TypeError(`unexpected case ${typeof value}`);
}
