import { userId } from "../../../machines/ids.ts";
import type { Limits } from "../../../machines/protocol/signals.ts";
import type { Log } from "../../observe/log.ts";
import type { Authentication } from "../authenticate.ts";
import { startGateway } from "../gateway.ts";
import type { Gateway, GatewayServices } from "../services.ts";
import { type MemoryConversations, memoryConversations } from "./memory-conversations.ts";

export const LIMITS: Limits = {
  text_bytes: 65_536,
  frame_bytes: 262_144,
  commands_per_second: 20,
  queued_messages: 10,
  send_buffer_bytes: 1_048_576,
  upload_bytes: 10_485_760,
};

export type Stage = {
  readonly gateway: Gateway;
  readonly conversations: MemoryConversations;
  /** Cookies that the platform was asked about. */
  readonly asked: string[];
  /** Messages logged at `error`. */
  readonly errors: string[];
  readonly origin: string;
  /** What the platform says of a cookie; by default `user=<id>` is a login of that user. */
  platform: (cookie: string) => Authentication | Promise<Authentication>;
};

export const loginOf = (user: string, flags: readonly string[] = []): Authentication => ({
  kind: "principal",
  principal: { userId: userId(user), name: user, flags, preferences: {} },
});

const byName = (cookie: string): Authentication => {
  const user = /^user=(\w+)$/.exec(cookie)?.[1];
  return user === undefined ? { kind: "no_login" } : loginOf(user);
};

/** A real gateway on a free port with sessions in memory. The test closes it. */
export async function startStage(changes: Partial<GatewayServices> = {}): Promise<Stage> {
  const limits = changes.limits ?? LIMITS;
  const conversations = memoryConversations(limits);
  const asked: string[] = [];
  const errors: string[] = [];
  const gateway = await startGateway({
    host: "127.0.0.1",
    port: 0,
    conversations,
    async authenticate(cookie) {
      if (cookie === "") return { kind: "no_login" };
      asked.push(cookie);
      return stage.platform(cookie);
    },
    allowNoOrigin: false,
    limits,
    ready: () => ({ ready: true, parts: {} }),
    metrics: async () => "metric 1\n",
    consoleDir: "/nowhere",
    agent: "assist",
    simulated: true,
    log: errorLog(errors),
    ...changes,
  });
  const stage: Stage = { gateway, conversations, asked, errors, origin: gateway.url, platform: byName };
  return stage;
}

function errorLog(errors: string[]): Log {
  return {
    debug() {},
    info() {},
    warn() {},
    error: (message, fields) =>
      void errors.push(`${message} ${fields?.err instanceof Error ? fields.err.message : ""}`),
    flush: async () => {},
  };
}
