import { createHash } from "node:crypto";
import { type CommandId, commandId, type SessionId, sessionId, type UserId } from "../../machines/ids.ts";

/** Any uuid that names a version, in either case: clients on some systems write it in capitals. */
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** The session behind a thread: the thread's own uuid, else one that is this owner's for ever. */
export function sessionOf(threadId: string, owner: UserId): SessionId {
  return sessionId(uuidOf(threadId) ?? derived("thread", owner, threadId));
}

/** The command behind a run, so that the same run posted again is the same command. */
export function commandOf(runId: string): CommandId {
  return commandId(uuidOf(runId) ?? derived("run", runId));
}

function uuidOf(text: string): string | undefined {
  const lower = text.toLowerCase();
  return UUID.test(lower) ? lower : undefined;
}

/** A uuid of version 8: the digest of its parts. Each part has its length before it, so no two lists look alike. */
function derived(...parts: readonly string[]): string {
  const hash = createHash("sha256");
  for (const part of ["dormouse agui", ...parts]) hash.update(`${Buffer.byteLength(part)}:${part}`);
  const hex = hash.digest("hex");
  const variant = ((Number.parseInt(hex[16] ?? "0", 16) & 0x3) | 0x8).toString(16);
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `${variant}${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join("-");
}
