import { realpathSync } from "node:fs";
import postgres from "postgres";
import { Failure } from "../../machines/failure.ts";
import { binariesFor } from "./binaries.ts";
import { addressOf, type Cluster, createCluster, dataOf, exists, launch } from "./cluster.ts";
import { EmbeddedStartFailed } from "./failures.ts";
import { lockFolder, type OwnerLock } from "./owner-lock.ts";
import { type Place, placeFor, SHELTERS, shelterFor } from "./place.ts";
import {
  gone,
  type Postmaster,
  readPidFile,
  runningPostmaster,
  settled,
  signal,
  stopPostmaster,
} from "./postmaster.ts";
import { deadServerCollected, removeForeignPidFile } from "./stale-pid-file.ts";

export type EmbeddedOptions = {
  /** Ours alone while the server runs. Made when missing. */
  readonly dataDir: string;
  /** Gets whole lines for the operator; they hold no secret. */
  readonly log: (line: string) => void;
  /** Where data and programs go that PostgreSQL's user cannot reach; for tests. */
  readonly shelters?: readonly string[];
};

export type Embedded = {
  /** Address of the database `dormouse`, with the password: not for logs. */
  readonly url: string;
  /** True when the server was left running by a process of ours that was killed. */
  readonly adopted: boolean;
  /** Ends the server, within 20 seconds at most, and frees the data folder. The same promise when called again. */
  stop(): Promise<void>;
};

const DATABASE = "dormouse";
const ADOPT_MS = 60_000;

/**
 * Starts PostgreSQL in the data folder, or adopts the one that runs there, and makes the database when missing.
 * Throws `DataDirInUse` when another process owns the folder, `EmbeddedStartFailed` for the rest.
 */
export async function startEmbedded(options: EmbeddedOptions): Promise<Embedded> {
  const lock = lockFor(options.dataDir);
  try {
    const shelters = options.shelters ?? SHELTERS;
    const place = placeFor(realpathSync(options.dataDir), shelters);
    if (place.note) options.log(place.note);
    const cluster = clusterAt(place, shelters);

    const { server, adopted } = await adoptOrStart(cluster);
    return await own(cluster, server, { adopted, release: lock.release });
  } catch (error) {
    lock.release();
    throw asFailure(options.dataDir, error);
  }
}

function lockFor(dataDir: string): OwnerLock {
  try {
    return lockFolder(dataDir);
  } catch (error) {
    throw asFailure(dataDir, error);
  }
}

function asFailure(dataDir: string, error: unknown): Failure {
  if (error instanceof Failure) return error;
  const { message } = error as Error;
  return new EmbeddedStartFailed(`the database could not be started in ${dataDir}: ${message}`, { cause: error });
}

function clusterAt({ home, account }: Place, shelters: readonly string[]): Cluster {
  const shelter = () => (account ? shelterFor(account, shelters) : home);
  return { bin: binariesFor(account, shelter), home, account };
}

async function adoptOrStart(cluster: Cluster): Promise<{ readonly server: Postmaster; readonly adopted: boolean }> {
  const found = await adopt(cluster);
  if (found) return { server: found, adopted: true };
  try {
    return { server: await startAnew(cluster), adopted: false };
  } catch (error) {
    // A server that was only being launched when its owner was killed shows itself late.
    const late = await adopt(cluster);
    if (late) return { server: late, adopted: true };
    throw error;
  }
}

/** The server that runs in this folder, once it takes connections; one that is shutting down is waited for. */
async function adopt(cluster: Cluster): Promise<Postmaster | undefined> {
  const running = runningPostmaster(dataOf(cluster));
  if (!running) return undefined;
  if (readPidFile(dataOf(cluster))?.status === "stopping") {
    if (await gone(running.mark, ADOPT_MS)) return undefined;
  } else if ((await settled(dataOf(cluster), running.mark, ADOPT_MS)) === "ready") {
    return running;
  }
  await stopPostmaster(running.mark);
  return undefined;
}

async function startAnew(cluster: Cluster): Promise<Postmaster> {
  if (!exists(cluster)) await createCluster(cluster);
  await deadServerCollected(dataOf(cluster));
  removeForeignPidFile(dataOf(cluster));
  return launch(cluster);
}

/** From here on the server ends with us, whichever way we end, save by SIGKILL. */
async function own(
  cluster: Cluster,
  { mark, port }: Postmaster,
  { adopted, release }: { readonly adopted: boolean; readonly release: () => void },
): Promise<Embedded> {
  const onExit = () => {
    signal(mark, "SIGINT");
    release();
  };
  process.once("exit", onExit);
  const end = async () => {
    await stopPostmaster(mark);
    process.removeListener("exit", onExit);
    release();
  };
  let ending: Promise<void> | undefined;
  const stop = () => {
    ending ??= end();
    return ending;
  };
  try {
    await ensureDatabase(await addressOf(cluster, port, "postgres"));
    return { url: await addressOf(cluster, port, DATABASE), adopted, stop };
  } catch (cause) {
    await stop();
    throw new EmbeddedStartFailed(
      `PostgreSQL runs but refuses us: ${(cause as Error).message} (folder: ${cluster.home})`,
      {
        cause,
      },
    );
  }
}

async function ensureDatabase(address: string): Promise<void> {
  const sql = postgres(address, { max: 1, connect_timeout: 10, onnotice: () => {} });
  try {
    const [found] = await sql`select 1 from pg_database where datname = ${DATABASE}`;
    if (!found) await sql.unsafe(`create database ${DATABASE}`);
  } finally {
    await sql.end({ timeout: 5 });
  }
}
