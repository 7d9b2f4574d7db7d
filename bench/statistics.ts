/** What is kept of a row of measurements, in their own unit. */
export type Stats = {
  readonly count: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly min: number;
  readonly max: number;
};

/** The value that `share` (0 to 1) of the measurements do not exceed: always one that was measured. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const at = Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1));
  const found = sorted[at];
  if (found === undefined) throw new RangeError("a percentile needs at least one measurement");
  return found;
}

export const median = (values: readonly number[]): number => percentile(values, 0.5);

/** Throws a `RangeError` for no measurements. */
export function summarize(values: readonly number[]): Stats {
  return {
    count: values.length,
    p50: percentile(values, 0.5),
    p95: percentile(values, 0.95),
    p99: percentile(values, 0.99),
    min: percentile(values, 0),
    max: percentile(values, 1),
  };
}
