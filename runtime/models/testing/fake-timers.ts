import type { Timers } from "../timers.ts";

/** Timers whose hands a test turns. */
export type FakeTimers = Timers & {
  /** Waits of what is set now, in milliseconds, oldest first. */
  pending(): readonly number[];
  /** Lets everything that is set now happen. */
  fire(): void;
};

export function fakeTimers(): FakeTimers {
  const set = new Map<symbol, { readonly ms: number; readonly then: () => void }>();
  return {
    after(ms, then) {
      const key = Symbol();
      set.set(key, { ms, then });
      return () => set.delete(key);
    },
    pending: () => [...set.values()].map(({ ms }) => ms),
    fire() {
      const due = [...set.entries()];
      for (const [key, { then }] of due) {
        set.delete(key);
        then();
      }
    },
  };
}
