import { execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { open, readdir, readFile, rename, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { type Account, runAs } from "./account.ts";
import { EmbeddedStartFailed } from "./failures.ts";
import { type Postmaster, settled, stopPostmaster } from "./postmaster.ts";
import { markOf } from "./process-mark.ts";
import { asFlags, SERVER_SETTINGS, type Settings } from "./settings.ts";

/** A database cluster: `home` belongs to `account` and holds `data/`, `password` and `server.log`. */
export type Cluster = { readonly bin: string; readonly home: string; readonly account: Account | undefined };

export const SUPERUSER = "dormouse";
const START_MS = 60_000;
const ATTEMPTS = 8;
const LOG_LINES = 4;
const DRAFT = "data.draft-";

export const dataOf = (cluster: Cluster): string => join(cluster.home, "data");
const logOf = (cluster: Cluster): string => join(cluster.home, "server.log");

export function exists(cluster: Cluster): boolean {
  return existsSync(join(dataOf(cluster), "PG_VERSION"));
}

/** Runs `initdb` beside the final place: a start that is killed half-way leaves nothing that looks like a cluster. */
export async function createCluster(cluster: Cluster, sync: "sync" | "no-sync" = "sync"): Promise<void> {
  await removeDrafts(cluster);
  // A name of its own: the initdb of a start that was killed may still run.
  const draft = join(cluster.home, `${DRAFT}${randomBytes(6).toString("hex")}`);
  await writePrivate(cluster, "password", `${randomBytes(24).toString("base64url")}\n`);
  const args = [
    ["-D", draft, "-U", SUPERUSER, "-E", "UTF8", "--pwfile", join(cluster.home, "password")],
    ["--auth", "scram-sha-256", "--locale", "C", "--locale-provider", "builtin", "--builtin-locale", "C.UTF-8"],
    ["--no-instructions", ...(sync === "sync" ? [] : ["--no-sync"])],
  ].flat();
  try {
    await promisify(execFile)(join(cluster.bin, "initdb"), args, runAs(cluster.account));
  } catch (cause) {
    await rm(draft, { recursive: true, force: true });
    const said = (cause as { stderr?: string }).stderr ?? "";
    throw new EmbeddedStartFailed(
      `the database could not be made in ${cluster.home}: ${lastLines(said) || (cause as Error).message}`,
      { cause },
    );
  }
  await rename(draft, dataOf(cluster));
}

/** Starts the server on a free port of 127.0.0.1 and resolves once it takes connections. */
export async function launch(cluster: Cluster, settings: Settings = {}): Promise<Postmaster> {
  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort();
    const started = await tryLaunch(cluster, { ...SERVER_SETTINGS, ...settings, port: String(port) });
    if (started.kind === "ready") return { mark: started.mark, port };
    if (attempt < ATTEMPTS && isPassing(started.said)) continue;
    throw new EmbeddedStartFailed(
      `PostgreSQL did not start: ${lastLines(started.said) || "it said nothing"} (log: ${logOf(cluster)})`,
    );
  }
}

/** The address of one of the cluster's databases; holds the password, so it is not for logs. */
export async function addressOf(cluster: Cluster, port: number, database: string): Promise<string> {
  const password = (await readFile(join(cluster.home, "password"), "utf8")).trim();
  return `postgres://${SUPERUSER}:${password}@127.0.0.1:${port}/${database}`;
}

type Launched =
  | { readonly kind: "ready"; readonly mark: Postmaster["mark"] }
  | { readonly kind: "ended"; readonly said: string };

async function tryLaunch(cluster: Cluster, settings: Settings): Promise<Launched> {
  await rename(logOf(cluster), `${logOf(cluster)}.1`).catch(ignoreMissing);
  // The account opens the log itself: root must not write through a link that somebody put there.
  const command = 'umask 077; log=$1; shift; exec "$@" >>"$log" 2>&1';
  const server = [join(cluster.bin, "postgres"), "-D", dataOf(cluster), ...asFlags(settings)];
  // Detached: Ctrl-C in a terminal reaches us alone, and we stop the server when the turns are stored.
  const child = spawn("/bin/sh", ["-c", command, "sh", logOf(cluster), ...server], {
    ...runAs(cluster.account),
    stdio: "ignore",
    detached: true,
  });
  await once(child, "spawn");
  child.unref();
  const mark = markOf(child.pid ?? 0);
  const state = await settled(dataOf(cluster), mark, START_MS);
  if (state === "ready") return { kind: "ready", mark };
  if (state === "late") await stopPostmaster(mark, { fastMs: 2_000, immediateMs: 2_000 });
  return { kind: "ended", said: await readFile(logOf(cluster), "utf8").catch(() => "") };
}

/** Reasons that a later try gets over: a port taken meanwhile, children of a killed server that still end. */
function isPassing(said: string): boolean {
  return /Address already in use|shared memory block .* is still in use/i.test(said);
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const address = probe.address();
  probe.close();
  await once(probe, "close");
  if (address === null || typeof address === "string") throw new TypeError("a TCP server has a port");
  return address.port;
}

/** Writes a file that only the account reads, under a name that nobody could have linked elsewhere before. */
async function writePrivate(cluster: Cluster, name: string, text: string): Promise<void> {
  const draft = join(cluster.home, `${name}.${randomBytes(6).toString("hex")}`);
  const file = await open(draft, "wx", 0o600);
  try {
    await file.writeFile(text);
    if (cluster.account) await file.chown(cluster.account.uid, cluster.account.gid);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(draft, join(cluster.home, name));
}

async function removeDrafts(cluster: Cluster): Promise<void> {
  for (const name of await readdir(cluster.home)) {
    const options = { recursive: true, force: true, maxRetries: 10 };
    if (name.startsWith(DRAFT)) await rm(join(cluster.home, name), options);
  }
}

function lastLines(said: string): string {
  return said.trim().split("\n").slice(-LOG_LINES).join(" | ");
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== "ENOENT") throw error;
}
