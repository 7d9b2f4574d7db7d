import type { Clock } from "../../machines/effects.ts";
import { StoreUnavailable } from "../../persistence/store.ts";

/**
 * This node's right to start something for a session, by its own monotonic clock. The database decides who owns a
 * session; the lease only keeps an owner that can't reach the database from starting work another may repeat.
 */
export class Lease {
  readonly #ms: number;
  readonly #clock: Clock;
  #until: number;
  #renewed: (() => void) | undefined;
  #waiting: Promise<void> | undefined;

  constructor(ms: number, clock: Clock) {
    this.#ms = ms;
    this.#clock = clock;
    this.#until = clock.monotonic() + ms;
  }

  /** The database extended the lease; `asked` is when the statement was sent. */
  extended(asked: number): void {
    this.#until = Math.max(this.#until, asked + this.#ms);
    this.#renewed?.();
    this.#renewed = undefined;
    this.#waiting = undefined;
  }

  /** In the last third nothing new starts. */
  get isSafe(): boolean {
    return this.#until - this.#clock.monotonic() > this.#ms / 3;
  }

  /** Resolves at once in the first two thirds; later it waits for a renewal, for one lease at most. */
  async hold(signal: AbortSignal): Promise<void> {
    if (this.isSafe) return;
    this.#waiting ??= new Promise((resolve) => {
      this.#renewed = resolve;
    });
    const stop = new AbortController();
    const bound = AbortSignal.any([signal, stop.signal]);
    const late = this.#clock.sleep(this.#ms, bound).then(() => {
      throw new StoreUnavailable(new Error("the lease was not renewed in time"));
    });
    try {
      await Promise.race([this.#waiting, late]);
    } finally {
      stop.abort();
      late.catch(() => undefined);
    }
  }
}
