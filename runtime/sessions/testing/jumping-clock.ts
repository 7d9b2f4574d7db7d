import type { Clock } from "../../../machines/effects.ts";
import { realClock } from "../../effects.ts";

type Sleeper = { readonly at: number; readonly wake: () => void };

/** A real clock that can be moved forward: whoever sleeps past the new time wakes at once. */
export class JumpingClock implements Clock {
  #ahead = 0;
  readonly #sleepers = new Set<Sleeper>();

  readonly now = (): number => realClock.now() + this.#ahead;
  readonly monotonic = (): number => realClock.monotonic() + this.#ahead;
  readonly every: Clock["every"] = (ms, run) => realClock.every(ms, run);
  readonly soon: Clock["soon"] = (run) => realClock.soon(run);

  readonly sleep = async (ms: number, signal?: AbortSignal): Promise<void> => {
    signal?.throwIfAborted();
    const woken = new AbortController();
    const sleeper: Sleeper = { at: this.monotonic() + ms, wake: () => woken.abort() };
    this.#sleepers.add(sleeper);
    const either = signal ? AbortSignal.any([signal, woken.signal]) : woken.signal;
    try {
      await realClock.sleep(ms, either);
    } catch (error) {
      if (!woken.signal.aborted) throw error;
    } finally {
      this.#sleepers.delete(sleeper);
    }
  };

  jump(ms: number): void {
    this.#ahead += ms;
    for (const sleeper of this.#sleepers) if (sleeper.at <= this.monotonic()) sleeper.wake();
  }
}
