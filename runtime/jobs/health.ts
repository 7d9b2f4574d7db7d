import type { Clock } from "../../machines/effects.ts";

/**
 * `code` is `jobs_starting` before the first answer, then `jobs_unreachable`, `jobs_login_refused` or `jobs_error`.
 * `sinceMs` is of the clock that never jumps.
 */
export type JobsHealth =
  | { readonly state: "ready" }
  | { readonly state: "degraded"; readonly code: string; readonly sinceMs: number };

/** Whether the far end answers, as its connections tell. */
export type Health = {
  now(): JobsHealth;
  ready(withinMs: number): Promise<JobsHealth>;
  isReady(): void;
  isAway(code: string): void;
};

export function healthOf(clock: Clock): Health {
  let health: JobsHealth = { state: "degraded", code: "jobs_starting", sinceMs: clock.monotonic() };
  const waiting = new Set<() => void>();

  return {
    now: () => health,

    isReady() {
      health = { state: "ready" };
      for (const wake of waiting) wake();
    },

    isAway(code) {
      const sinceMs = health.state === "ready" ? clock.monotonic() : health.sinceMs;
      health = { state: "degraded", code, sinceMs };
    },

    async ready(withinMs) {
      if (health.state === "ready") return health;
      // It would be waited for in vain.
      if (clock.monotonic() - health.sinceMs > withinMs) return health;
      const over = new AbortController();
      const woken = new Promise<void>((resolve) => {
        waiting.add(resolve);
        over.signal.addEventListener("abort", () => waiting.delete(resolve));
      });
      await Promise.race([woken, clock.sleep(withinMs, over.signal).catch(() => {})]);
      over.abort();
      return health;
    },
  };
}
