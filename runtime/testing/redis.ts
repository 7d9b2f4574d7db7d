import { randomBytes } from "node:crypto";
import { Redis } from "ioredis";

/** A part of a Redis server that one test file has for itself. */
export type TestRedis = {
  readonly url: string;
  /** All keys of the test begin with it. */
  readonly prefix: string;
  /** A connection of the test itself. */
  readonly redis: Redis;
  /** Removes its keys and closes. */
  drop(): Promise<void>;
};

/** The server of the tests: `TEST_REDIS_URL`, else the one on this machine. */
export const TEST_REDIS_URL = process.env["TEST_REDIS_URL"] ?? "redis://127.0.0.1:6379";

/**
 * Whether the suites for Redis can run. Without a server they are skipped and say so, except in CI, where there has to
 * be one.
 */
export async function hasRedis(suite: string): Promise<boolean> {
  const redis = new Redis(TEST_REDIS_URL, { lazyConnect: true, connectTimeout: 1_000, retryStrategy: () => null });
  redis.on("error", () => {});
  try {
    await redis.connect();
    return true;
  } catch (cause) {
    if (process.env["CI"] !== undefined) throw new Error("CI runs the Redis suites: start a server", { cause });
    console.warn(`${suite}: skipped, no Redis answers at TEST_REDIS_URL or 127.0.0.1:6379`);
    return false;
  } finally {
    redis.disconnect();
  }
}

export function testRedis(): TestRedis {
  const prefix = `test-${randomBytes(8).toString("hex")}`;
  const redis = new Redis(TEST_REDIS_URL);
  return {
    url: TEST_REDIS_URL,
    prefix,
    redis,
    async drop() {
      const keys = await keysOf(redis, prefix);
      for (let at = 0; at < keys.length; at += 500) await redis.unlink(...keys.slice(at, at + 500));
      await redis.quit();
    },
  };
}

export async function keysOf(redis: Redis, prefix: string): Promise<string[]> {
  const keys: string[] = [];
  for await (const some of redis.scanStream({ match: `${prefix}:*`, count: 1_000 })) keys.push(...(some as string[]));
  return keys;
}

/** Every key with all that it holds, as text. */
export async function everything(redis: Redis, prefix: string): Promise<string> {
  const texts = await Promise.all(
    (await keysOf(redis, prefix)).map(async (key) => `${key} ${JSON.stringify(await contentOf(redis, key))}`),
  );
  return texts.join("\n");
}

async function contentOf(redis: Redis, key: string): Promise<unknown> {
  const type = await redis.type(key);
  switch (type) {
    case "string":
      return redis.get(key);
    case "hash":
      return redis.hgetall(key);
    case "list":
      return redis.lrange(key, 0, -1);
    case "set":
      return redis.smembers(key);
    case "zset":
      return redis.zrange(key, "0", "-1");
    case "stream":
      return redis.xrange(key, "-", "+");
    case "none":
      return null;
    default:
      throw new TypeError(`a key of a type that nothing reads: ${type}`);
  }
}
