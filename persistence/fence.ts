import type { Fragment, ISql, Sql } from "postgres";
import type { NodeId, SessionId } from "../machines/ids.ts";
import type { KeyRing } from "./cipher/key-ring.ts";
import type { SessionKeys } from "./session-keys.ts";

/** What every repository is made of. */
export type Database = {
  readonly sql: Sql;
  readonly ring: KeyRing;
  readonly keys: SessionKeys;
  /** Told the code of what was skipped: a telemetry row that was refused, a title that can't be opened. */
  readonly onBad: (code: string) => void;
  /** Milliseconds since 1970, for the end of interactions alone: leases go by the database's clock. */
  readonly now: () => number;
};

type Held = { readonly sessionId: SessionId; readonly node: NodeId; readonly epoch: number };

/**
 * The condition under which a statement may write. It only holds together with a lock on the session row taken in the
 * same statement (`for share`, `for no key update`, or an update of the row): a guard that merely reads the epoch, or
 * the foreign key's lock, lets a stale row land after a take-over has read the history.
 */
export function held(sql: Sql, { sessionId, node, epoch }: Held): Fragment {
  return sql`sessions.id = ${sessionId} and sessions.node = ${node} and sessions.epoch = ${epoch}`;
}

/** Nobody's lease lives. The database clock decides. */
export function free(sql: Sql): Fragment {
  return sql`(sessions.until is null or sessions.until < now())`;
}

export function leaseEnd(sql: Sql, leaseMs: number): Fragment {
  return sql`now() + ${leaseMs}::float8 * interval '1 millisecond'`;
}

/** The assignments that free a session. One that rests is held by nobody then, so the list calls it hibernated. */
export function freed(sql: ISql): Fragment {
  return sql`node = null, until = null, status = case status when 'resting' then 'hibernated' else status end`;
}

/** The assignments that take a session from whoever holds it: the fence is broken, and the session is free. */
export function raised(sql: ISql): Fragment {
  return sql`epoch = epoch + 1, ${freed(sql)}`;
}
