import type { Clock } from "../../machines/effects.ts";

/** An event loop that is turned by hand: what was asked for soon waits for `turn`. */
export class HeldLoop {
  #waiting: (() => void)[] = [];

  readonly soon: Clock["soon"] = (run) => {
    this.#waiting.push(run);
  };

  get isIdle(): boolean {
    return this.#waiting.length === 0;
  }

  /** Runs what waits now, in order; what that asks for waits for the next turn. */
  turn(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const run of waiting) run();
  }
}
