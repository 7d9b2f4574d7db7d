/** Waiting, injected: tests turn the hands themselves. */
export interface Timers {
  /** Runs `then` after `ms` milliseconds unless the returned function is called first. */
  after(ms: number, then: () => void): () => void;
}

export const realTimers: Timers = {
  after(ms, then) {
    const timer = setTimeout(then, ms);
    return () => clearTimeout(timer);
  },
};

/** Resolves after `ms`; rejects at once with the signal's reason when it aborts. */
export function pause(timers: Timers, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const onAbort = () => {
      cancel();
      reject(signal.reason);
    };
    const cancel = timers.after(ms, () => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    });
    signal.addEventListener("abort", onAbort, { once: true });
  });
}
