import type { Fragment, Sql } from "postgres";
import type { SessionId, TurnId, UserId } from "../machines/ids.ts";
import type { SessionCipher } from "./cipher/session-cipher.ts";
import { asked } from "./database-error.ts";
import type { Database } from "./fence.ts";
import { isRecord, opened, places } from "./sealed.ts";
import type { Grant, Grants } from "./store.ts";

/** A grant lies in the inbox row of its turn, while that is open. */
export function postgresGrants({ sql, keys }: Database): Grants {
  return {
    async find(id, turnId) {
      const [row] = await asked(sql<{ body: Buffer; data_key: Buffer }[]>`
        select i.grant_body as body, s.data_key from inbox i join sessions s on s.id = i.session_id
        where i.session_id = ${id} and i.turn_id = ${turnId} and i.state in ('waiting', 'running', 'cancelled')
          and i.grant_expires_at > now()`);
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
      // One that settled meanwhile gets no grant any more.
      await asked(sql`
        with o as (
          select id from sessions where id = ${id} and owner = ${owner} for no key update
        )
        update inbox set grant_body = decode(row.body, 'base64'), grant_expires_at = ${moment(grant.expiresAt)}
        from o, jsonb_to_recordset(${sql.json(sealed)}) as row (turn_id uuid, body text)
        where inbox.session_id = o.id and inbox.turn_id = row.turn_id
          and inbox.state in ('waiting', 'running', 'cancelled')`);
    },

    async sweep() {
      // Found by the index of what is open. It holds no session, so it waits for no row: whoever holds one ends the turn,
      // or the next sweep finds it.
      const gone = await asked(sql`
        with t as (
          select session_id, command_id from inbox
          where state in ('waiting', 'running', 'cancelled') and grant_expires_at <= now()
          for no key update skip locked
        )
        update inbox set ${noGrant(sql)} from t
        where inbox.session_id = t.session_id and inbox.command_id = t.command_id`);
      return gone.count;
    },

    async revoke(id: SessionId) {
      await asked(sql`
        with o as (
          select id from sessions where id = ${id} for no key update
        )
        update inbox set ${noGrant(sql)} from o
        where session_id = o.id and state in ('waiting', 'running', 'cancelled') and grant_body is not null`);
    },
  };
}

/** Seals a grant for its turn. Throws a `TypeError` when it is of another user than the session's owner. */
export function sealGrant(cipher: SessionCipher, turnId: TurnId, owner: UserId, grant: Grant): Buffer {
  if (grant.principal.userId !== owner) throw new TypeError("a grant of another user than the session's owner");
  return cipher.seal(places.grants(turnId), { principal: grant.principal, credential: grant.credential });
}

/** The turn may act with no login any more. */
export function noGrant(sql: Sql): Fragment {
  return sql`grant_body = null, grant_expires_at = null`;
}

export function moment(ms: number): Date {
  return new Date(ms);
}

function isGrant(value: unknown): value is Grant {
  return isRecord(value) && isRecord(value["principal"]) && isRecord(value["credential"]);
}
