import { randomUUID } from "node:crypto";
import type { Sql } from "postgres";
import { expect, test } from "vitest";
import { type SessionId, sessionId } from "../machines/ids.ts";
import { keyRing } from "./cipher/key-ring.ts";
import { sessionKeys } from "./session-keys.ts";
import { SessionBroken } from "./store.ts";

const ring = keyRing(`k1:${Buffer.alloc(32, 7).toString("base64")}`);
const ids = Array.from({ length: 4 }, () => sessionId(randomUUID()));
const [a, b, c, unknown] = ids as [SessionId, SessionId, SessionId, SessionId];

/** Keys over a table that is a map, with the ids that were read from it. */
function scene(limit: number) {
  const rows = new Map<string, Buffer>();
  const reads: string[] = [];
  const sql = (async (_: TemplateStringsArray, id: string) => {
    reads.push(id);
    const data_key = rows.get(id);
    return data_key ? [{ data_key }] : [];
  }) as unknown as Sql;
  const keys = sessionKeys(sql, ring, limit);
  for (const id of [a, b, c]) rows.set(id, keys.make(id));
  return { keys, rows, reads };
}

test("[SK1] a data key is read once; beyond the limit the least recently used one is read again", async () => {
  const { keys, reads } = scene(2);
  for (const id of [a, b, a, c, a, b]) await keys.find(id);
  expect(reads).toEqual([a, b, c, b]);
});

test("[SK2] an unknown session has no cipher, and a forgotten one is read again", async () => {
  const { keys, reads } = scene(2);
  expect(await keys.find(unknown)).toBe(undefined);
  await keys.find(a);
  keys.forget(a);
  await keys.find(a);
  expect(reads).toEqual([unknown, a, a]);
});

test("[SK3] a wrapped key that does not belong to the session is SessionBroken", async () => {
  const { keys, rows } = scene(2);
  rows.set(a, rows.get(b) ?? Buffer.alloc(0));
  await expect(keys.find(a)).rejects.toThrow(SessionBroken);
});

test("[SK4] peek leaves the cache as it is", async () => {
  const { keys, rows, reads } = scene(1);
  await keys.find(a);
  keys.peek(b, rows.get(b) ?? Buffer.alloc(0));
  await keys.find(a);
  expect(reads).toEqual([a]);
});
