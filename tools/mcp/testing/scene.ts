import { callId, sessionId, turnId, userId } from "../../../machines/ids.ts";
import type { Clock } from "../../clock.ts";
import type { Tool, ToolAnswer, ToolContext } from "../../tool.ts";
import type { Caller } from "../pool.ts";
import { type McpEvent, type McpServersOptions, mcpServers } from "../servers.ts";
import type { FakeMcpServer } from "./fake-server.ts";

/** A clock that stands still until it is moved; alarms ring, in their order, while it moves. */
export class StepClock implements Clock {
  #now = 1_000_000;
  readonly #alarms = new Set<{ readonly at: number; readonly ring: () => void }>();

  now(): number {
    return this.#now;
  }

  schedule(ms: number, ring: () => void): () => void {
    const alarm = { at: this.#now + ms, ring };
    this.#alarms.add(alarm);
    return () => void this.#alarms.delete(alarm);
  }

  /** Alarms that are set now. */
  get armed(): number {
    return this.#alarms.size;
  }

  advance(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const next = [...this.#alarms].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
      if (next === undefined) break;
      this.#now = next.at;
      this.#alarms.delete(next);
      next.ring();
    }
    this.#now = end;
  }
}

/** A promise with its resolve function outside. */
export function deferred(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

export const never = new AbortController().signal;

export function caller(user: string, cookie: string, flags: readonly string[] = []): Caller {
  return { principal: { userId: userId(user), name: user, flags, preferences: {} }, credential: { cookie } };
}

/** A context as the turn would give it; `over` replaces parts. */
export function contextOf(who: Caller, over: Partial<ToolContext> = {}): ToolContext {
  return {
    sessionId: sessionId("00000000-0000-4000-8000-000000000001"),
    turnId: turnId("00000000-0000-4000-8000-000000000002"),
    callId: callId("call-1"),
    idempotencyKey: "s.t.call-1",
    loadedSkills: new Set<string>(),
    call: () => Promise.reject(new TypeError("this tool calls no other")),
    ...who,
    ...over,
  };
}

/** MCP servers over fakes, with a clock that stands still and a record of what was observed. */
export function scene(servers: Readonly<Record<string, FakeMcpServer>>, options: Partial<McpServersOptions> = {}) {
  const clock = new StepClock();
  const events: McpEvent[] = [];
  const names = Object.keys(servers);
  const mcp = mcpServers({
    servers: names.map((name) => ({ name, url: servers[name]?.url ?? "", bareNames: names.length === 1 })),
    clock,
    observe: (event) => void events.push(event),
    ...options,
  });
  const find = async (who: Caller, name: string): Promise<Tool> => {
    const { tools, missing } = await mcp.discover(who);
    const tool = tools.find((one) => one.name === name);
    if (tool === undefined)
      throw new TypeError(`no tool ${name}: ${tools.map((one) => one.name)} ${JSON.stringify(missing)}`);
    return tool;
  };
  const call = async (
    who: Caller,
    name: string,
    args: unknown = {},
    signal = never,
    over: Partial<ToolContext> = {},
  ): Promise<ToolAnswer> => {
    const result = await (await find(who, name)).run(args, contextOf(who, over), signal);
    if (result.kind === "pause") throw new TypeError(`${name} asks the user: no tool of a server does`);
    return result;
  };
  return { mcp, clock, events, find, call };
}
