import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { afterEach, expect, test } from "vitest";
import { stopPostmaster } from "./postmaster.ts";
import { isRunning, markOf } from "./process-mark.ts";

const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});

const bounds = { fastMs: 150, immediateMs: 150 };

test.each([
  ["a fast shutdown is tried first", "trap 'exit 1' INT; trap 'exit 2' QUIT", [1, null]],
  ["one that takes too long becomes an immediate one", "trap '' INT; trap 'exit 2' QUIT", [2, null]],
  ["one that does not end at all is killed", "trap '' INT QUIT", [null, "SIGKILL"]],
])("stop: %s", async (_, traps, ending) => {
  const child = spawn("/bin/sh", ["-c", `${traps}; echo ready; while :; do sleep 0.02; done`]);
  children.push(child);
  await once(child.stdout, "data");
  const exit = once(child, "exit");
  const mark = markOf(child.pid ?? 0);
  await stopPostmaster(mark, bounds);
  expect([await exit, isRunning(mark)]).toEqual([ending, false]);
});

test("stop never signals a process that only has the number of the one that was meant", async () => {
  const child = spawn("sleep", ["600"], { stdio: "ignore" });
  children.push(child);
  await once(child, "spawn");
  const { pid, started } = markOf(child.pid ?? 0);
  await stopPostmaster({ pid, started: `${started}0` }, bounds);
  expect(isRunning({ pid, started })).toBe(started !== null);
});
