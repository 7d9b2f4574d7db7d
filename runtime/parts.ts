import type { AgentDefinition } from "../machines/agent.ts";
import { never } from "../machines/failure.ts";
import { callId, type NodeId } from "../machines/ids.ts";
import type { Model } from "../machines/model.ts";
import { batchedCalls } from "../persistence/batched-calls.ts";
import { loadOrMakeKeys } from "../persistence/cipher/key-file.ts";
import { keyRing } from "../persistence/cipher/key-ring.ts";
import { connect, openStore } from "../persistence/postgres.ts";
import type { Store } from "../persistence/store.ts";
import type { Hindrance, Upgrade, Waits } from "../persistence/upgrade.ts";
import { loadSkills, type Skills } from "../skills/registry.ts";
import { type McpServers, mcpServers } from "../tools/mcp/servers.ts";
import { startPlatform } from "../tools/platform/platform.ts";
import { blobStoreOf } from "./blob-stores.ts";
import type { Config } from "./config.ts";
import { realChance, realClock } from "./effects.ts";
import { configuredRoutes, simulatedRoutes } from "./model-routes.ts";
import { modelsOf } from "./models/profiles.ts";
import type { Log } from "./observe/log.ts";
import { modelSummariser, type Summariser } from "./summaries/summariser.ts";
import { summaryRoute } from "./summary-route.ts";

/** Things that were opened, closed last to first; each close is bounded by its own part. */
export class Closers {
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

export type PartsOptions = {
  readonly config: Config;
  readonly agent: AgentDefinition;
  readonly log: Log;
  readonly closers: Closers;
  readonly databaseUrl: string;
  readonly as:
    | {
        readonly kind: "node";
        readonly id: NodeId;
        /** For how long other nodes must have been silent before this one changes the database; 0 where there are none. */
        readonly silentMs: number;
      }
    | { readonly kind: "worker" };
  /** Where the simulated models are served, where no route is configured. */
  readonly simulator: () => Promise<string>;
  /** Where the reference platform is that another process runs; left out: one is started here, if none is configured. */
  readonly platformUrl?: string;
  readonly stopping: AbortSignal;
};

/** What a node and a worker have in common: the store, the models, the tools. */
export type Parts = {
  readonly store: Store;
  readonly model: Model;
  readonly summariser: Summariser;
  readonly skills: Skills;
  readonly mcp: McpServers;
  readonly platformUrl: string;
  /** Set where the models are the built-in simulator's. */
  readonly simulatorUrl: string | undefined;
  /** A key was made in the data folder just now. */
  readonly madeKey: boolean;
};

export async function openParts(options: PartsOptions): Promise<Parts> {
  const { config, agent, log, closers, databaseUrl, stopping } = options;
  const sql = connect(databaseUrl);
  closers.add("connections", () => sql.end({ timeout: 5 }));
  const made = config.encryptionKeys ? undefined : await loadOrMakeKeys(config.dataDir);
  const keys = config.encryptionKeys?.map(({ id, key }) => `${id}:${key.reveal()}`).join(",") ?? made?.keys ?? "";
  const ring = keyRing(keys);
  const onBad = (code: string) => log.warn("a row was left out", { code });
  const blobs = await blobStoreOf(config.blobs);
  closers.add("attachments", () => blobs.close());
  const { as } = options;
  const opened = await openStore({ sql, ring, onBad, blobs, now: realClock.now, upgrade: upgradeOf(options) });
  // Given up once nothing of this process writes any more: without it the next node may change the tables.
  if (as.kind === "node") closers.add("node row", () => opened.nodes.leave(as.id));
  const calls = batchedCalls(opened.calls, realClock);
  closers.add("audit rows", () => calls.flush());

  const platformUrl = config.platformUrl ?? options.platformUrl ?? (await demoPlatform());
  async function demoPlatform(): Promise<string> {
    const seal = {
      seal: (text: string, aad: string) => ring.seal(text, ["platform", aad]),
      open: (sealed: Buffer, aad: string) => ring.open(sealed, ["platform", aad]),
    };
    const platform = await startPlatform({ databaseUrl, seal });
    closers.add("platform", () => platform.close());
    return platform.url;
  }

  stopping.throwIfAborted();
  const configured = configuredRoutes(config);
  const simulatorUrl = configured ? undefined : await options.simulator();
  const routes = configured ?? simulatedRoutes(simulatorUrl ?? "");
  const notice = (found: { kind: string }, profile: string) => log.warn(found.kind, { profile });
  const newCallId = () => callId(realChance.uuid());
  const [model] = modelsOf(routes, { newCallId, notice });
  const [first] = routes;
  if (first === undefined) throw new TypeError("there is no model route");
  const [cheap] = modelsOf([summaryRoute(first, config.summaryModel)], { newCallId, notice });

  const skills = loadSkills({ names: agent.skills });
  for (const { file, code } of skills.problems) log.warn("a skill file has a problem", { name: file, code });
  const servers = agent.mcpServers.map(({ name, url: own, bareNames }) => ({
    name,
    url: own ?? `${platformUrl}/mcp`,
    bareNames: bareNames === true,
  }));
  const timeouts = Object.fromEntries(
    Object.entries(agent.tools).flatMap(([name, rule]) => (rule.timeoutMs ? [[name, rule.timeoutMs]] : [])),
  );
  const mcp = mcpServers({ servers, timeouts, observe: (event) => log.debug("mcp", { kind: event.type }) });
  closers.add("tool servers", () => mcp.close());
  return {
    store: { ...opened, calls },
    model,
    summariser: modelSummariser(cheap),
    skills,
    mcp,
    platformUrl,
    simulatorUrl,
    madeKey: made?.made ?? false,
  };
}

function upgradeOf({ as, log, stopping }: PartsOptions): Upgrade {
  const waits: Waits = { clock: realClock, signal: stopping, onWaiting: (hindrance) => warn(log, hindrance) };
  switch (as.kind) {
    case "node":
      return { kind: "when_silent", silentMs: as.silentMs, ...waits };
    case "worker":
      return { kind: "by_a_node", ...waits };
    default:
      return never(as);
  }
}

function warn(log: Log, hindrance: Hindrance): void {
  if (hindrance.kind === "unavailable") {
    log.warn("the database does not answer any more; it is asked again", { err: hindrance.failure });
    return;
  }
  const fields = { version: hindrance.found, reason: `migration ${hindrance.known} is due` };
  switch (hindrance.kind) {
    case "due":
      log.warn("the database is of another release; this worker waits for a node of its own", fields);
      return;
    case "heard":
      log.warn("a node is heard; this one changes the database once it is silent", {
        ...fields,
        count: hindrance.nodes,
      });
      return;
    case "migrating":
      log.warn("another process changes the database; this one waits for it", fields);
      return;
    case "locked":
      log.warn("a table is in use (a backup, an open transaction); this node changes it once it is free", fields);
      return;
    default:
      never(hindrance);
  }
}
