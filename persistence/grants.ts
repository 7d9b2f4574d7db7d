import type { SessionId, TurnId, UserId } from "../machines/ids.ts";
import type { SessionCipher } from "./cipher/session-cipher.ts";
import { asked } from "./database-error.ts";
import type { Database } from "./fence.ts";
import { isRecord, opened, places } from "./sealed.ts";
import type { Grant, Grants } from "./store.ts";

export function postgresGrants({ sql, keys }: Database): Grants {
  return {
    async find(id, turnId) {
      const [row] = await asked(sql<{ body: Buffer; data_key: Buffer }[]>`
        select g.body, s.data_key from grants g join sessions s on s.id = g.session_id
        where g.session_id = ${id} and g.turn_id = ${turnId} and g.expires_at > now()`);
      return row && opened(id, keys.open(id, row.data_key), places.grants(turnId), row.body, isGrant);
    },

    async refresh(id, owner, grant) {
      const cipher = await keys.find(id);
      if (!cipher) return;
      const open = await asked(sql<{ turn_id: TurnId }[]>`
        select i.turn_id from inbox i join sessions s on s.id = i.session_id
        where s.id = ${id} and s.owner = ${owner} and i.state in ('waiting', 'running', 'cancelled')`);
      if (open.length === 0) return;
      const sealed = open.map(({ turn_id }) => ({
        turn_id,
        body: sealGrant(cipher, turn_id, owner, grant).toString("base64"),
      }));
      // The inbox rows are locked: one that settled meanwhile gets no grant any more. The session first, as `erase` does.
      await asked(sql`
        with o as (
          select id from sessions where id = ${id} and owner = ${owner} for key share
        ), t as (
          select i.session_id, i.turn_id from inbox i join o on o.id = i.session_id
          where i.state in ('waiting', 'running', 'cancelled') for share of i
        )
        insert into grants (session_id, turn_id, expires_at, body)
        select t.session_id, t.turn_id, ${moment(grant.expiresAt)}, decode(row.body, 'base64')
        from t join jsonb_to_recordset(${sql.json(sealed)}) as row (turn_id uuid, body text) using (turn_id)
        on conflict (session_id, turn_id) do update set expires_at = excluded.expires_at, body = excluded.body`);
    },

    async sweep() {
      // A refresh may meet a settle that no longer sees its new row: grants of ended turns go as well.
      const gone = await asked(sql`
        delete from grants g where g.expires_at <= now() or exists (
          select from inbox i
          where i.session_id = g.session_id and i.turn_id = g.turn_id and i.state in ('settled', 'withdrawn'))`);
      return gone.count;
    },

    async revoke(id: SessionId) {
      await asked(sql`delete from grants where session_id = ${id}`);
    },
  };
}

/** Seals a grant for its turn. Throws a `TypeError` when it is of another user than the session's owner. */
export function sealGrant(cipher: SessionCipher, turnId: TurnId, owner: UserId, grant: Grant): Buffer {
  if (grant.principal.userId !== owner) throw new TypeError("a grant of another user than the session's owner");
  return cipher.seal(places.grants(turnId), { principal: grant.principal, credential: grant.credential });
}

export function moment(ms: number): Date {
  return new Date(ms);
}

function isGrant(value: unknown): value is Grant {
  return isRecord(value) && isRecord(value["principal"]) && isRecord(value["credential"]);
}
