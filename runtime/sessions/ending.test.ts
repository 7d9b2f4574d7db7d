import { describe, expect, test } from "vitest";
import type { Port } from "../../machines/ports.ts";
import { endingWith } from "./ending.ts";

const until: Port<void, never> = (_, signal) =>
  new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));

describe("ports of a resident", () => {
  test("[EP1] a port ends when its state is left, and when the resident is over; none begins after that", async () => {
    const [over, first, second] = [new AbortController(), new AbortController(), new AbortController()];
    const ending = endingWith(over.signal);
    const begun: string[] = [];
    const port = ending<string, never>((name, signal) => {
      begun.push(name);
      return until(undefined, signal);
    });
    const running = [port("first", first.signal), port("second", second.signal)];
    first.abort("left");
    over.abort("over");
    const ends = await Promise.allSettled([...running, port("third", new AbortController().signal)]);
    expect([ends.map((end) => end.status === "rejected" && end.reason), begun]).toEqual([
      ["left", "over", "over"],
      ["first", "second"],
    ]);
  });

  test("[EP1] a port whose state was left before it began is told so at once, with the reason", async () => {
    const told: unknown[] = [];
    const port = endingWith(new AbortController().signal)<void, void>(async (_, signal) => {
      told.push(signal.aborted, signal.reason);
    });
    await port(undefined, AbortSignal.abort("left"));
    expect(told).toEqual([true, "left"]);
  });

  test.each(["over", "left"] as const)(
    "[EP2] what a port gives is given, and one that has ended hears nothing of %s any more",
    async (which) => {
      const signals = { over: new AbortController(), left: new AbortController() };
      let heard = false;
      const port = endingWith(signals.over.signal)<number, number>(async (given, signal) => {
        signal.addEventListener("abort", () => {
          heard = true;
        });
        return given + 1;
      });
      const given = await port(1, signals.left.signal);
      signals[which].abort();
      expect([given, heard]).toEqual([2, false]);
    },
  );
});
