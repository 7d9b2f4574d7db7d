import { expect, test } from "vitest";
import type { Store } from "../../persistence/store.ts";
import { type Span, stagesOf, timedStore } from "./stopwatch.ts";

test("each moment counts for one stage: a settlement that waits for an append is still a settlement", () => {
  const spans: Span[] = [
    { op: "inbox.admit", from: 1, to: 3 },
    { op: "histories.append", from: 4, to: 7 },
    { op: "histories.settle", from: 6, to: 9 },
    { op: "calls.record", from: 0, to: 10 },
    { op: "histories.append", from: 9.5, to: 30 },
  ];
  expect(stagesOf(spans, 0, 10)).toEqual({ admit: 2, thaw: 0, settle: 3, append: 2.5, program: 2.5 });
});

test("a turn without statements is all program", () => {
  expect(stagesOf([], 5, 8)).toEqual({ admit: 0, thaw: 0, settle: 0, append: 0, program: 3 });
});

test("a timed store answers as before, and tells of calls that fail too", async () => {
  const spans: string[] = [];
  const nodes = {
    beat: async () => {},
    others: async () => ["other"],
    leave: async () => {
      throw new TypeError("gone");
    },
  };
  const store = timedStore({ nodes } as unknown as Store, ({ op }) => spans.push(op));
  expect(await store.nodes.others("" as never, 1)).toEqual(["other"]);
  await expect(store.nodes.leave("" as never)).rejects.toEqual(new TypeError("gone"));
  expect(spans).toEqual(["nodes.others", "nodes.leave"]);
});
