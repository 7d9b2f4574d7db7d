/** Time and chance as ports: the real ones are made in a composition root, tests bring their own. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Milliseconds that never jump; only differences mean something. */
  monotonic(): number;
  /** Resolves after `ms`; rejects with the signal's reason when it aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls `run` every `ms` until the returned function is called. Does not keep the process alive. */
  every(ms: number, run: () => void): () => void;
  /** Calls `run` once, in order, when what the event loop has at hand was processed: it gathers what comes in one packet. */
  soon(run: () => void): void;
}

export interface Chance {
  uuid(): string;
  /** At least 0, under 1. */
  fraction(): number;
}
