import { expect, test } from "vitest";
import { textChangesIn, timeLeftText } from "./time-left.ts";

test("the time left is said in the unit that a person would use", () => {
  const all = [0, -5, 1, 1000, 59_001, 60_000, 12.9 * 60_000, 7_199_999, 7_200_000, 172_800_000].map(timeLeftText);
  expect(all).toEqual([
    "Expired",
    "Expired",
    "Expires in 1 s",
    "Expires in 1 s",
    "Expires in 60 s",
    "Expires in 1 min",
    "Expires in 12 min",
    "Expires in 119 min",
    "Expires in 2 h",
    "Expires in 2 days",
  ]);
});

test("looking again when the text changes, until it is over, misses no text", () => {
  let left = 90_500;
  const said: string[] = [];
  for (let wait = textChangesIn(left); wait !== undefined; wait = textChangesIn(left)) {
    said.push(timeLeftText(left));
    left -= wait;
  }
  const seconds = Array.from({ length: 60 }, (_, at) => `Expires in ${60 - at} s`);
  expect([...said, timeLeftText(left)]).toEqual(["Expires in 1 min", ...seconds, "Expired"]);
});
