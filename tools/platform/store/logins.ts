import { createHash } from "node:crypto";
import type { Sql } from "postgres";

/** A live login: whose it is and when it ends by itself (milliseconds since the epoch). */
export type Login = { readonly userId: string; readonly expiresAt: number };

export type Logins = {
  /** Starts a login and gives its token. Only the token's SHA-256 is stored. */
  start(userId: string): Promise<string>;
  /** The login behind a token; undefined when it never was, ended, or was ended. */
  find(token: string): Promise<Login | undefined>;
  end(token: string): Promise<void>;
  sweep(): Promise<void>;
};

export type LoginOptions = {
  readonly lifetimeMs: number;
  readonly now: () => number;
  readonly newToken: () => string;
};

export function postgresLogins(sql: Sql, { lifetimeMs, now, newToken }: LoginOptions): Logins {
  return {
    async start(userId) {
      const token = newToken();
      await sql`
        insert into platform.logins (token_hash, user_id, expires_at)
        values (${hash(token)}, ${userId}, ${new Date(now() + lifetimeMs)})`;
      return token;
    },

    async find(token) {
      const [row] = await sql<{ user_id: string; expires_at: Date }[]>`
        select user_id, expires_at from platform.logins
        where token_hash = ${hash(token)} and expires_at > ${new Date(now())}`;
      return row && { userId: row.user_id, expiresAt: row.expires_at.getTime() };
    },

    async end(token) {
      await sql`delete from platform.logins where token_hash = ${hash(token)}`;
    },

    async sweep() {
      await sql`delete from platform.logins where expires_at <= ${new Date(now())}`;
    },
  };
}

const hash = (token: string): Buffer => createHash("sha256").update(token).digest();
