import { randomBytes, randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type BlobId, blobId, type SessionId, sessionId } from "../../../machines/ids.ts";
import { type BlobKey, type BlobStore, blobKey } from "../blob-store.ts";

export const newSessionId = (): SessionId => sessionId(randomUUID());
export const newBlobId = (): BlobId => blobId(randomUUID());

export type OpenStore = { readonly store: BlobStore; close(): Promise<void> };

/** What every blob store does. Call inside a `describe`; each run gets a store of its own. */
export function blobStoreContract(open: () => Promise<OpenStore>): void {
  let opened: OpenStore;
  let store: BlobStore;
  beforeAll(async () => {
    opened = await open();
    store = opened.store;
  });
  afterAll(() => opened.close());
  const key = (session = newSessionId()) => blobKey(session, newBlobId());

  test("[BL1] what was put comes back byte for byte, of any size", async () => {
    for (const size of [1, 1_000, 3 * 1024 * 1024]) {
      const bytes = randomBytes(size);
      const at = key();
      await store.put(at, bytes);
      expect(bytes.equals((await store.get(at)) ?? Buffer.alloc(0))).toBe(true);
    }
  });

  test("[BL2] nothing is undefined, and putting again replaces", async () => {
    const at = key();
    expect(await store.get(at)).toBeUndefined();
    await store.put(at, Buffer.from("a longer first text"));
    await store.put(at, Buffer.from("second"));
    expect(Buffer.from((await store.get(at)) ?? []).toString()).toBe("second");
  });

  test("[BL3] removing takes one blob, also twice and where there is none", async () => {
    const session = newSessionId();
    const [one, other] = [key(session), key(session)];
    await Promise.all([store.put(one, Buffer.from("1")), store.put(other, Buffer.from("2"))]);
    await store.remove(one);
    await store.remove(one);
    await store.remove(key());
    expect([await store.get(one), Buffer.from((await store.get(other)) ?? []).toString()]).toEqual([undefined, "2"]);
  });

  test("[BL4] removing all takes every blob of the session and none of another", async () => {
    const [session, neighbour] = [newSessionId(), newSessionId()];
    const mine = Array.from({ length: 11 }, () => key(session));
    const theirs = key(neighbour);
    await Promise.all([...mine, theirs].map((at) => store.put(at, Buffer.from(at))));
    await store.removeAll(session);
    await store.removeAll(session);
    expect(await Promise.all(mine.map((at) => store.get(at)))).toEqual(mine.map(() => undefined));
    expect(Buffer.from((await store.get(theirs)) ?? []).toString()).toBe(theirs);
    // The session's place is not gone for good.
    await store.put(mine[0] as BlobKey, Buffer.from("again"));
    expect(Buffer.from((await store.get(mine[0] as BlobKey)) ?? []).toString()).toBe("again");
  });

  test("[BL5] puts of one key at the same time end with one of them, whole", async () => {
    const at = key();
    const all = Array.from({ length: 6 }, (_, n) => Buffer.alloc(100_000, n + 1));
    await Promise.all(all.map((bytes) => store.put(at, bytes)));
    const left = Buffer.from((await store.get(at)) ?? []);
    expect(all.some((bytes) => bytes.equals(left))).toBe(true);
  });
}
