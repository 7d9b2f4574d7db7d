import { randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { assist } from "../../assist.config.ts";
import { nodeId, userId } from "../../machines/ids.ts";
import type { Model } from "../../machines/model.ts";
import type { Limits } from "../../machines/protocol/signals.ts";
import { keyRing } from "../../persistence/cipher/key-ring.ts";
import { startEmbedded } from "../../persistence/embedded/start.ts";
import { connect, openStore } from "../../persistence/postgres.ts";
import { realChance, realClock } from "../../runtime/effects.ts";
import { startGateway } from "../../runtime/gateway/gateway.ts";
import { createLog, linesTo } from "../../runtime/observe/log.ts";
import { Directory } from "../../runtime/sessions/directory.ts";
import { localConversations } from "../../runtime/sessions/local-conversations.ts";
import type { World } from "../../runtime/sessions/world.ts";
import { dataFolder } from "../data-folder.ts";
import type { Setup } from "../harness.ts";

export const ANSWER_BYTES = 20 * 1_048_576;
export const ANSWER_MS = 10_000;
const PIECE = 4_096;
/** Text and thinking take turns, so that no block is larger than people see. */
const PIECES_A_BLOCK = 25;
const HOUR = 3_600_000;

const LIMITS: Limits = {
  text_bytes: 65_536,
  frame_bytes: 262_144,
  commands_per_second: 20,
  queued_messages: 10,
  send_buffer_bytes: 1_048_576,
  upload_bytes: 10_485_760,
};

export type SlowReadersNode = { readonly url: string; readonly limits: Limits; sockets(): number };

/** A node in this process whose model streams one very long answer at a steady pace. */
export async function startSlowReadersNode({ ends, say }: Setup): Promise<SlowReadersNode> {
  const dataDir = await dataFolder();
  ends.add("data folder", () => rm(dataDir, { recursive: true, force: true, maxRetries: 5 }));
  const embedded = await startEmbedded({ dataDir, log: say });
  ends.add("database", () => embedded.stop());
  const sql = connect(embedded.url);
  ends.add("connections", () => sql.end({ timeout: 5 }));
  const store = await openStore({ sql, ring: keyRing(`k1:${randomBytes(32).toString("base64")}`) });
  const log = createLog({ level: "info", destination: linesTo("/dev/null") });
  const world: World = {
    node: nodeId(realChance.uuid()),
    store,
    model: tellsEverything,
    capabilities: async () => ({
      system: "",
      toolbox: { tools: [], find: () => undefined },
      fixed: { system: 0, skills: 0, tools: 0 },
      loadedSkills: () => new Set(),
      eager: () => [],
      describe: async () => ({}),
    }),
    clock: realClock,
    chance: realChance,
    observe: () => {},
    settings: {
      agent: "bench",
      planTools: assist.planTools,
      limits: { steps: 1, ms: HOUR, tokens: 1_000_000_000, repeats: 5, unknownSteps: 3 },
      maxOutputTokens: 1_000,
      queueBound: LIMITS.queued_messages,
      hibernateAfterMs: 0,
      leaseMs: 15_000,
      grants: true,
      grantMs: HOUR,
    },
  };
  const directory = new Directory(world, (event, id, err) => log.warn(event, { session_id: id, err }));
  const principal = { userId: userId("bench"), name: "Bench", flags: [], preferences: {} };
  const gateway = await startGateway({
    host: "127.0.0.1",
    port: 0,
    conversations: localConversations(directory, world, { limits: LIMITS, simulated: true }),
    authenticate: async () => ({ kind: "principal", principal }),
    allowNoOrigin: true,
    limits: LIMITS,
    ready: () => ({ ready: true, parts: {} }),
    metrics: async () => "",
    consoleDir: dataDir,
    agent: "bench",
    simulated: true,
    log,
  });
  ends.add("gateway", () => gateway.close());
  ends.add("sessions", () => directory.park());
  return { url: gateway.url, limits: LIMITS, sockets: () => gateway.sockets() };
}

const WORDS = "a word of an answer that goes on and on, and nobody ever asked for that much of it; ";
const TEXT = WORDS.repeat(Math.ceil(PIECE / WORDS.length)).slice(0, PIECE);

const tellsEverything: Model = {
  name: "bench",
  issuer: "scripted",
  window: 1_000_000_000,
  projector: 1,
  async *stream(_request, signal) {
    const began = performance.now();
    const pieces = ANSWER_BYTES / PIECE;
    for (let piece = 0; piece < pieces; piece += 1) {
      const ahead = (piece / pieces) * ANSWER_MS - (performance.now() - began);
      if (ahead > 1) await pause(ahead, undefined, { signal });
      const type = Math.floor(piece / PIECES_A_BLOCK) % 2 === 0 ? "text" : "thinking";
      yield { type, delta: TEXT };
    }
    const usage = { input: 0, output: 0, thinking: 0, cached: 0 };
    const parts = [{ kind: "text", text: "The end." }] as const;
    yield { type: "end", profile: "bench", issuer: "scripted", usage, truncated: false, parts };
  },
};
