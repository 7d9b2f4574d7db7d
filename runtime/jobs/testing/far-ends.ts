import type { StoreScene } from "../../../persistence/testing/store-scene.ts";
import { everything, keysOf, testRedis } from "../../testing/redis.ts";
import { JOBS_SCHEMA } from "../postgres-link.ts";
import type { FarEnd } from "./jobs-scene.ts";

/** The database of the scene, which the queues share. */
export function postgresFarEnd({ sql, url }: StoreScene): FarEnd {
  const tables = async (): Promise<readonly string[]> => {
    const rows = await sql<{ name: string }[]>`
      select table_name as name from information_schema.tables where table_schema = ${JOBS_SCHEMA}`;
    return rows.map(({ name }) => name);
  };
  return {
    connection: { kind: "postgres", url },
    async everything() {
      const texts: string[] = [];
      for (const table of await tables()) {
        const rows = await sql`select row_to_json(t)::text as row from ${sql(JOBS_SCHEMA)}.${sql(table)} t`;
        for (const row of rows) texts.push(`${table} ${row["row"]}`);
      }
      return texts.join("\n");
    },
    async count() {
      let count = 0;
      for (const table of await tables()) {
        const [row] = await sql<{ n: number }[]>`select count(*)::int as n from ${sql(JOBS_SCHEMA)}.${sql(table)}`;
        count += row?.n ?? 0;
      }
      return count;
    },
    async events() {
      const [row] = await sql<{ n: number }[]>`select count(*)::int as n from ${sql(JOBS_SCHEMA)}.event`;
      return row?.n ?? 0;
    },
    async expireLock(jobId) {
      await sql`update ${sql(JOBS_SCHEMA)}.job set locked_until_ms = 1 where id = ${jobId}`;
    },
    async breakConnections() {
      const rows = await sql`
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and application_name like 'dormouse-jobs%'`;
      return rows.length;
    },
    async drop() {},
  };
}

export function redisFarEnd(): FarEnd {
  const { url, prefix, redis, drop } = testRedis();
  return {
    connection: { kind: "redis", url, prefix },
    everything: () => everything(redis, prefix),
    count: async () => (await keysOf(redis, prefix)).length,
    events: () => redis.xlen(`${prefix}:subagents:events`),
    async expireLock(jobId) {
      await redis.del(`${prefix}:subagents:${jobId}:lock`, `${prefix}:summaries:${jobId}:lock`);
    },
    async breakConnections() {
      const list = String(await redis.client("LIST"));
      const ids = list.split("\n").flatMap((line) => {
        const [, id, name = ""] = /^id=(\d+) .* name=(\S*) /.exec(line) ?? [];
        return id !== undefined && name.startsWith(`${prefix}:`) ? [id] : [];
      });
      for (const id of ids) await redis.client("KILL", "ID", id);
      return ids.length;
    },
    drop,
  };
}
