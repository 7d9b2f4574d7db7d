import { Failure } from "../machines/failure.ts";
import type { Ends } from "./ends.ts";
import { type Stats, summarize } from "./statistics.ts";

/** The bench could not measure what it asks. The message says why; nothing of it counts. */
export class BenchFailed extends Failure {
  readonly code = "bench_failed";
  readonly retryable = false;
}

export type Unit = "ms" | "bytes";

/** What the same run measured of the machine itself, and how many times that the figure may cost. */
export type Limit = { readonly what: string; readonly budget?: number } & (
  | { readonly p50: number }
  /** Where the slow ones are what is asked for. */
  | { readonly p95: number }
);

/** One measured thing beside its physical limit. `ratio` is p50 to p50, or p95 to p95, as the limit has it. */
export type Figure = {
  readonly what: string;
  readonly unit: Unit;
  readonly stats: Stats;
  readonly limit?: Limit & { readonly ratio: number; readonly within?: boolean };
};

/** Something counted or found out, in words. */
export type Fact = { readonly what: string; readonly value: string };

export type Report = { readonly figures: readonly Figure[]; readonly facts: readonly Fact[] };

export type Setup = {
  readonly samples: number;
  /** What must end when the bench does, or is interrupted. */
  readonly ends: Ends;
  /** One line of progress, for a person who waits. */
  readonly say: (line: string) => void;
};

/** A bench asks one question. `samples` is how often it measures when nobody says otherwise. */
export type Bench = {
  readonly name: string;
  readonly question: string;
  readonly samples: number;
  run(setup: Setup): Promise<Report>;
};

export function figure(what: string, unit: Unit, values: readonly number[], limit?: Limit): Figure {
  const stats = summarize(values);
  if (limit === undefined) return { what, unit, stats };
  const ratio = "p95" in limit ? stats.p95 / limit.p95 : stats.p50 / limit.p50;
  const within = limit.budget === undefined ? {} : { within: ratio <= limit.budget };
  return { what, unit, stats, limit: { ...limit, ratio, ...within } };
}

/** Milliseconds that `work` took. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

/** Rejects with `BenchFailed` when `work` has no answer after `ms`. */
export async function within<T>(ms: number, what: string, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new BenchFailed(`${what}: nothing after ${ms / 1000} s`)), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
