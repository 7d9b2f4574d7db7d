import type { Timers } from "../timers.ts";

export type ManualTimers = Timers & {
  /** Lets time pass and runs what falls due, in order. */
  advance(ms: number): void;
  /** Timers that wait. */
  waiting(): number;
};

/** Time that stands still until a test moves it. */
export function manualTimers(start = Date.parse("2026-01-01T00:00:00Z")): ManualTimers {
  const timers = new Map<number, { readonly at: number; readonly run: () => void }>();
  let now = start;
  let nextId = 1;
  return {
    now: () => now,
    after(ms, run) {
      const id = nextId++;
      timers.set(id, { at: now + ms, run });
      return () => void timers.delete(id);
    },
    advance(ms) {
      const end = now + ms;
      for (;;) {
        const [due] = [...timers].filter(([, timer]) => timer.at <= end).sort(([, a], [, b]) => a.at - b.at);
        if (due === undefined) break;
        timers.delete(due[0]);
        now = Math.max(now, due[1].at);
        due[1].run();
      }
      now = end;
    },
    waiting: () => timers.size,
  };
}
