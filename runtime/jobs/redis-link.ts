import { createRedisBackend } from "bullmq";
import { Redis } from "ioredis";
import type { Link, LinkParts } from "./backend.ts";
import { levelOf, problemCode } from "./reports.ts";

/** A command of whoever adds takes this long at most. */
const ADDING_MS = 1_500;

type Patience = {
  readonly maxRetriesPerRequest: number | null;
  readonly commandTimeout?: number;
  readonly enableOfflineQueue?: boolean;
};

/**
 * Connections: one for adding; one that workers share, one that blocks for each worker and for each reader of events. 6
 * with two queues, all in one process.
 */
export function redisLink(url: string, prefix: string, { health, report }: LinkParts): Link {
  const made: Redis[] = [];
  const told = (error: unknown): string => {
    const code = problemCode(error);
    report(levelOf(code), code);
    return code;
  };

  function client(name: string, patience: Patience): Redis {
    const redis = new Redis(url, {
      ...patience,
      connectTimeout: 2_000,
      connectionName: `${prefix}:${name}`,
      // Soon again after a short break, rarely when it is gone or refuses our login.
      retryStrategy: (times: number) => Math.min(50 * 2 ** Math.min(times, 10), 5_000),
    });
    redis.on("error", told);
    made.push(redis);
    return redis;
  }

  const adding = client("adding", { maxRetriesPerRequest: 1, commandTimeout: ADDING_MS, enableOfflineQueue: false });
  adding.on("ready", () => {
    health.isReady();
    report("info", "jobs_ready");
    void inspect(adding);
  });
  adding.on("error", (error) => health.isAway(problemCode(error)));
  adding.on("close", () => health.now().state === "ready" && health.isAway("jobs_unreachable"));

  let working: Redis | undefined;

  /** What may be wrong with a server that answers. */
  async function inspect(redis: Redis): Promise<void> {
    try {
      const info = await redis.info();
      const [, policy = "noeviction"] = /^maxmemory_policy:(\S+)/m.exec(info) ?? [];
      if (policy !== "noeviction") report("warn", "jobs_eviction_policy");
      const [, major = "0", minor = "0"] = /^redis_version:(\d+)\.(\d+)/m.exec(info) ?? [];
      if (Number(major) * 100 + Number(minor) < 602) report("warn", "jobs_server_too_old");
    } catch (error) {
      told(error);
    }
  }

  // Its own check of the server would write to the console, and never connect again after a failure.
  const common = { skipVersionCheck: true };
  return {
    adding: (name, options, how) => createRedisBackend(name, { ...options, ...common, connection: adding }, how),
    working(name, options, how) {
      working ??= client("working", { maxRetriesPerRequest: null });
      return createRedisBackend(name, { ...options, ...common, connection: working }, how);
    },
    async close() {
      for (const redis of made) redis.disconnect();
    },
  };
}
