/**
 * One node: everything is wired here and nowhere else. `npm start` runs this file.
 *
 * config → database → store → platform → model routes → tools → sessions → gateway; drained in the opposite order.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createActor, waitFor } from "xstate";
import { assist } from "../assist.config.ts";
import { startSimulator } from "../evals/simulator/simulator.ts";
import { Failure, failureCode } from "../machines/failure.ts";
import { nodeId } from "../machines/ids.ts";
import { type NodePorts, nodeMachine } from "../machines/node/node.machine.ts";
import { bind } from "../machines/ports.ts";
import { startEmbedded } from "../persistence/embedded/start.ts";
import { packageRoot } from "../skills/package-root.ts";
import { toolboxes } from "../tools/toolbox.ts";
import { capabilitiesOf } from "./capabilities.ts";
import { type Config, ConfigError, readConfig } from "./config.ts";
import { realChance, realClock } from "./effects.ts";
import { platformAuthenticator } from "./gateway/authenticate.ts";
import { startGateway } from "./gateway/gateway.ts";
import { platformLogin } from "./gateway/platform-login.ts";
import { type Jobs, openJobs, SUMMARY_MS, startJobWorkers } from "./job-parts.ts";
import { queuedSubagents } from "./jobs/queued-subagents.ts";
import { queuedDrafts } from "./jobs/summaries.ts";
import { writeNodeFile } from "./node-file.ts";
import { observer } from "./observe/events.ts";
import { createLog, type Log, linesTo } from "./observe/log.ts";
import { createMetrics } from "./observe/metrics.ts";
import { Closers, openParts } from "./parts.ts";
import { Directory } from "./sessions/directory.ts";
import { localConversations } from "./sessions/local-conversations.ts";
import { takeOverFromPredecessors } from "./sessions/predecessors.ts";
import { startUpkeep } from "./sessions/upkeep.ts";
import type { World } from "./sessions/world.ts";
import { recordSummaries } from "./summaries/record.ts";

const LIMITS = {
  text_bytes: 65_536,
  frame_bytes: 262_144,
  commands_per_second: 20,
  queued_messages: 10,
  send_buffer_bytes: 1_048_576,
  upload_bytes: 10_485_760,
};
const RECONNECT_MS = 1_000;
const HOUR = 3_600_000;
const LEASE_MS = 15_000;
/**
 * Not heard for so long, a node is gone before the database changes under it: no fence refuses an old statement on a new
 * table. Longer than a lease, after which a node that is cut off starts nothing more. One that left in order has no row.
 */
const SILENT_MS = LEASE_MS + 5_000;
/** The turns are over by then: what still runs is work ahead of time, which can be given back. */
const WORKER_GRACE_MS = 2_000;

type Assembled = NodePorts & {
  readonly log: Log;
  /** From now on `/readyz` says that this node goes. */
  leave(): void;
};

