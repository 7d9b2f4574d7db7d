import type { QueueName } from "./queues.ts";

export type Problem = {
  readonly level: "info" | "warn" | "error";
  /** What happened; never a text of the driver, which may quote values. */
  readonly code: string;
  readonly queue?: QueueName;
  /** How often it happened since it was told last, this time included. */
  readonly times: number;
};
export type TellProblem = (problem: Problem) => void;
export type Report = (level: Problem["level"], code: string, queue?: QueueName) => void;

const QUIET_MS = 60_000;

/** Tells the first of a kind at once, the next ones at most once a minute together: a queue that is away is no flood. */
export function reportOf(tell: TellProblem, monotonic: () => number): Report {
  const kinds = new Map<string, { toldAt: number; held: number }>();
  return (level, code, queue) => {
    const known = kinds.get(code);
    const now = monotonic();
    if (known !== undefined && now - known.toldAt < QUIET_MS) {
      known.held += 1;
      return;
    }
    kinds.set(code, { toldAt: now, held: 0 });
    tell({ level, code, ...(queue && { queue }), times: (known?.held ?? 0) + 1 });
  };
}

const AWAY = /^E(CONN|PIPE|HOST|NET|TIMEDOUT|AI_)|^CONNECT|^57P0|^08/;
const CLOSED =
  /Connection is closed|Command timed out|Stream isn't writeable|not queryable|max retries|terminat|timeout/i;
const REFUSED = /^(WRONGPASS|NOAUTH|NOPERM)|^ERR (invalid password|AUTH)|invalid username-password/i;

/** The code of an error of a driver or of BullMQ. */
export function problemCode(error: unknown): string {
  const { code, message } = error as { code?: unknown; message?: unknown };
  const name = typeof code === "string" ? code : "";
  const text = typeof message === "string" ? message : "";
  if (REFUSED.test(text) || name === "28P01" || name === "28000") return "jobs_login_refused";
  if (AWAY.test(name) || CLOSED.test(text) || name === "ERR_SOCKET_CLOSED") return "jobs_unreachable";
  if (/could not renew lock|[Mm]issing lock|lock mismatch|not in the active state|not active/.test(text))
    return "job_lock_lost";
  return "jobs_error";
}

/** What befalls the server befalls all queues at the same time. */
export const isOfServer = (code: string): boolean => code === "jobs_login_refused" || code === "jobs_unreachable";

export const levelOf = (code: string): Problem["level"] => (code === "jobs_login_refused" ? "error" : "warn");
