import { type IQueueBackend, type PgPool, PostgresConnection, PostgresQueueBackend, runMigrations } from "bullmq";
import pg from "pg";
import type { Link, LinkParts } from "./backend.ts";
import { levelOf, problemCode } from "./reports.ts";

/** BullMQ's own name: over connections that it did not make it knows no other. */
export const JOBS_SCHEMA = "bullmq";

/** A statement of whoever adds takes this long at most, and so does waiting for a connection. */
const ADDING_MS = 1_500;
/** Most connections: for adding, and for workers and readers, of which each worker and reader holds one that listens. */
export const CONNECTIONS = { adding: 4, working: 8 } as const;

/** Over BullMQ's connection, which would stay refused for ever if the database was away when it was first asked. */
class SteadyConnection extends PostgresConnection {
  readonly #isMigrated: Promise<void>;
  constructor(pool: pg.Pool, isMigrated: Promise<void>) {
    // The same class as theirs; their type of it is a narrower copy.
    super(pool as unknown as PgPool);
    this.#isMigrated = isMigrated;
  }
  override waitUntilReady(): Promise<void> {
    return this.#isMigrated;
  }
  override setListenClientName(name: string): Promise<void> {
    return super.setListenClientName(`dormouse-jobs ${name}`);
  }
}

/** At most 12 connections, idle ones of which close; needs a direct URL and the right to make a schema. */
export function postgresLink(url: string, { clock, health, report }: LinkParts): Link {
  const told = (error: unknown): string => {
    const code = problemCode(error);
    report(levelOf(code), code);
    return code;
  };
  function pool(options: pg.PoolConfig): pg.Pool {
    const made = new pg.Pool({
      connectionString: url,
      application_name: "dormouse-jobs",
      options: `-c search_path=${JOBS_SCHEMA}`,
      keepAlive: true,
      allowExitOnIdle: true,
      ...options,
    });
    // One for each queue, worker and reader, and ours.
    made.setMaxListeners(30);
    made.on("error", told);
    // A connection in use that breaks would end the process.
    made.on("connect", (client) => client.on("error", told));
    return made;
  }
  const adding = pool({ max: CONNECTIONS.adding, connectionTimeoutMillis: ADDING_MS, query_timeout: ADDING_MS });
  const working = pool({ max: CONNECTIONS.working, connectionTimeoutMillis: 10_000 });

  const closing = new AbortController();
  const migrated = migrate();
  // Whoever waits for it hears of it; nobody has to.
  migrated.catch(() => {});

  async function migrate(): Promise<void> {
    for (let tries = 0; ; tries++) {
      closing.signal.throwIfAborted();
      try {
        const client = await working.connect();
        try {
          await runMigrations(client, JOBS_SCHEMA);
        } finally {
          client.release();
        }
        health.isReady();
        report("info", "jobs_ready");
        return;
      } catch (error) {
        health.isAway(told(error));
        await clock.sleep(Math.min(100 * 2 ** Math.min(tries, 10), 5_000), closing.signal);
      }
    }
  }

  const through =
    (from: pg.Pool) =>
    (name: string, options: { name?: string }, how: How = {}) => {
      const listens = how.withBlockingConnection === true ? name : how.blocking === true ? `${name}:qe` : undefined;
      return new PostgresQueueBackend(new SteadyConnection(from, migrated), name, options as never, true, listens);
    };
  type How = { readonly blocking?: boolean; readonly withBlockingConnection?: boolean };

  return {
    adding: through(adding) as (name: string, options: object, how?: How) => IQueueBackend,
    working: through(working) as (name: string, options: object, how?: How) => IQueueBackend,
    async close() {
      closing.abort(new Error("closed"));
      await Promise.all([adding.end(), working.end()]);
    },
  };
}
