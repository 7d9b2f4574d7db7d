import { Failure } from "../../machines/failure.ts";
import type { BlobId, SessionId } from "../../machines/ids.ts";
import type { Credential, Principal } from "../../machines/principal.ts";
import type { Command } from "../../machines/protocol/commands.ts";
import type { ErrorCode, PlainSignal, Signal } from "../../machines/protocol/signals.ts";
import type { SessionState, Turn } from "../../machines/protocol/turns.ts";
import type { MediaType } from "../../machines/protocol/uploads.ts";

/** Who calls: the principal the platform named, with the cookie it was named by. */
export type Caller = { readonly principal: Principal; readonly credential: Credential };

/** One attached client. `send` never blocks and never throws; the gateway bounds what it holds. */
export interface Sink {
  send(signal: Signal): void;
  /** Ends the connection with a close code of PROTOCOL.md. */
  close(code: number, reason: string): void;
}

/** One socket's end of a session. */
export interface Attachment {
  /** Gives the command's receipt (or `error`); never rejects. `ping` is the gateway's own and does not come here. */
  deliver(command: Exclude<Command, { type: "ping" }>): Promise<PlainSignal>;
  /** The same user logged in anew on this socket's session, or the platform named new flags. */
  refresh(caller: Caller): void;
  detach(): void;
}

export type SessionSummary = {
  readonly session_id: SessionId;
  readonly title: string | null;
  readonly status: "resting" | "turning" | "awaiting" | "hibernated";
  readonly updated_at: string;
  readonly pending_interaction: boolean;
};

export type SessionPage = {
  readonly session_id: SessionId;
  readonly turns: readonly Turn[];
  readonly state: SessionState;
  readonly seq: number;
  /** Ask with `?before=` this for older turns; absent when there are none. */
  readonly before?: number;
};

/** A refusal the edge shows as it is. `code` is a protocol error code; unknown and foreign ids are both `not_found`. */
export class Refused extends Failure {
  readonly code: ErrorCode;
  readonly retryable: boolean;
  constructor(code: ErrorCode, message: string, options?: { retryable?: boolean; cause?: unknown }) {
    super(message, { cause: options?.cause });
    this.code = code;
    this.retryable = options?.retryable ?? false;
  }
}

/** What the gateway needs of the sessions. Every method may reject with `Refused`. */
export interface Conversations {
  /** A new session; with `id`, that one of the caller's, made if nobody has it. Rejects with `not_found` if it is foreign. */
  create(caller: Caller, id?: SessionId): Promise<SessionId>;
  list(caller: Caller): Promise<readonly SessionSummary[]>;
  page(id: SessionId, caller: Caller, before?: number): Promise<SessionPage>;
  erase(id: SessionId, caller: Caller): Promise<void>;
  /** Keeps a file, whose bytes are of that type, for a message of this session to name. */
  upload(id: SessionId, caller: Caller, mime: MediaType, content: Uint8Array): Promise<BlobId>;
  /** Rejects with `not_found` unless the session is the caller's. Cheap: asked before an upgrade. */
  check(id: SessionId, caller: Caller): Promise<void>;
  /**
   * Attaches a client. Before it resolves, `sink` has got `session_opened`, then what is missing after `after`
   * (or a `resync`), so that nothing streamed meanwhile can fall between. Never thaws a sleeping session.
   */
  attach(id: SessionId, caller: Caller, after: number | undefined, sink: Sink): Promise<Attachment>;
}
