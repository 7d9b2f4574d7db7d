import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { Sql, TransactionSql } from "postgres";
import { Refusal } from "../failures.ts";
import { place, type Sealer } from "./sealer.ts";

const KEPT_MS = 30 * 24 * 60 * 60 * 1000;

/** One write that a caller may ask for more than once. */
export type KeyedWrite = { readonly userId: string; readonly key: string | undefined; readonly request: unknown };

export type Once = {
  /**
   * Runs `write` in a transaction. With a key, the first result is stored in that same transaction and given again for an
   * equal request, also to callers that come while it runs; a different request under the key throws a `Refusal`.
   */
  run<T>(keyed: KeyedWrite, write: (sql: TransactionSql) => Promise<T>): Promise<T>;
  /** Forgets keys after 30 days. */
  sweep(): Promise<void>;
};

export function postgresOnce(sql: Sql, seal: Sealer, now: () => number): Once {
  const transact = <T>(body: (sql: TransactionSql) => Promise<T>): Promise<T> => sql.begin(body) as Promise<T>;

  return {
    run<T>({ userId, key, request }: KeyedWrite, write: (sql: TransactionSql) => Promise<T>) {
      if (key === undefined) return transact(write);
      const keyHash = createHash("sha256").update(key).digest();
      const aad = place("idempotency_keys", "payload", userId, keyHash.toString("hex"));
      const asked: unknown = JSON.parse(JSON.stringify(request));

      return transact(async (transaction) => {
        // A second caller waits here until the first one has committed, then finds its row.
        const claimed = await transaction`
          insert into platform.idempotency_keys (user_id, key_hash, created_at)
          values (${userId}, ${keyHash}, ${new Date(now())})
          on conflict do nothing`;
        if (claimed.count === 0) {
          const [row] = await transaction<{ payload: Buffer }[]>`
            select payload from platform.idempotency_keys where user_id = ${userId} and key_hash = ${keyHash}`;
          if (!row) throw new Refusal("This idempotency key was just removed; send the request again.");
          const first = JSON.parse(seal.open(row.payload, aad)) as { request: unknown; result: T };
          if (!isDeepStrictEqual(first.request, asked))
            throw new Refusal("This idempotency key was already used with other arguments.");
          return first.result;
        }
        const result = await write(transaction);
        const payload = seal.seal(JSON.stringify({ request: asked, result }), aad);
        await transaction`
          update platform.idempotency_keys set payload = ${payload}
          where user_id = ${userId} and key_hash = ${keyHash}`;
        return result;
      });
    },

    async sweep() {
      await sql`delete from platform.idempotency_keys where created_at < ${new Date(now() - KEPT_MS)}`;
    },
  };
}
