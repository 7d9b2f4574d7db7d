import { asked } from "./database-error.ts";
import { type Database, held } from "./fence.ts";
import { opened, places } from "./sealed.ts";
import { OwnershipLost, type Results } from "./store.ts";
import { clear } from "./text.ts";

type Row = { readonly body: Buffer; readonly data_key: Buffer };

/** Whole tool results that were too long for the history: stored once, sealed, read in parts. */
export function postgresResults({ sql, keys }: Database): Results {
  return {
    async keep(fence, { turnId, callId, text }) {
      const id = fence.sessionId;
      const cipher = await keys.find(id);
      if (!cipher) throw new OwnershipLost(id);
      const kept = await asked(sql`
        with o as (select id from sessions where ${held(sql, fence)} for share)
        insert into results (session_id, call_id, turn_id, characters, body)
        select id, ${clear(callId)}, ${turnId}, ${text.length}, ${cipher.seal(places.results(callId), text)} from o
        on conflict (session_id, call_id) do update set
          turn_id = excluded.turn_id, characters = excluded.characters, body = excluded.body`);
      if (kept.count === 0) throw new OwnershipLost(id);
    },

    async read(id, callId) {
      const [row] = await asked(sql<Row[]>`
        select r.body, s.data_key from results r join sessions s on s.id = r.session_id
        where r.session_id = ${id} and r.call_id = ${clear(callId)}`);
      return row && opened(id, keys.open(id, row.data_key), places.results(callId), row.body, isText);
    },
  };
}

const isText = (value: unknown): value is string => typeof value === "string";
