import { readFileSync, readlinkSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { isRunning, markOf, type ProcessMark } from "./process-mark.ts";

/** What `postmaster.pid` of a data folder says. */
export type PidFile = { readonly pid: number; readonly folder: string; readonly port: number; readonly status: string };

/** A running server of ours. */
export type Postmaster = { readonly mark: ProcessMark; readonly port: number };

const POLL_MS = 15;

/** Undefined when there is none, or it is not written in full yet. */
export function readPidFile(data: string): PidFile | undefined {
  let lines: string[];
  try {
    lines = readFileSync(join(data, "postmaster.pid"), "utf8").split("\n");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  const [pid = "", folder = "", , port = "", , , , status = ""] = lines;
  if (!/^\d+$/.test(pid) || !/^\d+$/.test(port)) return undefined;
  return { pid: Number(pid), folder, port: Number(port), status: status.trim() };
}

/** The process that the pid file names, when it is alive and really the server of this data folder. */
export function runningPostmaster(data: string): Postmaster | undefined {
  const file = readPidFile(data);
  if (!file) return undefined;
  const mark = markOf(file.pid);
  return isRunning(mark) && whatIs(file, data) === "our server" ? { mark, port: file.port } : undefined;
}

/** What the living process of a pid file is, as far as this system tells. */
export function whatIs(file: PidFile, data: string): "our server" | "another program" | "unknown" {
  if (process.platform !== "linux") return file.folder === data ? "our server" : "unknown";
  const answer = (yes: boolean) => (yes ? "our server" : "another program");
  try {
    // A server works in its data folder.
    return answer(readlinkSync(`/proc/${file.pid}/cwd`) === realpathSync(data));
  } catch {
    // Root in a container may not look at another user's folder; the command line is open to all.
    return orUnknown(() => answer(readFileSync(`/proc/${file.pid}/cmdline`, "utf8").includes(`\0-D\0${data}\0`)));
  }
}

function orUnknown<Answer>(look: () => Answer): Answer | "unknown" {
  try {
    return look();
  } catch {
    return "unknown";
  }
}

/** Resolves once the process is gone, with false when `withinMs` passed before. */
export async function gone(mark: ProcessMark, withinMs: number): Promise<boolean> {
  const deadline = performance.now() + withinMs;
  while (isRunning(mark)) {
    if (performance.now() > deadline) return false;
    await pause(POLL_MS);
  }
  return true;
}

/** Resolves with the server's state once it takes connections or has ended; "late" after `withinMs`. */
export async function settled(data: string, mark: ProcessMark, withinMs: number): Promise<"ready" | "ended" | "late"> {
  const deadline = performance.now() + withinMs;
  while (isRunning(mark)) {
    const file = readPidFile(data);
    if (file?.pid === mark.pid && file.status === "ready") return "ready";
    if (performance.now() > deadline) return "late";
    await pause(POLL_MS);
  }
  return "ended";
}

export type StopBounds = { readonly fastMs: number; readonly immediateMs: number };
const STOP_BOUNDS: StopBounds = { fastMs: 10_000, immediateMs: 5_000 };

/** Fast shutdown (sessions are cut, data flushed), then immediate (recovery at the next start), then SIGKILL. */
export async function stopPostmaster(mark: ProcessMark, bounds: StopBounds = STOP_BOUNDS): Promise<void> {
  if (signal(mark, "SIGINT") && (await gone(mark, bounds.fastMs))) return;
  if (signal(mark, "SIGQUIT") && (await gone(mark, bounds.immediateMs))) return;
  if (signal(mark, "SIGKILL")) await gone(mark, bounds.immediateMs);
}

/** False when the process is no more; never reaches another one that got its number. */
export function signal(mark: ProcessMark, name: "SIGINT" | "SIGQUIT" | "SIGKILL"): boolean {
  if (!isRunning(mark)) return false;
  try {
    process.kill(mark.pid, name);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
    throw error;
  }
}
