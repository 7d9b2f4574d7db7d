import { Failure } from "../../machines/failure.ts";

/** A sealed value is not what was sealed for this place: changed, cut, moved, or of another key. Names only the place. */
export class SealBroken extends Failure {
  readonly code = "integrity";
  readonly retryable = false;
  readonly place: string;
  constructor(place: string, reason: string, options?: ErrorOptions) {
    super(`sealed value at ${place} cannot be trusted: ${reason}`, options);
    this.place = place;
  }
}

/** A value names a key that the ring does not hold. */
export class UnknownKey extends Failure {
  readonly code = "unknown_key";
  readonly retryable = false;
  readonly keyId: string;
  constructor(place: string, keyId: string) {
    super(`sealed value at ${place} needs key "${keyId}": put it back into ENCRYPTION_KEYS, after the active one`);
    this.keyId = keyId;
  }
}

/** A value is too big to be sealed. */
export class SealTooLarge extends Failure {
  readonly code = "seal_too_large";
  readonly retryable = false;
}

/** The configured keys cannot be used. Lists every problem by position; never shows any part of an entry. */
export class BadKeys extends Failure {
  readonly code = "bad_encryption_keys";
  readonly retryable = false;
}
