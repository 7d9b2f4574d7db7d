import type { Clock } from "../../../machines/effects.ts";
import { HeldLoop } from "../../testing/held-loop.ts";

type Timer = { at: number; readonly run: () => void; readonly every?: number };

const START = Date.UTC(2030, 0, 1);

/** The time of a simulated world, in milliseconds since its beginning. It moves only when it is told to. */
export class Time {
  readonly #clocks = new Set<StepClock>();
  passed = 0;

  /** Milliseconds since 1970. */
  get now(): number {
    return START + this.passed;
  }

  clock(): StepClock {
    const clock = new StepClock(this);
    this.#clocks.add(clock);
    return clock;
  }

  /** When the next timer of any clock that runs is due. */
  get next(): number | undefined {
    const times = [...this.#clocks].flatMap((clock) => clock.due ?? []);
    return times.length > 0 ? Math.min(...times) : undefined;
  }

  advance(ms: number): void {
    this.passed += ms;
    for (const clock of this.#clocks) clock.ring();
  }

  /** The event loop of every process that runs goes round once. */
  turn(): void {
    for (const clock of this.#clocks) clock.turn();
  }
}

/** One process's clock: stands still while the process is frozen, and is silent for good when it died. */
export class StepClock implements Clock {
  readonly #time: Time;
  readonly #timers = new Set<Timer>();
  readonly #loop = new HeldLoop();
  state: "runs" | "frozen" | "dead" = "runs";

  constructor(time: Time) {
    this.#time = time;
  }

  readonly now = (): number => this.#time.now;
  readonly monotonic = (): number => this.#time.passed;

  readonly sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      const stop = () => {
        this.#timers.delete(timer);
        reject(signal?.reason);
      };
      const timer: Timer = {
        at: this.#time.passed + ms,
        run: () => {
          signal?.removeEventListener("abort", stop);
          resolve();
        },
      };
      if (signal?.aborted) return reject(signal.reason);
      signal?.addEventListener("abort", stop, { once: true });
      this.#timers.add(timer);
    });

  readonly every = (ms: number, run: () => void): (() => void) => {
    const timer: Timer = { at: this.#time.passed + ms, run, every: ms };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  };

  readonly soon: Clock["soon"] = this.#loop.soon;

  turn(): void {
    if (this.state === "runs") this.#loop.turn();
  }

  get due(): number | undefined {
    if (this.state !== "runs" || this.#timers.size === 0) return undefined;
    return Math.min(...[...this.#timers].map((timer) => timer.at));
  }

  /** Runs what is due, earliest first. */
  ring(): void {
    for (;;) {
      if (this.state !== "runs") return;
      const due = [...this.#timers].filter((timer) => timer.at <= this.#time.passed).sort((a, b) => a.at - b.at)[0];
      if (due === undefined) return;
      if (due.every === undefined) this.#timers.delete(due);
      else due.at = this.#time.passed + due.every;
      due.run();
    }
  }
}
