import type { Chance } from "../../../machines/effects.ts";

/** Chance from a seed: the same seed gives the same life. */
export class Random implements Chance {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  readonly fraction = (): number => {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };

  /** A whole number of at least 0, under `end`. */
  below(end: number): number {
    return Math.floor(this.fraction() * end);
  }

  happens(probability: number): boolean {
    return this.fraction() < probability;
  }

  readonly uuid = (): string => {
    const hex = Array.from({ length: 32 }, () => this.below(16).toString(16)).join("");
    return [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20)].join(
      "-",
    );
  };

  /** One of `options`, each as likely as its weight says. */
  weighted<T>(options: readonly (readonly [weight: number, option: T])[]): T {
    let left = this.fraction() * options.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, option] of options) {
      left -= weight;
      if (left < 0) return option;
    }
    const last = options.at(-1);
    if (last === undefined) throw new RangeError("nothing to choose from");
    return last[1];
  }

  one<T>(options: readonly T[]): T {
    return this.weighted(options.map((option) => [1, option] as const));
  }
}
