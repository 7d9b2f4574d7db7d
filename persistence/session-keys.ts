import type { Sql } from "postgres";
import type { SessionId } from "../machines/ids.ts";
import type { KeyRing } from "./cipher/key-ring.ts";
import { newDataKey, type SessionCipher, sessionCipher } from "./cipher/session-cipher.ts";
import { asked } from "./database-error.ts";
import { SessionBroken } from "./store.ts";

/** Ciphers of the sessions in use. A data key is unwrapped once, then kept while the session is among the newest. */
export type SessionKeys = {
  /** A new wrapped data key, for `sessions.data_key`. */
  make(id: SessionId): Buffer;
  /** From the cache or by one read; undefined when there is no such session. Throws `SessionBroken`. */
  find(id: SessionId): Promise<SessionCipher | undefined>;
  /** From the cache or from a row that was just read. Throws `SessionBroken`. */
  open(id: SessionId, wrapped: Uint8Array): SessionCipher;
  /** Like `open`, but leaves the cache as it is: for lists. */
  peek(id: SessionId, wrapped: Uint8Array): SessionCipher;
  forget(id: SessionId): void;
};

/** At most `limit` ciphers stay in memory; the least recently used one goes first. */
export function sessionKeys(sql: Sql, ring: KeyRing, limit = 5_000): SessionKeys {
  const cached = new Map<SessionId, SessionCipher>();

  const used = (id: SessionId): SessionCipher | undefined => {
    const cipher = cached.get(id);
    if (cipher) keep(id, cipher);
    return cipher;
  };
  const keep = (id: SessionId, cipher: SessionCipher): SessionCipher => {
    cached.delete(id);
    cached.set(id, cipher);
    for (const oldest of cached.keys()) {
      if (cached.size <= limit) break;
      cached.delete(oldest);
    }
    return cipher;
  };
  const unwrap = (id: SessionId, wrapped: Uint8Array): SessionCipher => {
    try {
      return sessionCipher(ring.unwrap(wrapped, id), id);
    } catch (cause) {
      throw new SessionBroken(id, cause);
    }
  };

  const keys: SessionKeys = {
    make: (id) => ring.wrap(newDataKey(), id),
    async find(id) {
      const known = used(id);
      if (known) return known;
      const [row] = await asked(sql<{ data_key: Buffer }[]>`select data_key from sessions where id = ${id}`);
      return row && keys.open(id, row.data_key);
    },
    open: (id, wrapped) => used(id) ?? keep(id, unwrap(id, wrapped)),
    peek: (id, wrapped) => cached.get(id) ?? unwrap(id, wrapped),
    forget: (id) => void cached.delete(id),
  };
  return keys;
}
