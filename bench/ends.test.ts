import { expect, test } from "vitest";
import { Ends } from "./ends.ts";

test("everything ends, last first, and what can't be ended is said", async () => {
  const ended: string[] = [];
  const ends = new Ends();
  ends.add("database", () => ended.push("database"));
  ends.add("node", () => {
    throw new TypeError("it hangs");
  });
  ends.add("client", async () => ended.push("client"));
  expect(await ends.closeAll()).toEqual(["node could not be ended: it hangs"]);
  expect(ended).toEqual(["client", "database"]);
});

test("what was ended early is not ended again", async () => {
  const ended: string[] = [];
  const ends = new Ends();
  const now = ends.add("node", () => ended.push("node"));
  await now();
  await now();
  await ends.closeAll();
  expect(ended).toEqual(["node"]);
});

test("what starts while everything ends is ended too", async () => {
  const ended: string[] = [];
  const ends = new Ends();
  ends.add("late", async () => {
    ends.add("child", () => ended.push("child"));
  });
  await ends.closeAll();
  expect(ended).toEqual(["child"]);
});

test("after an interrupt nothing that still starts stays", async () => {
  const ended: string[] = [];
  const ends = new Ends();
  await ends.shut();
  ends.add("node", () => ended.push("node"));
  expect(ended).toEqual(["node"]);
});
