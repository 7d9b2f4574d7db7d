import { expect, test } from "vitest";
import { median, percentile, summarize } from "./statistics.ts";

const hundred = Array.from({ length: 100 }, (_, at) => 100 - at);

test("a percentile is a value that was measured, whatever the order", () => {
  const shares = [0, 0.01, 0.5, 0.95, 0.99, 1];
  expect(shares.map((share) => percentile(hundred, share))).toEqual([1, 1, 50, 95, 99, 100]);
});

test("a summary of few measurements is those measurements", () => {
  expect(summarize([7])).toEqual({ count: 1, p50: 7, p95: 7, p99: 7, min: 7, max: 7 });
  expect(summarize([3, 1, 2])).toEqual({ count: 3, p50: 2, p95: 3, p99: 3, min: 1, max: 3 });
});

test("measurements are sorted as numbers, and are left as they are", () => {
  const given = [10, 9, 100];
  expect(median(given)).toBe(10);
  expect(given).toEqual([10, 9, 100]);
});

test("no measurement has no percentile", () => {
  expect(() => summarize([])).toThrow(new RangeError("a percentile needs at least one measurement"));
});
