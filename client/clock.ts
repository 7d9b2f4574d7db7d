/** Time as the library needs it. Tests pass one that stands still. */
export interface Clock {
  /** Milliseconds since some fixed moment. */
  now(): number;
  /** Calls `run` once after `ms`; the returned function takes that back. */
  after(ms: number, run: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};

const FIRST_MS = 500;
const LONGEST_MS = 15_000;

/** How long to wait before attempt `attempt` (1 is the first repeat): doubling, half of it random. */
export function backoffMs(attempt: number, random: () => number): number {
  const whole = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(attempt - 1, 10));
  return Math.round(whole / 2 + (whole / 2) * random());
}
