import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test, vi } from "vitest";
import { runningPostmaster } from "../embedded/postmaster.ts";
import { isRunning, markOf } from "../embedded/process-mark.ts";
import { startTestServer } from "./server.ts";
import { PREFIX, sweep } from "./sweep.ts";

const children: ChildProcess[] = [];
const folders: string[] = [];
afterEach(async () => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

test("a stopped test server leaves neither a process nor a folder", async () => {
  const server = await startTestServer();
  const postmaster = runningPostmaster(join(server.folder, "home", "data"));
  expect(postmaster && isRunning(postmaster.mark)).toBe(true);
  await server.stop();
  expect(postmaster && isRunning(postmaster.mark)).toBe(false);
  expect(await names(dirname(server.folder))).not.toContain(server.folder);
});

test("a run that is killed takes its server with it", async () => {
  const { child, folder } = await startInChild();
  const postmaster = runningPostmaster(join(folder, "home", "data"));
  expect(postmaster && isRunning(postmaster.mark)).toBe(true);
  child.kill("SIGKILL");
  await vi.waitFor(async () => expect(await names(dirname(folder))).not.toContain(folder), { timeout: 15_000 });
  expect(postmaster && isRunning(postmaster.mark)).toBe(false);
});

test("a sweep removes what a dead run left, and nothing of a living one or of somebody else", async () => {
  const base = await mkdtemp(join(tmpdir(), "dormouse-sweep-"));
  folders.push(base);
  await chmod(base, 0o711);
  const dead = spawn("sleep", ["600"], { stdio: "ignore" });
  await once(dead, "spawn");
  const owners = { dead: markOf(dead.pid ?? 0), living: markOf(process.pid) };
  dead.kill("SIGKILL");
  await once(dead, "exit");
  for (const [name, owner] of Object.entries(owners)) {
    await mkdir(join(base, `${PREFIX}${name}`));
    await writeFile(join(base, `${PREFIX}${name}`, "owner.json"), JSON.stringify(owner));
  }
  await mkdir(join(base, `${PREFIX}unfinished`));
  await mkdir(join(base, "other"));
  await sweep(base);
  expect((await readdir(base)).sort()).toEqual([`${PREFIX}living`, `${PREFIX}unfinished`, "other"]);
});

test("a sweep ends the server of a run that was killed together with its guard", async () => {
  const { child, folder, guardPid } = await startInChild();
  const postmaster = runningPostmaster(join(folder, "home", "data"));
  process.kill(guardPid, "SIGKILL");
  child.kill("SIGKILL");
  await once(child, "exit");
  expect(postmaster && isRunning(postmaster.mark)).toBe(true);
  await sweep(dirname(folder));
  expect(postmaster && isRunning(postmaster.mark)).toBe(false);
  expect(await names(dirname(folder))).not.toContain(folder);
});

async function startInChild(): Promise<{ child: ChildProcess; folder: string; guardPid: number }> {
  const script = fileURLToPath(new URL("./server.child.ts", import.meta.url));
  const child = spawn(process.execPath, ["--import", "tsx", script], { stdio: ["ignore", "pipe", "inherit"] });
  children.push(child);
  const [line] = await once(child.stdout, "data");
  return { child, ...JSON.parse(String(line)) };
}

async function names(base: string): Promise<string[]> {
  return (await readdir(base)).map((name) => join(base, name));
}
