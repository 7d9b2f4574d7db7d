/** Time as the tools see it: milliseconds since the epoch, and one-shot alarms. */
export type Clock = {
  now(): number;
  /** Runs `ring` after `ms`; the returned function takes it back. */
  schedule(ms: number, ring: () => void): () => void;
};

/** The machine's clock. Its alarms keep no process alive. */
export const systemClock: Clock = {
  now: () => Date.now(),
  schedule(ms, ring) {
    const alarm = setTimeout(ring, ms).unref();
    return () => clearTimeout(alarm);
  },
};
