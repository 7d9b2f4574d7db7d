import type { Fragment, Sql } from "postgres";
import type { InteractionEntry } from "../machines/conversation/entries.ts";
import type { SessionCipher } from "./cipher/session-cipher.ts";
import { places } from "./sealed.ts";
import { clear } from "./text.ts";

/**
 * The CTEs `q` and `a` of a settling statement: stores what its turn asks. `a` has a row when that is open now, which
 * needs that no other turn waits (`o`, the locked session). A row that goes on under a new revision must not be decided.
 */
export function asking(sql: Sql, { interactionId, turnId, callId, pending }: InteractionEntry, cipher: SessionCipher) {
  const until = pending.expires_at === undefined ? null : new Date(pending.expires_at);
  return sql`, q as (
      insert into interactions (session_id, interaction_id, turn_id, call_id, revision, kind, status, expires_at, body)
      select o.id, ${interactionId}, ${turnId}, ${clear(callId)}, ${pending.revision}, ${clear(pending.kind)},
        case when o.unsettled > 1 then 'superseded' else 'open' end, ${until}::timestamptz,
        ${cipher.seal(places.interactions(interactionId, pending.revision), pending)}
      from o join t on t.session_id = o.id
      on conflict (session_id, interaction_id) do update set
        turn_id = excluded.turn_id, call_id = excluded.call_id, revision = excluded.revision, kind = excluded.kind,
        status = excluded.status, expires_at = excluded.expires_at, body = excluded.body,
        decided_by = null, decided_turn = null, resolution = null
      where interactions.revision < excluded.revision
        and interactions.status not in ('open', 'answered', 'accepted')
      returning interactions.*
    ), a as (
      select session_id, interaction_id as asked, revision as asked_revision, expires_at as asked_until
      from q where status = 'open'
    )`;
}

/** Assignments of the session that go with it. */
export function points(sql: Sql): Fragment {
  return sql`open_interaction = a.asked, open_revision = a.asked_revision, open_until = a.asked_until`;
}
