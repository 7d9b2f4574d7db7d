import { setMaxListeners } from "node:events";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { FetchLike, Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { McpError, type Progress, ToolListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import type { z } from "zod";
import type { Clock } from "../clock.ts";
import { callerFetch } from "./caller-fetch.ts";
import { BROKEN_STREAM, McpFailure, type McpFailureCode } from "./failures.ts";
import { outputValidator } from "./output-check.ts";
import { Patience, type Waiting } from "./patience.ts";

export type ConnectionOptions = {
  readonly url: URL;
  readonly cookie: string;
  readonly bodyBytes: number;
  readonly connectMs: number;
  readonly clock: Clock;
  readonly fetch: FetchLike;
  readonly onListChanged: () => void;
  readonly onReinitialised: () => void;
};

type Live = { readonly client: Client; inFlight: number; retired: boolean };
type Request = { readonly method: string; readonly params?: Record<string, unknown> };

/** The SDK has timers of its own; ours rule, so its are set where they never ring first. */
const SDK_SLACK_MS = 60_000;

/**
 * One principal's connection to one server. Opens its MCP session with the first request and opens it again, once a request, when the
 * server says that it forgot the session. Every failure is an `McpFailure`; an abort of the caller throws the signal's reason.
 */
export class Connection {
  readonly #options: ConnectionOptions;
  #session: Promise<Live> | undefined;
  #inFlight = 0;

  constructor(options: ConnectionOptions) {
    this.#options = options;
  }

  get busy(): boolean {
    return this.#inFlight > 0;
  }

  /** Sends one request; gives it up when the patience with it is over, with a cancellation notice to the server. */
  async request<S extends z.ZodType>(
    request: Request,
    schema: S,
    waiting: Waiting,
    signal: AbortSignal,
  ): Promise<z.infer<S>> {
    signal.throwIfAborted();
    const over = new AbortController();
    let why: unknown;
    const giveUp = (reason: unknown) => {
      why = reason;
      over.abort("no longer needed");
    };
    const stop = () => giveUp(signal.reason);
    // A turn has one signal for all its calls.
    setMaxListeners(0, signal);
    signal.addEventListener("abort", stop, { once: true });
    const patience = new Patience(this.#options.clock, waiting, giveUp);
    this.#inFlight += 1;
    try {
      return await this.#inSession(
        (live) => this.#send(live, request, schema, waiting, patience, over.signal),
        over.signal,
      );
    } catch (error) {
      if (over.signal.aborted) throw why;
      const failure = asFailure(error);
      if (failure.code === "mcp_auth") await this.close();
      throw failure;
    } finally {
      this.#inFlight -= 1;
      patience.end();
      signal.removeEventListener("abort", stop);
    }
  }

  /** Ends the MCP session here. A later request opens a new one. */
  async close(): Promise<void> {
    const session = this.#session;
    this.#session = undefined;
    const live = await session?.catch(() => undefined);
    if (live !== undefined) await retire(live, "now");
  }

  async #inSession<T>(use: (live: Live) => Promise<T>, signal: AbortSignal): Promise<T> {
    const session = this.#open();
    try {
      return await use(await unlessAborted(session, signal));
    } catch (error) {
      if (!(error instanceof McpFailure) || error.code !== "mcp_session_lost") throw error;
      await this.#forget(session);
      const anew = this.#open();
      this.#options.onReinitialised();
      try {
        return await use(await unlessAborted(anew, signal));
      } catch (second) {
        if (second instanceof McpFailure && second.code === "mcp_session_lost") await this.#forget(anew);
        throw second;
      }
    }
  }

  #open(): Promise<Live> {
    if (this.#session !== undefined) return this.#session;
    const session = connect(this.#options);
    this.#session = session;
    session.catch(() => {
      if (this.#session === session) this.#session = undefined;
    });
    return session;
  }

  /** Several requests may learn at once that a session is lost; only the first of them drops it. */
  async #forget(session: Promise<Live>): Promise<void> {
    if (this.#session === session) this.#session = undefined;
    const live = await session.catch(() => undefined);
    if (live !== undefined) await retire(live, "when idle");
  }

  async #send<S extends z.ZodType>(
    live: Live,
    request: Request,
    schema: S,
    { totalMs, onProgress }: Waiting,
    patience: Patience,
    signal: AbortSignal,
  ) {
    live.inFlight += 1;
    const onprogress = (progress: Progress) => {
      patience.heard();
      onProgress?.(progress);
    };
    const options = { signal, timeout: totalMs + SDK_SLACK_MS, ...(onProgress && { onprogress }) };
    try {
      return (await live.client.request(request, schema, options)) as z.infer<S>;
    } finally {
      live.inFlight -= 1;
      if (live.retired) await retire(live, "when idle");
    }
  }
}

async function retire(live: Live, when: "now" | "when idle"): Promise<void> {
  live.retired = true;
  if (when === "now" || live.inFlight === 0) await live.client.close();
}

async function connect(options: ConnectionOptions): Promise<Live> {
  const caller = callerFetch(options);
  const transport = new StreamableHTTPClientTransport(options.url, {
    fetch: caller.fetch,
    requestInit: { redirect: "manual" },
    // A lost stream is not taken up again: answers are asked for anew, and the tool list has a time to live.
    reconnectionOptions: {
      initialReconnectionDelay: 1,
      maxReconnectionDelay: 1,
      reconnectionDelayGrowFactor: 1,
      maxRetries: 0,
    },
  });
  const client = new Client({ name: "dormouse", version: "1" }, { jsonSchemaValidator: outputValidator });
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => options.onListChanged());

  const late = new McpFailure("mcp_unavailable", "the server did not complete the handshake in time", {
    reached: false,
  });
  const deadline = new AbortController();
  const disarm = options.clock.schedule(options.connectMs, () => deadline.abort(late));
  try {
    const opening = client.connect(transport as Transport, { timeout: options.connectMs + SDK_SLACK_MS });
    await unlessAborted(opening, deadline.signal);
  } catch (error) {
    await client.close();
    const failure = asFailure(error);
    throw failure.reached ? new McpFailure(failure.code, failure.message, { cause: failure, reached: false }) : failure;
  } finally {
    disarm();
  }
  const deliver = transport.onmessage;
  transport.onmessage = (message) => {
    deliver?.(message);
    if ("id" in message && message.id !== undefined && !("method" in message)) caller.answered(message.id);
  };
  return { client, inFlight: 0, retired: false };
}

/** The promise's result, or a throw of the signal's reason as soon as it aborts. The promise itself goes on. */
async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  let stop = () => {};
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", stop);
    promise.catch(() => undefined);
  }
}

const BROKEN_CODES: readonly McpFailureCode[] = ["mcp_unavailable", "mcp_too_large"];

function asFailure(error: unknown): McpFailure {
  if (error instanceof McpFailure) return error;
  if (error instanceof McpError && error.code === BROKEN_STREAM) {
    const told = (error.data as { failure?: unknown } | undefined)?.failure;
    const code = BROKEN_CODES.find((known) => known === told) ?? "mcp_protocol";
    return new McpFailure(code, "the answer could not be read to its end", { cause: error });
  }
  return new McpFailure("mcp_protocol", "the server's answer was not what the protocol asks for", { cause: error });
}
