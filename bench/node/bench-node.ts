import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Sql } from "postgres";
import { assist } from "../../assist.config.ts";
import { nodeId, userId } from "../../machines/ids.ts";
import { batchedCalls } from "../../persistence/batched-calls.ts";
import { loadOrMakeKeys } from "../../persistence/cipher/key-file.ts";
import { keyRing } from "../../persistence/cipher/key-ring.ts";
import { startEmbedded } from "../../persistence/embedded/start.ts";
import { connect, openStore } from "../../persistence/postgres.ts";
import type { Store } from "../../persistence/store.ts";
import { capabilitiesOf } from "../../runtime/capabilities.ts";
import { realChance, realClock } from "../../runtime/effects.ts";
import { startGateway } from "../../runtime/gateway/gateway.ts";
import { observer, type RuntimeEvent } from "../../runtime/observe/events.ts";
import { createLog, linesTo } from "../../runtime/observe/log.ts";
import { createMetrics } from "../../runtime/observe/metrics.ts";
import { Directory } from "../../runtime/sessions/directory.ts";
import { localConversations } from "../../runtime/sessions/local-conversations.ts";
import { takeOverFromPredecessors } from "../../runtime/sessions/predecessors.ts";
import { startUpkeep } from "../../runtime/sessions/upkeep.ts";
import type { World } from "../../runtime/sessions/world.ts";
import { packageRoot } from "../../skills/package-root.ts";
import { loadSkills } from "../../skills/registry.ts";
import type { Address } from "../client.ts";
import { dataFolder } from "../data-folder.ts";
import type { Setup } from "../harness.ts";
import { benchModel, benchToolboxes } from "./ports.ts";
import { type Stamps, stamped } from "./stamps.ts";
import { type Span, timedStore } from "./stopwatch.ts";

/** As the product has them, but for the rate of commands: histories are grown as fast as turns go. */
const LIMITS = {
  text_bytes: 65_536,
  frame_bytes: 262_144,
  commands_per_second: 100_000,
  queued_messages: 10,
  send_buffer_bytes: 1_048_576,
  upload_bytes: 10_485_760,
};
/** Small enough that long histories are compacted, where the runtime compacts. */
const WINDOW = 32_768;
const HOUR = 3_600_000;

export type BenchNode = Address & {
  readonly databaseUrl: string;
  readonly sql: Sql;
  readonly store: Store;
  readonly directory: Directory;
  readonly stamps: Stamps;
  /** Calls of the store since the last `forget`. */
  readonly spans: Span[];
  /** Statements as sent since the last `forget`. */
  readonly statements: string[];
  forget(): void;
  /** Hears every event until the returned function is called. */
  listen(hear: (event: RuntimeEvent) => void): () => void;
  /** How long sessions that thaw from now on rest before they sleep, in milliseconds. */
  restFor(ms: number): void;
};

/**
 * A node in this process, wired as `runtime/main.ts` does it, on an embedded PostgreSQL of its own in a temp folder.
 * In-process and without latency: the model, the tools and the login.
 */
export async function startBenchNode({ ends, say }: Setup): Promise<BenchNode> {
  const dataDir = await dataFolder();
  ends.add("data folder", () => rm(dataDir, { recursive: true, force: true, maxRetries: 5 }));
  const embedded = await startEmbedded({ dataDir, log: say });
  ends.add("database", () => embedded.stop());
  const spans: Span[] = [];
  const statements: string[] = [];
  const sql = connect(embedded.url);
  // Set only now: a driver that is told at its making takes a stack trace of each statement, which costs a turn dearly.
  Object.assign(sql.options, { debug: (_: number, text: string) => statements.push(text) });
  ends.add("connections", () => sql.end({ timeout: 5 }));
  const ring = keyRing((await loadOrMakeKeys(dataDir)).keys);
  const opened = await openStore({ sql, ring });
  const calls = batchedCalls(opened.calls, realClock);
  ends.add("audit rows", () => calls.flush());
  const store = timedStore({ ...opened, calls }, (span) => spans.push(span));

  const log = createLog({ level: "info", destination: linesTo("/dev/null") });
  const metrics = createMetrics({ sessionsResident: () => directory.size });
  const report = observer(log, metrics);
  const listeners = new Set<(event: RuntimeEvent) => void>();
  const settings = settingsOf();
  const world: World = {
    node: nodeId(realChance.uuid()),
    store,
    model: benchModel(WINDOW),
    capabilities: capabilitiesOf({
      agent: assist,
      skills: loadSkills({ names: assist.skills }),
      toolboxes: benchToolboxes,
      clock: realClock,
      chance: realChance,
    }),
    clock: realClock,
    chance: realChance,
    observe: (event) => {
      report(event);
      for (const hear of listeners) hear(event);
    },
    settings,
  };
  const directory = new Directory(world, (event, id, err) => log.warn(event, { session_id: id, err }));
  await takeOverFromPredecessors(world, true, () => {}, new AbortController().signal);
  ends.add(
    "upkeep",
    startUpkeep(
      directory,
      world,
      (event, fields) => log.warn(event, fields),
      () => {},
    ),
  );
  const flags = ["plan_builder", "research", "interactions", "labs"];
  const principal = { userId: userId("bench"), name: "Bench", flags, preferences: {} };
  const { conversations, stamps } = stamped(localConversations(directory, world, { limits: LIMITS, simulated: true }));
  const gateway = await startGateway({
    host: "127.0.0.1",
    port: 0,
    conversations,
    authenticate: async () => ({ kind: "principal", principal }),
    allowNoOrigin: true,
    limits: LIMITS,
    ready: () => ({ ready: true, parts: {} }),
    metrics: () => metrics.text(),
    consoleDir: join(packageRoot(), "dist", "console"),
    agent: assist.name,
    simulated: true,
    log,
  });
  ends.add("gateway", () => gateway.close());
  ends.add("sessions", () => directory.park());

  return {
    url: gateway.url,
    cookie: "bench=1",
    databaseUrl: embedded.url,
    sql,
    store,
    directory,
    stamps,
    spans,
    statements,
    forget() {
      spans.length = 0;
      statements.length = 0;
    },
    listen(hear) {
      listeners.add(hear);
      return () => void listeners.delete(hear);
    },
    restFor(ms) {
      settings.hibernateAfterMs = ms;
    },
  };
}

type Settings = { -readonly [K in keyof World["settings"]]: World["settings"][K] };

function settingsOf(): Settings {
  return {
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
    hibernateAfterMs: 0,
    leaseMs: 15_000,
    grants: true,
    grantMs: 12 * HOUR,
  };
}
