import { never } from "../../machines/failure.ts";
import { type Command, commandSchema } from "../../machines/protocol/commands.ts";
import { isTooDeep, MOST_LEVELS } from "../../machines/protocol/depth.ts";
import type { ErrorCode, Limits } from "../../machines/protocol/signals.ts";

export type FrameError = { readonly id?: string; readonly code: ErrorCode; readonly message: string };
export type Decoded =
  | { readonly kind: "command"; readonly command: Command }
  | { readonly kind: "refused"; readonly error: FrameError };

const UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}";
/** No brace between the edge of the frame and the id: it is the frame's own. Quotes in a text are escaped, so none is inside one. */
const ID_AT_START = new RegExp(`^\\s*\\{[^{}\\[\\]]*?"id"\\s*:\\s*"(${UUID})"`);
const ID_AT_END = new RegExp(`"id"\\s*:\\s*"(${UUID})"[^{}\\[\\]]*\\}\\s*$`);
const EDGE = 1_024;

/** The id of a frame that is not worth parsing, if it is near one of its ends. */
export function glimpseId(frame: string): string | undefined {
  return (ID_AT_START.exec(frame.slice(0, EDGE)) ?? ID_AT_END.exec(frame.slice(-EDGE)))?.[1];
}

/** Pings have an allowance of their own, so they are told apart before anything is parsed. */
export const looksLikePing = (frame: string): boolean => frame.length < 256 && /"type"\s*:\s*"ping"/.test(frame);

/** The only place where what a client sent becomes a command. `bytes` is its length on the wire. */
export function decode(frame: string, bytes: number, limits: Limits): Decoded {
  if (bytes > limits.frame_bytes)
    return refused("too_large", `a command has at most ${limits.frame_bytes} bytes`, glimpseId(frame));
  let raw: unknown;
  try {
    raw = JSON.parse(frame);
  } catch {
    return refused("invalid_json", "a frame is one JSON object", glimpseId(frame));
  }
  const id = ownId(raw);
  if (isTooDeep(raw)) return refused("invalid_command", `a command has at most ${MOST_LEVELS} levels`, id);
  const parsed = commandSchema.safeParse(raw);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return refused(isLongAnswer(issue) ? "too_large" : "invalid_command", complaint(issue), id);
  }
  if (textBytes(parsed.data) > limits.text_bytes)
    return refused("too_large", `text has at most ${limits.text_bytes} bytes of UTF-8`, id);
  return { kind: "command", command: parsed.data };
}

export function refused(code: ErrorCode, message: string, id: string | undefined): Decoded {
  return { kind: "refused", error: { ...(id === undefined ? {} : { id }), code, message } };
}

function ownId(raw: unknown): string | undefined {
  const id: unknown = typeof raw === "object" && raw !== null && "id" in raw ? raw.id : undefined;
  return typeof id === "string" && id.length <= 100 ? id : undefined;
}

type Issue = { readonly code?: string; readonly origin?: string; readonly path: readonly PropertyKey[] };

/** A text that a person wrote into an answer and that is too long, like one of a message. */
const isLongAnswer = (issue: Issue | undefined): boolean =>
  issue?.code === "too_big" && issue.origin === "string" && issue.path[0] === "resolution";

/** Names the field; zod's messages quote what was expected, never what came. */
function complaint(issue: { readonly path: readonly PropertyKey[]; readonly message: string } | undefined): string {
  const field = issue?.path.map(String).join(".") ?? "";
  return `${field === "" ? "the command" : field}: ${issue?.message ?? "not valid"}`.slice(0, 300);
}

/** Bytes of what a person wrote. Edits count as JSON. */
function textBytes(command: Command): number {
  if (command.type === "message") return Buffer.byteLength(command.text);
  if (command.type !== "resolve") return 0;
  const { resolution } = command;
  switch (resolution.kind) {
    case "answered":
      return Buffer.byteLength([...resolution.selected, resolution.text ?? ""].join(""));
    case "accepted":
      return Buffer.byteLength(JSON.stringify(resolution.edits ?? null));
    case "dismissed":
      return Buffer.byteLength(resolution.reason ?? "");
    default:
      return never(resolution);
  }
}
