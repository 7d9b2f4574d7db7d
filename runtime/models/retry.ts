import type { Model, ModelEvent } from "../../machines/model.ts";
import { ModelFailure, ModelUnavailable } from "./failures.ts";
import { pause, realTimers, type Timers } from "./timers.ts";

export type RetryOptions = {
  /** Wait before the second try: between half and the whole of this, in milliseconds. */
  readonly waitMs: number;
  /** A server that asks for more patience than this is left to failover. */
  readonly longestWaitMs: number;
  readonly timers?: Timers;
  /** 0 to 1. */
  readonly random?: () => number;
  /** Every failed try, also one that the second mends. */
  readonly onFailure?: (failure: ModelFailure, model: string, attempt: 1 | 2) => void;
};

export const RETRY_DEFAULTS = { waitMs: 500, longestWaitMs: 3_000 } as const;

const isShown = (event: ModelEvent): boolean => event.type === "text" || event.type === "thinking";

/**
 * The same model with one second try for failures that one may mend. Nobody sees the first try: what it had shown is
 * taken back by `reset` before the second shows anything. The second failure is thrown as it is.
 */
export function withRetry(model: Model, options: RetryOptions): Model {
  const { waitMs, longestWaitMs, timers = realTimers, random = Math.random, onFailure = () => {} } = options;

  /** The wait before a second try, or undefined when there is none. */
  function waitFor(failure: ModelFailure): number | undefined {
    if (!failure.retryable) return undefined;
    const asked = failure instanceof ModelUnavailable ? (failure.retryAfterMs ?? 0) : 0;
    const wait = Math.max(asked, waitMs * (0.5 + random() / 2));
    return wait > longestWaitMs ? undefined : wait;
  }

  return {
    name: model.name,
    issuer: model.issuer,
    window: model.window,
    projector: model.projector,
    async *stream(request, signal) {
      let shown = false;
      try {
        for await (const event of model.stream(request, signal)) {
          shown ||= isShown(event);
          yield event;
        }
        return;
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof ModelFailure)) throw error;
        onFailure(error, model.name, 1);
        const wait = waitFor(error);
        if (wait === undefined) throw error;
        await pause(timers, wait, signal);
      }
      if (shown) yield { type: "reset", reason: "retry" };
      try {
        yield* model.stream(request, signal);
      } catch (error) {
        if (error instanceof ModelFailure) onFailure(error, model.name, 2);
        throw error;
      }
    },
  };
}
