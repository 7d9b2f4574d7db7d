/** Whole servers as child processes, from source, so that a test never runs stale code. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Postmaster, runningPostmaster } from "../../persistence/embedded/postmaster.ts";
import { startGuard } from "./guard.ts";
import { type DialOptions, dial, type Talk } from "./talk.ts";

export type Exit = { readonly code: number | null; readonly signal: NodeJS.Signals | null };
export type Environment = Readonly<Record<string, string>>;

/** A process that was started, whether or not it comes to serve. */
export type Launched = {
  readonly pid: number;
  readonly dataDir: string;
  stdout(): string;
  stderr(): string;
  /** Resolves when the process has ended and its output is complete. */
  readonly exit: Promise<Exit>;
  kill(signal: NodeJS.Signals): Promise<Exit>;
  /** Waits for text on stdout; rejects with what was said when the process ends before. */
  said(pattern: RegExp): Promise<RegExpExecArray>;
};

export type Server = Launched & {
  readonly url: string;
  /** From spawn to the ready line, milliseconds. */
  readonly startMs: number;
  get(path: string, headers?: Environment): Promise<Response>;
  /** The demo login, or the one of another platform; gives the cookie header. */
  login(user: string, at?: string): Promise<string>;
  talk(options: DialOptions): Promise<Talk>;
};

const MAIN = fileURLToPath(new URL("../main.ts", import.meta.url));
const WORKER = fileURLToPath(new URL("../worker.ts", import.meta.url));
/** Quick to drain, closed to the environment of the test run. */
const QUICK: Environment = { PORT: "0", DRAIN_LEAD_MS: "0", DRAIN_GRACE_MS: "10000", LOG_LEVEL: "info" };

export type ProcessScene = {
  /** A data folder that does not exist yet. */
  dataDir(): string;
  launch(env?: Environment, dataDir?: string): Launched;
  launchWorker(env: Environment, dataDir: string): Launched;
  /** Workers alone, beside the node of that folder; waits until they are ready. */
  startWorker(env: Environment, dataDir: string): Promise<Launched>;
  /** Waits until it is ready. */
  start(env?: Environment, dataDir?: string): Promise<Server>;
  /** Kills what still runs, for example because a test failed. */
  killAll(): Promise<void>;
  /** Ends and removes everything, whatever state it is in. */
  clean(): Promise<void>;
};

/** Folders and processes of one test file. */
export function processScene(): ProcessScene {
  const base = mkdtempSync(join(tmpdir(), "dormouse-proc-"));
  // The embedded server's own user has to pass through.
  chmodSync(base, 0o711);
  const guard = startGuard(base);
  const living = new Set<ChildProcess>();
  let folders = 0;

  const scene: ProcessScene = {
    dataDir() {
      folders += 1;
      return join(base, `data-${folders}`);
    },

    launch: (env = {}, dataDir = scene.dataDir()) => launched(MAIN, env, dataDir),

    launchWorker: (env, dataDir) => launched(WORKER, env, dataDir),

    async startWorker(env, dataDir) {
      const worker = scene.launchWorker(env, dataDir);
      await worker.said(/^Dormouse worker is ready/m);
      return worker;
    },

    async start(env, dataDir) {
      const began = performance.now();
      const node = scene.launch(env, dataDir);
      const [, url = ""] = await node.said(/^Dormouse is ready: (\S+)$/m);
      const startMs = performance.now() - began;
      return {
        ...node,
        url,
        startMs,
        get: (path, headers = {}) => fetch(`${url}${path}`, { headers, redirect: "manual" }),
        login: (user, at = url) => login(at, user),
        talk: (options) => dial(url, options),
      };
    },

    async killAll() {
      const ends = [...living].map((child) => once(child, "close"));
      for (const child of living) child.kill("SIGKILL");
      await Promise.all(ends);
    },

    async clean() {
      await scene.killAll();
      await guard.end();
    },
  };
  return scene;

  function launched(file: string, env: Environment, dataDir: string): Launched {
    const child = spawn(process.execPath, ["--import", "tsx", file], {
      env: { ...inherited(), ...QUICK, DATA_DIR: dataDir, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const pid = child.pid ?? 0;
    guard.watch(pid);
    living.add(child);
    const out = collect(child.stdout);
    const err = collect(child.stderr);
    const exit = once(child, "close").then(([code, signal]): Exit => {
      living.delete(child);
      guard.forget(pid);
      return { code, signal };
    });
    return {
      pid,
      dataDir,
      stdout: out.text,
      stderr: err.text,
      exit,
      kill(signal) {
        child.kill(signal);
        return exit;
      },
      async said(pattern) {
        for (;;) {
          const found = pattern.exec(out.text());
          if (found) return found;
          if (!living.has(child)) throw new Error(`ended before it said ${pattern}:\n${out.text()}${err.text()}`);
          await Promise.race([out.more(), exit]);
        }
      },
    };
  }
}

/** The database that runs in a data folder, if one does. */
export const databaseIn = (dataDir: string): Postmaster | undefined =>
  runningPostmaster(join(dataDir, "postgres", "data"));

export async function login(at: string, user: string): Promise<string> {
  const answer = await fetch(`${at}/login?user=${user}`, { redirect: "manual" });
  const cookie = answer.headers.getSetCookie()[0]?.split(";", 1)[0];
  if (cookie === undefined) throw new Error(`no login at ${at}: status ${answer.status}`);
  return cookie;
}

function inherited(): Environment {
  const kept = ["PATH", "HOME", "TMPDIR", "LANG"];
  return Object.fromEntries(kept.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
}

function collect(stream: NodeJS.ReadableStream): { text(): string; more(): Promise<void> } {
  let text = "";
  let wake: (() => void)[] = [];
  stream.setEncoding("utf8");
  stream.on("data", (piece: string) => {
    text += piece;
    const waiting = wake;
    wake = [];
    for (const resolve of waiting) resolve();
  });
  return { text: () => text, more: () => new Promise<void>((resolve) => wake.push(resolve)) };
}
