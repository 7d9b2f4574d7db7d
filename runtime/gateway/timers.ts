/** Time as the gateway uses it. `after` gives a function that calls the timer off. Milliseconds. */
export type Timers = {
  now(): number;
  after(ms: number, run: () => void): () => void;
};

export const systemTimers: Timers = {
  now: () => Date.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};
