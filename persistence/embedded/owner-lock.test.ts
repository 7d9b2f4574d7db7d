import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { DataDirInUse, EmbeddedStartFailed } from "./failures.ts";
import { lockFolder } from "./owner-lock.ts";
import { isRunning, markOf, type ProcessMark } from "./process-mark.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

test("a folder has one owner at a time; release frees it and leaves nothing behind", () => {
  const folder = newFolder();
  const first = lockFolder(folder);
  expect(() => lockFolder(folder)).toThrow(DataDirInUse);
  expect(() => lockFolder(folder)).toThrow(`${folder} is in use by process ${process.pid}`);
  first.release();
  const second = lockFolder(folder);
  first.release();
  expect(readdirSync(folder)).toEqual(["owner.json"]);
  second.release();
  expect(readdirSync(folder)).toEqual([]);
});

test("a dead owner, and one whose number another process has now, give way", async () => {
  for (const stale of [await deadMark(), { pid: process.pid, started: "boot:0" }]) {
    const folder = newFolder();
    writeFileSync(join(folder, "owner.json"), JSON.stringify({ ...stale, token: "t" }));
    const lock = lockFolder(folder);
    const { pid, started } = JSON.parse(readFileSync(join(folder, "owner.json"), "utf8"));
    expect({ pid, started }).toEqual(markOf(process.pid));
    expect(readdirSync(folder)).toEqual(["owner.json"]);
    lock.release();
  }
});

test("a claim that a killed process left on a dead owner does not block the folder", async () => {
  const folder = newFolder();
  const dead = await deadMark();
  writeFileSync(join(folder, "owner.json"), JSON.stringify({ ...dead, token: "one" }));
  writeFileSync(join(folder, "owner.one.claim"), JSON.stringify({ ...dead, token: "two" }));
  lockFolder(folder).release();
  expect(readdirSync(folder)).toEqual([]);
});

test("while a living process holds the claim on a dead owner, nobody else takes the folder", async () => {
  const folder = newFolder();
  writeFileSync(join(folder, "owner.json"), JSON.stringify({ ...(await deadMark()), token: "one" }));
  writeFileSync(join(folder, "owner.one.claim"), JSON.stringify({ ...markOf(process.pid), token: "two" }));
  expect(() => lockFolder(folder)).toThrow(DataDirInUse);
});

test("a damaged owner file is not guessed at", () => {
  const folder = newFolder();
  writeFileSync(join(folder, "owner.json"), "{");
  expect(() => lockFolder(folder)).toThrow(EmbeddedStartFailed);
});

test("a mark tells a living process from a dead one", async () => {
  const child = spawn("sleep", ["600"], { stdio: "ignore" });
  await once(child, "spawn");
  const mark = markOf(child.pid ?? 0);
  expect(isRunning(mark)).toBe(true);
  child.kill("SIGKILL");
  await once(child, "exit");
  expect(isRunning(mark)).toBe(false);
});

test("a zombie does not run", async () => {
  // The shell becomes a program that never asks for its dead child.
  const parent = spawn("/bin/sh", ["-c", "sleep 0.05 & echo $!; exec sleep 600"]);
  try {
    const [line] = await once(parent.stdout, "data");
    const mark = markOf(Number(line));
    await vi.waitFor(() => expect(isRunning(mark)).toBe(false));
    expect(isRunning(markOf(mark.pid))).toBe(false);
  } finally {
    parent.kill("SIGKILL");
  }
});

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "dormouse-lock-"));
  folders.push(folder);
  return folder;
}

async function deadMark(): Promise<ProcessMark> {
  const child = spawn("sleep", ["600"], { stdio: "ignore" });
  await once(child, "spawn");
  const mark = markOf(child.pid ?? 0);
  child.kill("SIGKILL");
  await once(child, "exit");
  return mark;
}
