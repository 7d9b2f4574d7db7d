import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import postgres from "postgres";
import { type Postmaster, runningPostmaster, stopPostmaster } from "../postmaster.ts";
import { markOf, type ProcessMark } from "../process-mark.ts";
import type { Report } from "./start.child.ts";

export const isRoot = process.getuid?.() === 0;

export type Started = Extract<Report, { kind: "started" }>;
export type Failed = Extract<Report, { kind: "failed" }>;
export type Starter = {
  readonly pid: number;
  /** Lets the loaded child start its server; gives its report. */
  go(): Promise<Report>;
  /** Sends an order ("stop", "exit") and gives the exit code. */
  order(text: string): Promise<number | null>;
  kill(): Promise<void>;
};

type As = { readonly uid?: number; readonly gid?: number; readonly env?: Record<string, string> };

/** Temporary folders and processes of a test file; `clean` ends and removes all of them. */
export function startScene() {
  const folders: string[] = [];
  const children: ChildProcess[] = [];

  const scene = {
    /** A data folder that does not exist yet, in a parent that everybody may enter, or only its owner. */
    dataDir(mode = 0o711, owner?: number): string {
      const parent = mkdtempSync(join(tmpdir(), "dormouse-embedded-"));
      chmodSync(parent, mode);
      if (owner !== undefined) chownSync(parent, owner, owner);
      folders.push(parent);
      return join(parent, "data");
    },

    /** A loaded child that waits for `go`. */
    async child(dataDir: string, shelters: readonly string[] = [], as: As = {}): Promise<Starter> {
      const script = fileURLToPath(new URL("./start.child.ts", import.meta.url));
      const { env, ...ids } = as;
      const child = spawn(process.execPath, ["--import", "tsx", script, dataDir, ...shelters], {
        ...ids,
        env: { ...process.env, TMPDIR: tmpdir(), ...env },
        stdio: ["pipe", "pipe", "inherit"],
      });
      children.push(child);
      const exit = once(child, "exit");
      const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
      await lines.next();
      const tell = (text: string) => child.stdin.write(`${text}\n`);
      return {
        pid: child.pid ?? 0,
        async go() {
          tell("go");
          const { value } = await lines.next();
          return JSON.parse(value ?? '{"kind":"failed","code":"died","message":""}') as Report;
        },
        async order(text) {
          tell(text);
          return (await exit)[0];
        },
        async kill() {
          child.kill("SIGKILL");
          await exit;
        },
      };
    },

    /** Starts and expects success. */
    async started(dataDir: string, shelters?: readonly string[], as?: As): Promise<Starter & Started> {
      const child = await scene.child(dataDir, shelters, as);
      const report = await child.go();
      if (report.kind === "failed") throw new Error(`did not start: ${report.code}: ${report.message}`);
      return { ...child, ...report };
    },

    /** A living process that is no server. */
    async sleeper(as: As): Promise<ProcessMark> {
      const child = spawn("sleep", ["600"], {
        ...as,
        ...(isRoot ? {} : { uid: undefined, gid: undefined }),
        stdio: "ignore",
      });
      children.push(child);
      await once(child, "spawn");
      return markOf(child.pid ?? 0);
    },

    async clean(): Promise<void> {
      for (const child of children.splice(0)) child.kill("SIGKILL");
      for (const folder of folders.splice(0)) {
        for (const home of homesIn(folder)) {
          const server = runningPostmaster(join(home, "data"));
          if (server) await stopPostmaster(server.mark, { fastMs: 0, immediateMs: 10_000 });
        }
        rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
      }
    },
  };
  return scene;
}

/** The usual place and the one that the pointer names. */
function homesIn(folder: string): string[] {
  const homes = [join(folder, "data", "postgres")];
  try {
    homes.push(readFileSync(join(folder, "data", "postgres.elsewhere"), "utf8").trim());
  } catch {
    // Most tests have none.
  }
  return homes;
}

export const serverOf = (dataDir: string): Postmaster | undefined =>
  runningPostmaster(join(dataDir, "postgres", "data"));

/** Runs one statement on a connection of its own. */
export async function ask(url: string, statement: string): Promise<unknown[]> {
  const sql = postgres(url, { max: 1, connect_timeout: 10, onnotice: () => {} });
  try {
    return [...(await sql.unsafe(statement))];
  } finally {
    await sql.end({ timeout: 1 });
  }
}
