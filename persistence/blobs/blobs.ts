import type { Attachment } from "../../machines/conversation/entries.ts";
import { blobId, type SessionId, sessionId } from "../../machines/ids.ts";
import { asked } from "../database-error.ts";
import type { Database } from "../fence.ts";
import { places } from "../sealed.ts";
import type { Blobs } from "../store.ts";
import { type BlobStore, blobKey } from "./blob-store.ts";

/** What a session may hold in uploads. */
export const SESSION_BYTES = 100 * 1024 * 1024;
/** Longer than any upload takes: after it, one that did not end never will, and nothing can land any more. */
const STORING_MS = 3_600_000;
/** How long an upload may wait for its message. */
const UNUSED_MS = 24 * 3_600_000;
const AT_ONCE = 50;

type Row = {
  readonly blob_id: Attachment["blobId"];
  readonly mime: string;
  readonly bytes: number;
  readonly tokens: number;
};

export type PostgresBlobs = Blobs & {
  /** Removes the bytes of a session that was erased. Never rejects: what is left is the sweep's. */
  removeErased(id: SessionId): Promise<void>;
};

export function postgresBlobs({ sql, keys, onBad }: Database, store: BlobStore): PostgresBlobs {
  /** Bytes of a key whose rows are gone; the key is forgotten once nothing can land under it any more. */
  const removeLeft = async (key: string): Promise<void> => {
    const [session = "", blob] = key.split("/");
    if (blob === undefined) await store.removeAll(sessionId(session));
    else await store.remove(blobKey(sessionId(session), blobId(blob)));
    await asked(sql`
      with done as (
        delete from blob_leftovers where key = ${key} and since < now() - ${STORING_MS}::float8 * interval '1 millisecond'
      )
      update blob_leftovers set removed = true
      where key = ${key} and since >= now() - ${STORING_MS}::float8 * interval '1 millisecond'`);
  };

  return {
    async add(id, { blobId: blob, mime, bytes, tokens }, content) {
      const cipher = await keys.find(id);
      if (!cipher) return "not_found";
      // The row is there before the bytes are: whatever dies in between, the sweep knows of them.
      const begun = await asked(sql`
        insert into blobs (session_id, blob_id, mime, bytes, tokens, state)
        select id, ${blob}, ${mime}, ${bytes}, ${tokens}, 'storing' from sessions
        where id = ${id} and ${bytes} + (
          select coalesce(sum(b.bytes), 0) from blobs b where b.session_id = ${id}) <= ${SESSION_BYTES}`);
      if (begun.count === 0) {
        const [there] = await asked(sql`select from sessions where id = ${id}`);
        return there ? "full" : "not_found";
      }
      const key = blobKey(id, blob);
      try {
        await store.put(key, cipher.sealBytes(places.blobs(blob), content));
      } catch (error) {
        // It may have landed all the same, or land yet: the sweep looks.
        await asked(sql`
          with gone as (delete from blobs where session_id = ${id} and blob_id = ${blob})
          insert into blob_leftovers (key) values (${key}) on conflict do nothing`).catch(() => onBad("blob_left"));
        throw error;
      }
      const stored = await asked(sql`
        update blobs set state = 'stored' where session_id = ${id} and blob_id = ${blob} and state = 'storing'`);
      if (stored.count > 0) return "added";
      // Erased meanwhile: what has just landed goes, too.
      await store.remove(key).catch(() => onBad("blob_left"));
      return "not_found";
    },

    async attach(id, blobIds) {
      if (blobIds.length === 0) return [];
      const rows = await asked(sql<Row[]>`
        update blobs set state = 'attached'
        where session_id = ${id} and state in ('stored', 'attached')
          and blob_id in (select jsonb_array_elements_text(${sql.json(blobIds)})::uuid)
        returning blob_id, mime, bytes, tokens`);
      return rows.map((row) => ({ blobId: row.blob_id, mime: row.mime, bytes: row.bytes, tokens: row.tokens }));
    },

    async read(id, blob) {
      const cipher = await keys.find(id);
      const sealed = cipher && (await store.get(blobKey(id, blob)));
      if (!cipher || sealed === undefined) return undefined;
      try {
        return cipher.openBytes(places.blobs(blob), sealed);
      } catch {
        onBad("blob_broken");
        return undefined;
      }
    },

    async sweep() {
      await asked(sql`
        with gone as (
          delete from blobs
          where (state = 'storing' and created_at < now() - ${STORING_MS}::float8 * interval '1 millisecond')
            or (state = 'stored' and created_at < now() - ${UNUSED_MS}::float8 * interval '1 millisecond')
          returning session_id, blob_id
        )
        insert into blob_leftovers (key) select session_id || '/' || blob_id from gone on conflict do nothing`);
      const left = await asked(sql<{ key: string }[]>`
        select key from blob_leftovers
        where not removed or since < now() - ${STORING_MS}::float8 * interval '1 millisecond'
        order by since limit ${AT_ONCE}`);
      let failure: unknown;
      for (const { key } of left) {
        // One that can't be removed must not keep the others.
        await removeLeft(key).catch((error: unknown) => {
          failure ??= error;
        });
      }
      if (failure !== undefined) throw failure;
      return left.length;
    },

    async removeErased(id) {
      await removeLeft(id).catch(() => onBad("blob_left"));
    },
  };
}
