/**
 * One node: everything is wired here and nowhere else. `npm start` runs this file.
 *
 * config → database → store → platform → model routes → tools → sessions → gateway; drained in the opposite order.
 */
import { join } from "node:path";
import { destination as fileDestination } from "pino";
import { createActor, waitFor } from "xstate";
import { assist } from "../assist.config.ts";
import { startSimulator } from "../evals/simulator/simulator.ts";
import { Failure, failureCode } from "../machines/failure.ts";
import { callId, nodeId } from "../machines/ids.ts";
import { type NodePorts, nodeMachine } from "../machines/node/node.machine.ts";
import { bind } from "../machines/ports.ts";
import { batchedCalls } from "../persistence/batched-calls.ts";
import { loadOrMakeKeys } from "../persistence/cipher/key-file.ts";
import { keyRing } from "../persistence/cipher/key-ring.ts";
import { startEmbedded } from "../persistence/embedded/start.ts";
import { connect, openStore } from "../persistence/postgres.ts";
import { packageRoot } from "../skills/package-root.ts";
import { loadSkills } from "../skills/registry.ts";
import { mcpServers } from "../tools/mcp/servers.ts";
import { startPlatform } from "../tools/platform/platform.ts";
import { toolboxes } from "../tools/toolbox.ts";
import { blobStoreOf } from "./blob-stores.ts";
import { capabilitiesOf } from "./capabilities.ts";
import { type Config, ConfigError, readConfig } from "./config.ts";
import { realChance, realClock } from "./effects.ts";
import { platformAuthenticator } from "./gateway/authenticate.ts";
import { startGateway } from "./gateway/gateway.ts";
import { platformLogin } from "./gateway/platform-login.ts";
import { configuredRoutes, simulatedRoutes } from "./model-routes.ts";
import { modelsOf } from "./models/profiles.ts";
import { observer } from "./observe/events.ts";
import { createLog, type Log } from "./observe/log.ts";
import { createMetrics } from "./observe/metrics.ts";
import { Directory } from "./sessions/directory.ts";
import { localConversations } from "./sessions/local-conversations.ts";
import { takeOverFromPredecessors } from "./sessions/predecessors.ts";
import { startUpkeep } from "./sessions/upkeep.ts";
import type { World } from "./sessions/world.ts";
import { localDrafts } from "./summaries/drafts.ts";
import { recordSummaries } from "./summaries/record.ts";
import { modelSummariser } from "./summaries/summariser.ts";
import { summaryRoute } from "./summary-route.ts";

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
/** A summary that takes longer is given up. No turn waits for it that long. */
const SUMMARY_MS = 60_000;

/** Things that were opened, closed last to first; each close is bounded by its own part. */
class Closers {
  readonly #closers: { readonly name: string; readonly close: () => Promise<unknown> | unknown }[] = [];

  add(name: string, close: () => Promise<unknown> | unknown): void {
    this.#closers.push({ name, close });
  }

  async closeAll(log: Log): Promise<void> {
    for (const { name, close } of this.#closers.splice(0).reverse()) {
      try {
        await close();
      } catch (error) {
        log.error("could not close a part", { name, err: error });
      }
    }
  }
}

type Assembled = NodePorts & {
  readonly log: Log;
  /** From now on `/readyz` says that this node goes. */
  leave(): void;
};

