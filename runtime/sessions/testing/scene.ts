import { randomBytes } from "node:crypto";
import type { Chance, Clock } from "../../../machines/effects.ts";
import { commandId, nodeId, type SessionId, sessionId, userId } from "../../../machines/ids.ts";
import type { Model } from "../../../machines/model.ts";
import type { Command } from "../../../machines/protocol/commands.ts";
import type { PlainSignal, Signal, SignalData } from "../../../machines/protocol/signals.ts";
import type { BlobStore } from "../../../persistence/blobs/blob-store.ts";
import { keyRing } from "../../../persistence/cipher/key-ring.ts";
import { connect, openStore } from "../../../persistence/postgres.ts";
import type { Store } from "../../../persistence/store.ts";
import { testDatabase } from "../../../persistence/testing/database.ts";
import type { Tool, ToolContext, ToolResult } from "../../../tools/tool.ts";
import { realChance, realClock } from "../../effects.ts";
import type { RuntimeEvent } from "../../observe/events.ts";
import type { Attachment, Caller, Conversations, Sink } from "../conversations.ts";
import { Directory } from "../directory.ts";
import { localConversations } from "../local-conversations.ts";
import type { SessionSettings, World } from "../world.ts";

export const LIMITS = {
  text_bytes: 65_536,
  frame_bytes: 262_144,
  commands_per_second: 20,
  queued_messages: 10,
  send_buffer_bytes: 1_048_576,
  upload_bytes: 10_485_760,
};

export const rivera: Caller = {
  principal: { userId: userId("dr-rivera"), name: "Dr Rivera", flags: [], preferences: {} },
  credential: { cookie: "platform_session=rivera" },
};

export type ToolScript = {
  readonly name: string;
  readonly readOnly?: boolean;
  readonly repeatable?: boolean;
  run(args: unknown, key: string, signal: AbortSignal, context: ToolContext): Promise<ToolResult>;
};

export type SceneOptions = {
  readonly model: Model;
  readonly tools?: readonly ToolScript[];
  readonly settings?: Partial<SessionSettings>;
  readonly clock?: Clock;
  readonly chance?: Chance;
  /** Waited for when a turn's capabilities are looked up. */
  readonly opening?: () => Promise<void>;
  /** What a test has of its own. */
  readonly world?: (made: World) => Partial<World>;
};

/** A database that outlives the nodes in it: a second `node` is the process after a restart. */
export async function database(blobs?: BlobStore, now?: () => number) {
  const { url, drop } = await testDatabase();
  const ring = keyRing(`k1:${randomBytes(32).toString("base64")}`);
  const statements: string[] = [];
  const sql = connect(url, { max: 6, onStatement: (text) => statements.push(text) });
  const store = await openStore({ sql, ring, ...(blobs && { blobs }), ...(now && { now }) });
  return {
    sql,
    store,
    ring,
    statements,
    async end() {
      await sql.end({ timeout: 5 });
      await drop();
    },
  };
}

/** One node over `store`: its sessions as the gateway sees them. */
export function node(store: Store, options: SceneOptions) {
  const events: RuntimeEvent[] = [];
  const faults: unknown[] = [];
  const tools = (options.tools ?? []).map(toolOf);
  const made: World = {
    node: nodeId(realChance.uuid()),
    store,
    model: options.model,
    capabilities: async () => {
      await options.opening?.();
      return {
        system: "You are a test.",
        toolbox: { tools, find: (name) => tools.find((tool) => tool.name === name) },
        fixed: { system: 5, skills: 0, tools: 10 },
        loadedSkills: () => new Set(),
        eager: () => [],
        describe: async ({ patientId }) => (patientId === undefined ? {} : { patient: { id: patientId } }),
      };
    },
    clock: options.clock ?? realClock,
    chance: options.chance ?? realChance,
    observe: (event) => events.push(event),
    settings: {
      agent: "test",
      planTools: { read: "plan_get", create: "plan_create", update: "plan_update" },
      limits: { steps: 6, ms: 60_000, tokens: 100_000, repeats: 5, unknownSteps: 3 },
      maxOutputTokens: 1_000,
      queueBound: LIMITS.queued_messages,
      hibernateAfterMs: 0,
      leaseMs: 15_000,
      grants: true,
      grantMs: 60_000,
      ...options.settings,
    },
  };
  const world: World = { ...made, ...options.world?.(made) };
  const directory = new Directory(world, (event, id, error) => faults.push({ event, id, error }));
  const conversations = localConversations(directory, world, { limits: LIMITS, simulated: true });
  return { world, directory, conversations, events, faults };
}

function toolOf(script: ToolScript): Tool {
  return {
    name: script.name,
    title: script.name,
    description: "a tool of a test",
    inputSchema: { type: "object" },
    traits: { readOnly: script.readOnly ?? true, repeatable: script.repeatable ?? true },
    run: (args, context, signal) => script.run(args, context.idempotencyKey, signal, context),
  };
}

/** A client that collects what it is sent and waits for what it wants. */
export class Client implements Sink {
  readonly signals: Signal[] = [];
  closed: { code: number; reason: string } | undefined;
  #attachment: Attachment | undefined;
  #waiting: { wants: (signal: Signal) => boolean; resolve: (signal: Signal) => void }[] = [];

  static async open(conversations: Conversations, id: SessionId, after?: number, caller = rivera): Promise<Client> {
    const client = new Client();
    client.#attachment = await conversations.attach(id, caller, after, client);
    return client;
  }

  send(signal: Signal): void {
    this.signals.push(signal);
    for (const wait of this.#waiting.filter(({ wants }) => wants(signal))) wait.resolve(signal);
    this.#waiting = this.#waiting.filter(({ wants }) => !wants(signal));
  }

  close(code: number, reason: string): void {
    this.closed = { code, reason };
  }

  leave(): void {
    this.#attachment?.detach();
  }

  deliver(command: Exclude<Command, { type: "ping" }>): Promise<PlainSignal> {
    if (this.#attachment === undefined) throw new TypeError("not attached");
    return this.#attachment.deliver(command);
  }

  say(text: string, id: string = realChance.uuid()): Promise<PlainSignal> {
    return this.deliver({ type: "message", id: commandId(id), text });
  }

  stop(turnId?: string): Promise<PlainSignal> {
    return this.deliver({ type: "cancel", id: realChance.uuid(), ...(turnId && { turn_id: turnId }) });
  }

  /** The first such signal, also one that is there already. */
  until<K extends Signal["kind"]>(kind: K, wants: (signal: Extract<Signal, { kind: K }>) => boolean = () => true) {
    const fits = (signal: Signal) => signal.kind === kind && wants(signal as Extract<Signal, { kind: K }>);
    const there = this.signals.find(fits);
    if (there) return Promise.resolve(there as Extract<Signal, { kind: K }>);
    return new Promise<Extract<Signal, { kind: K }>>((resolve) => {
      this.#waiting.push({ wants: fits, resolve: (signal) => resolve(signal as Extract<Signal, { kind: K }>) });
    });
  }

  asleep() {
    return this.until("state_changed", ({ data }) => data.status === "hibernated");
  }

  of<K extends Signal["kind"]>(kind: K): SignalData<K>[] {
    return this.signals.filter((signal) => signal.kind === kind).map((signal) => signal.data as SignalData<K>);
  }

  /** Forgets what came, so that `until` waits for what comes. */
  clear(): void {
    this.signals.length = 0;
  }

  /** The text a client shows from deltas alone. */
  get text(): string {
    return this.of("llm_delta")
      .map((delta) => delta.text)
      .join("");
  }
}

export const freshId = (): SessionId => sessionId(realChance.uuid());
