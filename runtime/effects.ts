import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Chance, Clock } from "../machines/effects.ts";

export const realClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: async (ms, signal) => {
    await delay(ms, undefined, signal ? { signal } : {});
  },
  every: (ms, run) => {
    const timer = setInterval(run, ms);
    timer.unref();
    return () => clearInterval(timer);
  },
};

export const realChance: Chance = { uuid: () => randomUUID(), fraction: () => Math.random() };
