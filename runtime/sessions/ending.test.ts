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

  test("[EP2] what a port gives is given, and one that has ended hears of nothing any more", async () => {
    const over = new AbortController();
    let heard = false;
    const port = endingWith(over.signal)<number, number>(async (given, signal) => {
      signal.addEventListener("abort", () => {
        heard = true;
      });
      return given + 1;
    });
    const given = await port(1, new AbortController().signal);
    over.abort();
    expect([given, heard]).toEqual([2, false]);
  });
});
