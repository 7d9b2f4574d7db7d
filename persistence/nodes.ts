import type { NodeId } from "../machines/ids.ts";
import { asked } from "./database-error.ts";
import type { Database } from "./fence.ts";
import type { Nodes } from "./store.ts";

export function postgresNodes({ sql }: Database): Nodes {
  return {
    async beat(node) {
      await asked(sql`
        insert into nodes (id) values (${node}) on conflict (id) do update set heard = now()`);
    },

    async others(node, withinMs) {
      const rows = await asked(sql<{ id: NodeId }[]>`
        select id from nodes
        where id <> ${node} and heard > now() - ${withinMs}::float8 * interval '1 millisecond'
        order by id`);
      return rows.map(({ id }) => id);
    },

    async leave(node) {
      await asked(sql`delete from nodes where id = ${node} or heard < now() - interval '1 day'`);
    },
  };
}
