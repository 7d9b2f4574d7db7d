import { randomUUID } from "node:crypto";
import type { Chance, Clock } from "../machines/effects.ts";

export const realClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  // Not that of node:timers/promises: it makes an exception with a stack trace for each sleep that is cut short.
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      const wake = () => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener("abort", wake);
        resolve();
      }, ms);
      signal?.addEventListener("abort", wake, { once: true });
    }),
  every: (ms, run) => {
    const timer = setInterval(run, ms);
    timer.unref();
    return () => clearInterval(timer);
  },
  soon: (run) => void setImmediate(run),
};

export const realChance: Chance = { uuid: () => randomUUID(), fraction: () => Math.random() };
