import type { Fragment, Sql } from "postgres";
import type { InteractionId } from "../machines/ids.ts";

// An interaction is open while the session row names it: every writer locks that row, so the first one decides.

/** What is open ends with this statement. */
export function closes(sql: Sql): Fragment {
  return sql`open_interaction = null, open_revision = null, open_until = null`;
}

/** The session's open interaction may still be answered at `at`. */
export function inTime(sql: Sql, at: Date): Fragment {
  return sql`(sessions.open_until is null or sessions.open_until > ${at})`;
}

/** Exactly this may be answered at `at`. */
export function isOpenAs(sql: Sql, asked: { interactionId: InteractionId; revision: number }, at: Date): Fragment {
  return sql`(sessions.open_interaction = ${asked.interactionId} and sessions.open_revision = ${asked.revision}
    and ${inTime(sql, at)})`;
}
