import type { Limits } from "../../machines/protocol/signals.ts";
import type { Log } from "../observe/log.ts";
import type { Conversations } from "../sessions/conversations.ts";
import type { Authenticator } from "./authenticate.ts";
import type { Login } from "./platform-login.ts";
import type { Timers } from "./timers.ts";

export type Readiness = { readonly ready: boolean; readonly parts: Readonly<Record<string, string>> };

/** All that the gateway needs of the rest of the runtime. */
export type GatewayServices = {
  readonly host: string;
  /** 0: a free one. */
  readonly port: number;
  readonly conversations: Conversations;
  readonly authenticate: Authenticator;
  /** Compared as whole texts. Absent: the server's own origin. */
  readonly origins?: readonly string[];
  readonly allowNoOrigin: boolean;
  /** Absent: operator routes answer 404. */
  readonly operatorToken?: string;
  readonly limits: Limits;
  readonly ready: () => Readiness;
  /** Prometheus text. */
  readonly metrics: () => Promise<string>;
  /** Folder of the built console. */
  readonly consoleDir: string;
  /** Demo mode only: logs in at the reference platform. */
  readonly login?: Login;
  readonly agent: string;
  readonly simulated: boolean;
  readonly log: Log;
  readonly timers?: Timers;
  readonly random?: () => number;
};

/** The running edge: one port for HTTP and WebSocket. */
export interface Gateway {
  readonly url: string;
  readonly port: number;
  /** Open sockets, without runs that are streamed over HTTP. */
  sockets(): number;
  /**
   * Tells every socket to come back after `reconnectAfterMs` and up to as much again at random, and refuses new
   * sockets and sessions with 503. What runs goes on.
   */
  announceDrain(reconnectAfterMs: number): void;
  stopListening(): void;
  /** Ends every streamed run in order, sends every socket a close frame, gives them a second to answer, then cuts every connection. */
  closeAll(code: number, reason: string): Promise<void>;
  /** Cuts everything at once. */
  close(): void;
}

/** Times of one socket, in milliseconds. */
export const HEARTBEAT_AFTER = 25_000;
export const SILENCE_LIMIT = 60_000;
export const LOGIN_RECHECK = 30_000;
/** A command is delivered under a login that was seen at most this long ago. */
export const LOGIN_FRESH = 5_000;
/** How long a client may take to answer a close frame. */
export const CLOSE_LINGER = 1_000;
/** A run input carries the whole conversation of its client. */
export const RUN_INPUT_BYTES = 4_194_304;
/** What a frame may exceed its limit by and still be answered. */
export const OVERSIZE_MARGIN = 1_048_576;
