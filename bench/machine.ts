import { execFileSync } from "node:child_process";
import { statfsSync } from "node:fs";
import { arch, cpus, loadavg, platform, release, totalmem } from "node:os";
import { packageRoot } from "../skills/package-root.ts";

/** One line: what was measured on. The load tells how far the numbers can be trusted. */
export function machineLine(): string {
  const all = cpus();
  const memory = `${Math.round(totalmem() / 1024 ** 3)} GiB`;
  const load = loadavg()[0]?.toFixed(1) ?? "?";
  const model = all[0]?.model.trim() ?? "unknown processor";
  return `${platform()} ${release()} ${arch()}, ${all.length} × ${model}, ${memory}, load ${load}, Node ${process.versions.node}`;
}

/** The commit that runs, with a mark when files differ from it; a word when there is no repository. */
export function commitLine(): string {
  try {
    const git = (...args: string[]) =>
      execFileSync("git", args, { cwd: packageRoot(), encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
    const changed = git("status", "--porcelain") === "" ? "" : " with changes";
    return `${git("rev-parse", "--short", "HEAD")}${changed}`;
  } catch {
    return "not in a repository";
  }
}

const TMPFS = 0x01021994;

/** Whether a folder lies in memory, where a durable write costs nothing. */
export function isInMemory(folder: string): boolean {
  return statfsSync(folder).type === TMPFS;
}
