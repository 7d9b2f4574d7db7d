import { Failure, failureCode } from "../../machines/failure.ts";

/** A request that the platform understands and declines. The message is written for the model: short, ids only. */
export class Refusal extends Failure {
  readonly code = "refused";
  readonly retryable = false;
}

/** What a log may hold of an error: its code and class, never its message, which may quote what was stored. */
export function errorFields(error: unknown): { code: string; error: string } {
  return { code: failureCode(error), error: error instanceof Error ? error.name : typeof error };
}
