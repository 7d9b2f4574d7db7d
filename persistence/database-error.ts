import { Failure } from "../machines/failure.ts";
import { StoreUnavailable } from "./store.ts";

/** What may be kept of a driver's error: never its text, detail, statement or parameters, which quote values. */
export class DatabaseError extends Error {
  /** The SQLSTATE, or the name that the driver or the system gave. */
  readonly sqlstate: string;
  readonly constraint: string | undefined;
  constructor(sqlstate: string, constraint: string | undefined) {
    super(constraint === undefined ? `database error ${sqlstate}` : `database error ${sqlstate} at ${constraint}`);
    this.name = "DatabaseError";
    this.sqlstate = sqlstate;
    this.constraint = constraint;
  }
}

/** The database refused a statement for a reason that stays: a bug or a value no table takes. */
export class StoreRefused extends Failure {
  readonly code = "store_refused";
  readonly retryable = false;
  readonly sqlstate: string;
  constructor(cause: DatabaseError) {
    super(`the database refused a statement (${cause.message})`, { cause });
    this.sqlstate = cause.sqlstate;
  }
}

// Connection, transaction rollback, resources, operator intervention, system; a standby that was not promoted yet.
const PASSING_STATE = /^(08|40|53|57|58)...$|^(25006|55P03)$/;
// The driver's own words for a lost connection, and the system's (ECONNRESET), but not Node's ERR_ codes, which are bugs.
const PASSING_NAME = /^CONNECT(ION_|_TIMEOUT)|^E(?!RR_)[A-Z_]+$/;

/** Waits for a statement; everything it throws is a `StoreUnavailable` or a `StoreRefused` without values. */
export async function asked<T>(statement: PromiseLike<T>): Promise<T> {
  try {
    return await statement;
  } catch (error) {
    throw storeFailure(error);
  }
}

/** Translates an error of the driver; a `Failure` passes as it is. */
export function storeFailure(error: unknown): Failure {
  if (error instanceof Failure) return error;
  const { code, constraint_name } = error as { code?: unknown; constraint_name?: unknown };
  const constraint = typeof constraint_name === "string" ? constraint_name : undefined;
  const name = typeof code === "string" ? code : "unknown";
  const cause = new DatabaseError(name, constraint);
  const passing = PASSING_STATE.test(name) || PASSING_NAME.test(name);
  return passing ? new StoreUnavailable(cause) : new StoreRefused(cause);
}

/** Of a driver's error: the server or the line has ended the connection, not just the statement. */
export function isConnectionLost(error: unknown): boolean {
  if (error instanceof Failure) return false;
  const { code, severity } = error as { code?: unknown; severity?: unknown };
  return severity === "FATAL" || severity === "PANIC" || (typeof code === "string" && PASSING_NAME.test(code));
}

/** A lock was not had in the time that was set for it, or only at the price of a deadlock. */
export function isLockMissed(error: unknown): boolean {
  const cause = error instanceof StoreUnavailable ? error.cause : undefined;
  return cause instanceof DatabaseError && (cause.sqlstate === "55P03" || cause.sqlstate === "40P01");
}

/** Two writers met at one key. */
export function isTaken(error: unknown): error is StoreRefused {
  return error instanceof StoreRefused && error.sqlstate === "23505";
}