function assemble(config: Config, hear: (answers: boolean) => void): Assembled {
  const closers = new Closers();
  const stopping = new AbortController();
  const log = createLog({ level: config.logLevel, destination: linesTo(2) });
  let directory: Directory | undefined;
  let gateway: Awaited<ReturnType<typeof startGateway>> | undefined;
  const waiting: Record<string, string> = {};
  let starting: Promise<void> | undefined;

  return {
    log,

    leave() {
      waiting["process"] = "draining";
    },

    startNode() {
      starting = open();
      return starting;
    },

    async whenQuiet() {
      gateway?.announceDrain(RECONNECT_MS);
      directory?.beginDrain();
      await directory?.whenEmpty();
    },

    async saveSessions() {
      directory?.beginDrain();
      return (await directory?.park()) ?? [];
    },

    async closeAll() {
      stopping.abort();
      // A start that is cut short still opens what it had begun to open: nothing of it may stay behind.
      await starting?.catch(() => undefined);
      await closers.closeAll(log);
      await log.flush();
    },
  };

  async function open(): Promise<void> {
    const { dataDir } = config;
    const say = (line: string) => process.stdout.write(`${line}\n`);

    const embedded = config.database ? undefined : await startEmbedded({ dataDir, log: say });
    if (embedded) closers.add("database", () => embedded.stop());
    stopping.signal.throwIfAborted();
    const databaseUrl = config.database?.url.reveal() ?? embedded?.url ?? "";
    const chance = realChance;
    const id = nodeId(chance.uuid());
    const parts = await openParts({
      ...{ config, agent: assist, log, closers, databaseUrl, simulator, stopping: stopping.signal },
      // Whoever holds the data folder is the only node; workers may be beside it, and no upgrade waits for those.
      as: { kind: "node", id, silentMs: embedded ? 0 : SILENT_MS },
    });
    async function simulator(): Promise<string> {
      // Fast, but visibly streaming.
      const started = await startSimulator({ knobs: { firstByteMs: 80, tokenMs: 4 } });
      closers.add("simulator", () => started.close());
      return started.url;
    }
    const { store, model, summariser, skills, mcp, platformUrl, madeKey } = parts;
    const simulated = parts.simulatorUrl !== undefined;
    const metrics = createMetrics({
      sessionsResident: () => directory?.size ?? 0,
      sockets: () => gateway?.sockets() ?? 0,
    });
    const clock = realClock;
    const observe = observer(log, metrics);
    const jobs = openJobs(config, databaseUrl, log, closers);
    const drafts = queuedDrafts({
      ...{ producer: jobs.producer, waits: jobs.waits, store: store.summaries, clock, limitMs: SUMMARY_MS },
      summariserWindow: summariser.window,
      onFailure: recordSummaries(summariser, store.calls, observe).onFailure,
    });
    closers.add("summaries", () => drafts.close());
    const subagents = queuedSubagents({
      ...{ store: store.subagents, producer: jobs.producer, waits: jobs.waits, clock },
      fenceOf: (id) => directory?.fenceOf(id),
      isDraining: () => directory?.isDraining ?? true,
    });
    const boxes = toolboxes({ agent: assist, skills, mcp, results: store.results, subagents });
    if (config.embeddedWorkers > 0)
      startJobWorkers(jobs, parts, assist, { log, observe, closers, graceMs: WORKER_GRACE_MS, beside: "node" });
    const world: World = {
      node: id,
      store,
      model,
      drafts,
      capabilities: capabilitiesOf({ agent: assist, skills, toolboxes: boxes, clock, chance }),
      clock,
      chance,
      observe,
      settings: {
        agent: assist.name,
        planTools: assist.planTools,
        limits: {
          steps: assist.limits.steps,
          ms: assist.limits.turnMs,
          tokens: assist.limits.turnTokens,
          repeats: 5,
          unknownSteps: 3,
        },
        maxOutputTokens: assist.limits.outputTokens,
        queueBound: LIMITS.queued_messages,
        hibernateAfterMs: config.hibernateAfterMs,
        leaseMs: LEASE_MS,
        grants: config.grants,
        grantMs: 12 * HOUR,
      },
    };
    const onWaiting = (count: number) => {
      if (waiting["node"] === undefined)
        log.warn("another node is heard; this one waits until it is silent", { count });
      waiting["node"] = "another node is heard";
    };
    const here = new Directory(world, (event, id, err) => log.warn(event, { session_id: id, err }));
    directory = here;
    await takeOverFromPredecessors(world, embedded !== undefined, onWaiting, stopping.signal);
    delete waiting["node"];
    const upkeep = startUpkeep(
      here,
      world,
      (event, fields) => log.warn(event, fields),
      (answers) => {
        if (answers) delete waiting["database"];
        else waiting["database"] = "does not answer";
        hear(answers);
      },
    );
    closers.add("upkeep", upkeep);

    stopping.signal.throwIfAborted();
    gateway = await startGateway({
      host: config.host,
      port: config.port,
      conversations: localConversations(here, world, { limits: LIMITS, simulated }),
      authenticate: platformAuthenticator({ platformUrl, log }),
      ...(config.allowedOrigins && { origins: config.allowedOrigins }),
      allowNoOrigin: config.allowNoOrigin,
      ...(config.operatorToken && { operatorToken: config.operatorToken.reveal() }),
      limits: LIMITS,
      ready: () => ({ ready: Object.keys(waiting).length === 0, parts: { ...waiting, ...degraded(jobs) } }),
      metrics: () => metrics.text(),
      consoleDir: join(packageRoot(), "dist", "console"),
      ...(config.platformUrl === undefined && { login: platformLogin(platformUrl) }),
      agent: assist.name,
      simulated,
      log,
    });
    const edge = gateway;
    const own = {
      ...(embedded && { databaseUrl }),
      ...(config.platformUrl === undefined && { platformUrl }),
      ...(parts.simulatorUrl !== undefined && { simulatorUrl: parts.simulatorUrl }),
    };
    // With a database, keys and files of its own it needs no folder.
    if (Object.keys(own).length > 0 && existsSync(dataDir)) closers.add("node file", await writeNodeFile(dataDir, own));
    closers.add("sockets", () => edge.closeAll(1012, "the server restarts"));
    for (const line of banner(config, edge.url, { model: model.name, simulated, madeKey })) say(line);
  }
}

