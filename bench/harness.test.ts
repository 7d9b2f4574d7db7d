import { expect, test } from "vitest";
import { BenchFailed, figure, within } from "./harness.ts";
import { render } from "./table.ts";

test("a figure stands beside its limit, as a ratio of the medians", () => {
  const limit = { what: "one durable insert", p50: 2, budget: 6 };
  expect(figure("turn", "ms", [9, 10, 30], limit)).toEqual({
    what: "turn",
    unit: "ms",
    stats: { count: 3, p50: 10, p95: 30, p99: 30, min: 9, max: 30 },
    limit: { ...limit, ratio: 5, within: true },
  });
  expect(figure("turn", "ms", [13], limit).limit).toEqual({ ...limit, ratio: 6.5, within: false });
  expect(figure("turn", "ms", [13], { what: "echo", p50: 1 }).limit).toEqual({ what: "echo", p50: 1, ratio: 13 });
});

test("a figure can be held to the slow ones: p95 beside p95", () => {
  const limit = { what: "without jobs", p95: 20, budget: 1.5 };
  const held = figure("first delta", "ms", [10, 11, 30], limit);
  expect(held.limit).toEqual({ ...limit, ratio: 1.5, within: true });
  expect(figure("first delta", "ms", [10, 11, 31], limit).limit).toEqual({ ...limit, ratio: 1.55, within: false });
  expect(render({ figures: [held], facts: [] })).toEqual([
    "                  p50       p95       p99  n  beside                     ratio  budget",
    "first delta  11.00 ms  30.00 ms  30.00 ms  3  p95 without jobs 20.00 ms  1.50×  1.5× PASS",
  ]);
});

test("the report names figure, limit, ratio and verdict", () => {
  const figures = [
    figure("turn", "ms", [12], { what: "one durable insert", p50: 4, budget: 6 }),
    figure("turn at 200", "ms", [40], { what: "one durable insert", p50: 4, budget: 6 }),
    figure("resident", "bytes", [2048]),
  ];
  expect(render({ figures, facts: [{ what: "statements", value: "6" }] })).toEqual([
    "                  p50       p95       p99  n  beside                       ratio  budget",
    "turn         12.00 ms  12.00 ms  12.00 ms  1  one durable insert 4.00 ms   3.00×  6× PASS",
    "turn at 200  40.00 ms  40.00 ms  40.00 ms  1  one durable insert 4.00 ms  10.00×  6× over",
    "resident      2.0 KiB   2.0 KiB   2.0 KiB  1",
    "statements: 6",
  ]);
});

test("a wait that gets no answer says what was waited for", async () => {
  await expect(within(1, "the node", new Promise(() => {}))).rejects.toEqual(
    new BenchFailed("the node: nothing after 0.001 s"),
  );
  expect(await within(1_000, "the node", Promise.resolve(7))).toBe(7);
});
