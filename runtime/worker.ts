/**
 * Workers alone, beside one node or many: `npm run worker`. They share the node's database, queues, keys and platform;
 * what the environment does not name is taken from the node that runs in the same data folder.
 */
import { assist } from "../assist.config.ts";
import { Failure, failureCode } from "../machines/failure.ts";
import { type Config, ConfigError, readConfig } from "./config.ts";
import { openJobs, startJobWorkers } from "./job-parts.ts";
import { readNodeFile } from "./node-file.ts";
import { observer } from "./observe/events.ts";
import { createLog, linesTo } from "./observe/log.ts";
import { createMetrics } from "./observe/metrics.ts";
import { Closers, openParts } from "./parts.ts";

/** There is nothing to work for: no database is named, and no node runs here. */
class NoNode extends Failure {
  readonly code = "no_node";
  readonly retryable = false;
}

async function main(): Promise<number> {
  const config = readConfig(process.env);
  const log = createLog({ level: config.logLevel, destination: linesTo(2) });
  const closers = new Closers();
  const stopping = new AbortController();
  const stopped = new Promise<void>((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const)
      process.on(signal, () => {
        stopping.abort();
        resolve();
      });
  });
  let fault: unknown;
  const onFault = (error: unknown) => {
    log.error("a fault that nothing caught; the worker gives its jobs back and stops", { err: error });
    fault ??= error;
    process.emit("SIGTERM");
  };
  process.on("uncaughtException", onFault).on("unhandledRejection", onFault);
  try {
    await open(config, log, closers, stopping.signal);
    await stopped;
  } catch (error) {
    // Told to stop while it started, for example while it waited for its node.
    if (!stopping.signal.aborted || error !== stopping.signal.reason) throw error;
  } finally {
    await closers.closeAll(log);
    await log.flush();
  }
  return fault === undefined ? 0 : 1;
}

async function open(config: Config, log: ReturnType<typeof createLog>, closers: Closers, stopping: AbortSignal) {
  const node = await readNodeFile(config.dataDir);
  const databaseUrl = config.database?.url.reveal() ?? node?.databaseUrl;
  if (databaseUrl === undefined)
    throw new NoNode(`no node runs in ${config.dataDir}: start one first (npm start), or set DATABASE_URL`);
  const platformUrl = config.platformUrl ?? node?.platformUrl;
  if (platformUrl === undefined) throw new NoNode("no platform is known: set PLATFORM_URL as the node has it");
  const simulator = async () => {
    if (node?.simulatorUrl !== undefined) return node.simulatorUrl;
    throw new NoNode(
      "no model is configured: set GEMINI_API_KEY, GEMINI_BASE_URL or BEDROCK_REGION as the node has it",
    );
  };
  const parts = await openParts({
    ...{ config, agent: assist, log, closers, databaseUrl, platformUrl, simulator, stopping, as: { kind: "worker" } },
  });
  const metrics = createMetrics({ sessionsResident: () => 0, sockets: () => 0 });
  const jobs = openJobs(config, databaseUrl, log, closers);
  startJobWorkers(jobs, parts, assist, {
    ...{ log, closers, observe: observer(log, metrics), graceMs: config.drainGraceMs, beside: "worker" },
  });
  const where = jobs.backend.kind === "redis" ? "Redis" : "PostgreSQL";
  process.stdout.write(`Dormouse worker is ready: sub-agents and summaries, queued in ${where}\n`);
}

try {
  process.exitCode = await main();
} catch (error) {
  if (error instanceof ConfigError) process.stderr.write(`${error.problems.join("\n")}\n`);
  else {
    const known =
      error instanceof Failure ? error.message : `unexpected ${error instanceof Error ? error.name : "error"}`;
    process.stderr.write(`The worker could not go on (${failureCode(error)}): ${known}\n`);
  }
  process.exitCode = error instanceof ConfigError ? 2 : 1;
}
process.exit();