const JOBS_START_MS = 10_000;

/** Jobs are work that a turn can do without: a queue that is away is told, and nothing is refused. */
function degraded({ backend }: Jobs): Record<string, string> {
  const health = backend.health();
  if (health.state === "ready" || (health.code === "jobs_starting" && health.sinceMs < JOBS_START_MS)) return {};
  return { jobs: health.code };
}

function banner(
  config: Config,
  url: string,
  { model, simulated, madeKey }: { model: string; simulated: boolean; madeKey: boolean },
): string[] {
  return [
    `Dormouse is ready: ${url}`,
    simulated
      ? "  model      simulated (set GEMINI_API_KEY, GEMINI_BASE_URL or BEDROCK_REGION for a real one)"
      : `  model      ${model}`,
    config.platformUrl === undefined
      ? "  platform   reference platform with demo data; not medical advice (set PLATFORM_URL for your own)"
      : `  platform   ${new URL(config.platformUrl).origin}`,
    `  database   ${config.database === undefined ? `embedded, in ${config.dataDir}` : "as DATABASE_URL says"}`,
    ...(madeKey ? ["  key        made in the data folder; set ENCRYPTION_KEYS to hold it yourself"] : []),
    'Talk to it in the browser, or: npm run chat -- --user dr-rivera "Does ginkgo interact with warfarin?"',
  ];
}

/** A second signal this soon is the same one, sent to the whole group or passed on by npm. */
const SAME_SIGNAL_MS = 1_000;

async function main(): Promise<number> {
  const config = readConfig(process.env);
  const { log, leave, ...ports } = assemble(config, (answers) => {
    node.send({ type: answers ? "database.back" : "database.lost" });
  });
  const node = createActor(nodeMachine.provide({ actors: bind<NodePorts>(ports) }), {
    input: { leadMs: config.drainLeadMs, graceMs: config.drainGraceMs },
  });
  node.subscribe({
    next: (state) => {
      if (!state.matches("starting") && !state.matches("serving")) leave();
    },
    error: (error) => log.error("the node chart failed", { err: error }),
  });
  let signalled: number | undefined;
  const onSignal = (signal: NodeJS.Signals) => {
    const now = realClock.monotonic();
    if (signalled !== undefined && now - signalled < SAME_SIGNAL_MS) return;
    log.info(signalled === undefined ? "draining" : "not waiting any longer", { signal });
    node.send({ type: signalled === undefined ? "node.drain" : "node.hurry" });
    signalled = now;
  };
  let fault: unknown;
  const onFault = (error: unknown) => {
    log.error("a fault that nothing caught; the node saves what it can and stops", { err: error });
    fault ??= error;
    node.send({ type: "node.hurry" });
  };
  process.on("SIGTERM", onSignal).on("SIGINT", onSignal);
  process.on("uncaughtException", onFault).on("unhandledRejection", onFault);
  const { output } = await waitFor(node.start(), (state) => state.status === "done", {
    timeout: Number.POSITIVE_INFINITY,
  });
  if (output === undefined) throw new TypeError("the node chart ended without an output");
  if (output.failure !== null) complain(output.failure);
  if (output.unsaved.length > 0) process.stderr.write(`not saved: ${output.unsaved.join(", ")}\n`);
  return output.failure === null && output.unsaved.length === 0 && fault === undefined ? 0 : 1;
}

/** One line a person can act on. An error that is not ours may quote a value, so only its kind is said. */
function complain(error: unknown): void {
  const line = error instanceof Failure ? error.message : `unexpected ${error instanceof Error ? error.name : "error"}`;
  process.stderr.write(`Dormouse could not go on (${failureCode(error)}): ${line}\n`);
}

try {
  process.exitCode = await main();
} catch (error) {
  if (error instanceof ConfigError) process.stderr.write(`${error.problems.join("\n")}\n`);
  else complain(error);
  process.exitCode = error instanceof ConfigError ? 2 : 1;
}
process.exit();
