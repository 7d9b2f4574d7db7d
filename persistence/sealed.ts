import type { BlobId, CallId, CommandId, InteractionId, SessionId, TurnId } from "../machines/ids.ts";
import { columnOf, type Place } from "./cipher/place.ts";
import type { SessionCipher } from "./cipher/session-cipher.ts";
import { SessionBroken } from "./store.ts";

/** Where each sealed column's value belongs: it opens nowhere else. */
export const places = {
  title: (id: SessionId): Place => ({ table: "sessions", column: "title", row: id }),
  snapshot: (id: SessionId): Place => ({ table: "sessions", column: "snapshot", row: id }),
  inbox: (id: CommandId): Place => ({ table: "inbox", column: "body", row: id }),
  entries: (pos: number): Place => ({ table: "entries", column: "body", row: pos }),
  blocks: (id: TurnId): Place => ({ table: "blocks", column: "body", row: id }),
  // A table of this name once held them.
  grants: (id: TurnId): Place => ({ table: "grants", column: "body", row: id, movedTo: "inbox.grant_body" }),
  blobs: (id: BlobId): Place => ({ table: "blobs", column: "bytes", row: id }),
  summaries: (anchor: number): Place => ({ table: "summaries", column: "body", row: anchor }),
  interactions: (id: InteractionId, revision: number): Place => ({
    table: "interactions",
    column: "body",
    row: [id, revision],
  }),
  resolutions: (id: InteractionId, revision: number): Place => ({
    table: "interactions",
    column: "resolution",
    row: [id, revision],
  }),
  actions: (id: CommandId): Place => ({ table: "actions", column: "body", row: id }),
  answers: (id: CommandId): Place => ({ table: "actions", column: "answer", row: id }),
  results: (id: string): Place => ({ table: "results", column: "body", row: id }),
  requests: (turn: TurnId, call: CallId): Place => ({ table: "subagents", column: "request", row: [turn, call] }),
  subagents: (turn: TurnId, call: CallId): Place => ({ table: "subagents", column: "result", row: [turn, call] }),
  bundles: (id: string): Place => ({ table: "bundles", column: "body", row: id }),
} as const;

/** Opens a stored value; throws `SessionBroken` when it can't be trusted or has another form than `has` asks for. */
export function opened<T>(
  id: SessionId,
  cipher: SessionCipher,
  place: Place,
  sealed: Uint8Array,
  has: (value: unknown) => value is T,
): T {
  let value: unknown;
  try {
    value = cipher.open(place, sealed);
  } catch (cause) {
    throw new SessionBroken(id, cause);
  }
  if (has(value)) return value;
  throw new SessionBroken(id, new TypeError(`${columnOf(place)} holds another form than expected`));
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