function assemble(config: Config, hear: (answers: boolean) => void): Assembled {
  const configured = configuredRoutes(config);
  const closers = new Closers();
  const stopping = new AbortController();
  const log = createLog({ level: config.logLevel, destination: fileDestination({ fd: 2, sync: false }) });
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
    const url = config.database?.url.reveal() ?? embedded?.url ?? "";
    const sql = connect(url);
    closers.add("connections", () => sql.end({ timeout: 5 }));
    const made = config.encryptionKeys ? undefined : await loadOrMakeKeys(dataDir);
    const keys = config.encryptionKeys?.map(({ id, key }) => `${id}:${key.reveal()}`).join(",") ?? made?.keys ?? "";
    const ring = keyRing(keys);
    const onBad = (code: string) => log.warn("a row was left out", { code });
    const blobs = await blobStoreOf(config.blobs);
    closers.add("attachments", () => blobs.close());
    const opened = await openStore({ sql, ring, onBad, blobs });
    const calls = batchedCalls(opened.calls, realClock);
    closers.add("audit rows", () => calls.flush());
    const store = { ...opened, calls };

    const platformUrl = config.platformUrl ?? (await demoPlatform());
    async function demoPlatform(): Promise<string> {
      const seal = {
        seal: (text: string, aad: string) => ring.seal(text, ["platform", aad]),
        open: (sealed: Buffer, aad: string) => ring.open(sealed, ["platform", aad]),
      };
      const platform = await startPlatform({ databaseUrl: url, seal });
      closers.add("platform", () => platform.close());
      return platform.url;
    }

    stopping.signal.throwIfAborted();
    const routes = configured ?? simulatedRoutes(await simulator());
    async function simulator(): Promise<string> {
      // Fast, but visibly streaming.
      const started = await startSimulator({ knobs: { firstByteMs: 80, tokenMs: 4 } });
      closers.add("simulator", () => started.close());
      return started.url;
    }
    const simulated = routes.some((route) => route.simulated);
    const notice = (found: { kind: string }, profile: string) => log.warn(found.kind, { profile });
    const newCallId = () => callId(realChance.uuid());
    const [model] = modelsOf(routes, { newCallId, notice });
    const [first] = routes;
    if (first === undefined) throw new TypeError("there is no model route");
    const [cheap] = modelsOf([summaryRoute(first, config.summaryModel)], { newCallId, notice });
    const summariser = modelSummariser(cheap);

    const skills = loadSkills({ names: assist.skills });
    for (const { file, code } of skills.problems) log.warn("a skill file has a problem", { name: file, code });
    const servers = assist.mcpServers.map(({ name, url: own, bareNames }) => ({
      name,
      url: own ?? `${platformUrl}/mcp`,
      bareNames: bareNames === true,
    }));
    const timeouts = Object.fromEntries(
      Object.entries(assist.tools).flatMap(([name, rule]) => (rule.timeoutMs ? [[name, rule.timeoutMs]] : [])),
    );
    const mcp = mcpServers({ servers, timeouts, observe: (event) => log.debug("mcp", { kind: event.type }) });
    closers.add("tool servers", () => mcp.close());
    const boxes = toolboxes({ agent: assist, skills, mcp, results: store.results });

    const metrics = createMetrics({
      sessionsResident: () => directory?.size ?? 0,
      sockets: () => gateway?.sockets() ?? 0,
    });
    const clock = realClock;
    const chance = realChance;
    const observe = observer(log, metrics);
    const drafts = localDrafts({
      summariser,
      store: store.summaries,
      clock,
      limitMs: SUMMARY_MS,
      ...recordSummaries(summariser, store.calls, observe),
    });
    closers.add("summaries", () => drafts.close());
    const world: World = {
      node: nodeId(chance.uuid()),
      store,
      model,
      drafts,
      capabilities: capabilitiesOf({ agent: assist, skills, toolboxes: boxes, clock, chance }),
      clock,
      chance,
      observe,
      settings: {
        agent: assist.name,
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
        leaseMs: 15_000,
        grants: config.grants,
        grantMs: 12 * HOUR,
      },
    };
    closers.add("node row", () => store.nodes.leave(world.node));
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
      ready: () => ({ ready: Object.keys(waiting).length === 0, parts: { ...waiting } }),
      metrics: () => metrics.text(),
      consoleDir: join(packageRoot(), "dist", "console"),
      ...(config.platformUrl === undefined && { login: platformLogin(platformUrl) }),
      agent: assist.name,
      simulated,
      log,
    });
    const edge = gateway;
    closers.add("sockets", () => edge.closeAll(1012, "the server restarts"));
    for (const line of banner(config, edge.url, { model: model.name, simulated, madeKey: made?.made ?? false }))
      say(line);
  }
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
