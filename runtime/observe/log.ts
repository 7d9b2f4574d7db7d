import { type DestinationStream, destination as fileDestination, pino } from "pino";
import { Failure, failureCode } from "../../machines/failure.ts";

export type LogLevel = "trace" | "debug" | "info" | "warn" | "error" | "fatal" | "silent";

/** Every field a line may have. What is not named here is dropped, so no conversation text gets in by accident. */
const FIELDS = [
  "session_id",
  "turn_id",
  "user_id",
  "node_id",
  "call_id",
  "block_id",
  "command_id",
  "interaction_id",
  "code",
  "outcome",
  "reason",
  "status",
  "route",
  "method",
  "kind",
  "name",
  "tool",
  "tools",
  "skill",
  "skills",
  "profile",
  "model",
  "step",
  "steps",
  "attempt",
  "ms",
  "count",
  "bytes",
  "tokens_in",
  "tokens_out",
  "tokens_before",
  "tokens_after",
  "used",
  "reserve",
  "window",
  "by",
  "purpose",
  "cause",
  "eager",
  "retryable",
  "signal",
  "url",
  "host",
  "port",
  "folder",
  "pid",
  "version",
  "parts",
] as const;

type FieldName = (typeof FIELDS)[number];
type FieldValue = string | number | boolean | null | undefined | readonly string[];
export type LogFields = { readonly [K in FieldName]?: FieldValue } & { readonly err?: unknown };

/** Structured lines for operators. Messages are fixed texts; what varies goes into fields. */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** Resolves when everything written so far has left the process. */
  flush(): Promise<void>;
}

type Flushed = (error?: Error) => void;
type Destination = DestinationStream & { flush?: (done?: Flushed) => void };

export type LogOptions = {
  readonly level: LogLevel;
  /** Where lines go; stdout when absent. */
  readonly destination?: Destination;
};

/** Lines go out together once there are so many bytes of them, or so many milliseconds later. */
const TOGETHER_BYTES = 8_192;
const TOGETHER_MS = 200;

/**
 * Lines to a file, by its path or as an open descriptor. A write of its own for each line would cost a turn more than
 * the line does. What still waits is written when the process exits, also after an exception that nothing caught, though
 * perhaps before what was being written; a process that is killed loses the lines of `TOGETHER_MS` at most.
 */
export const linesTo = (dest: string | number): Destination =>
  fileDestination({ dest, sync: false, minLength: TOGETHER_BYTES, periodicFlush: TOGETHER_MS });

const allowed: ReadonlySet<string> = new Set(FIELDS);
const MAX_TEXT = 500;

/**
 * A pino logger behind an allow-list of fields: ids, names, counts and times pass, everything else is dropped. A warning
 * or an error is written at once, with what waits before it.
 */
export function createLog({ level, destination = linesTo(1) }: LogOptions): Log {
  const logger = pino(
    {
      level,
      base: null,
      serializers: { err: (value: unknown) => value },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters,
    },
    destination,
  );
  return {
    debug: (message, fields) => logger.debug(safe(fields), message),
    info: (message, fields) => logger.info(safe(fields), message),
    warn(message, fields) {
      logger.warn(safe(fields), message);
      destination.flush?.();
    },
    error(message, fields) {
      logger.error(safe(fields), message);
      destination.flush?.();
    },
    async flush() {
      // A write that is under way leaves what came after its beginning to the next one.
      await flushed(destination);
      await flushed(destination);
    },
  };
}

function flushed(destination: Destination): Promise<void> {
  return new Promise((resolve, reject) => {
    if (destination.flush === undefined) resolve();
    else destination.flush((error) => (error && !isUnsynced(error) ? reject(error) : resolve()));
  });
}

/** The lines are out, but what they went to (a pipe, a terminal) can't be made to keep them. */
const isUnsynced = (error: Error): boolean => (error as NodeJS.ErrnoException).syscall === "fsync";

const formatters = { level: (label: string) => ({ level: label }) };

function safe(fields: LogFields = {}): Record<string, unknown> {
  const line: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) {
    if (name === "err") line["err"] = safeError(value);
    else if (allowed.has(name)) line[name] = safeValue(value);
  }
  return line;
}

function safeValue(value: unknown): unknown {
  if (typeof value === "string") return value.slice(0, MAX_TEXT);
  if (typeof value === "number" || typeof value === "boolean" || value === null) return value;
  if (Array.isArray(value)) return value.filter((item) => typeof item === "string").slice(0, 50);
  return undefined;
}

/**
 * A `Failure`'s message is written for operators and kept. Any other error's message may quote a value (a row, a
 * field, a URL), so only its class, code and stack frames are.
 */
function safeError(error: unknown, depth = 0): Record<string, unknown> {
  if (!(error instanceof Error)) return { type: typeof error };
  const own = (error as { code?: unknown }).code;
  return {
    type: error.name,
    code: error instanceof Failure ? failureCode(error) : typeof own === "string" ? own.slice(0, 100) : "internal",
    ...(error instanceof Failure ? { message: error.message.slice(0, MAX_TEXT) } : { stack: frames(error) }),
    ...(error.cause !== undefined && depth < 3 ? { cause: safeError(error.cause, depth + 1) } : {}),
  };
}

function frames(error: Error): readonly string[] {
  const lines = (error.stack ?? "").split("\n").map((line) => line.trim());
  return lines.filter((line) => /^at .+:\d+:\d+\)?$/.test(line)).slice(0, 12);
}
