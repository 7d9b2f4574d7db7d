import type { TurnId } from "../machines/ids.ts";
import type { Turn } from "../machines/protocol/turns.ts";
import { asked } from "./database-error.ts";
import type { Database } from "./fence.ts";
import { isRecord, opened, places } from "./sealed.ts";
import type { Turns } from "./store.ts";

export function postgresTurns({ sql, keys }: Database): Turns {
  return {
    async page(id, limit, before) {
      const rows = await asked(sql<{ turn_id: TurnId; body: Buffer; data_key: Buffer }[]>`
        select b.turn_id, b.body, s.data_key
        from blocks b join sessions s on s.id = b.session_id
        where b.session_id = ${id} and b.n < ${before ?? 2 ** 31 - 1}
        order by b.n desc limit ${limit}`);
      return rows
        .map((row) => opened(id, keys.open(id, row.data_key), places.blocks(row.turn_id), row.body, isTurn))
        .reverse();
    },
  };
}

function isTurn(value: unknown): value is Turn {
  return isRecord(value) && Array.isArray(value["blocks"]) && typeof value["turn_id"] === "string";
}
