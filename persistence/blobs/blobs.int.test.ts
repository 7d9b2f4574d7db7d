import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Sql } from "postgres";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import type { Attachment } from "../../machines/conversation/entries.ts";
import type { SessionId } from "../../machines/ids.ts";
import { keyRing } from "../cipher/key-ring.ts";
import { connect, openStore } from "../postgres.ts";
import type { Store } from "../store.ts";
import { chen, newSession, rivera, type StoreScene, storeScene } from "../testing/store-scene.ts";
import { type BlobStore, BlobsUnavailable } from "./blob-store.ts";
import { SESSION_BYTES } from "./blobs.ts";
import { fileBlobs } from "./file-store.ts";
import { newBlobId, newSessionId } from "./testing/contract.ts";

const SECRET = "ZORVANE-7741 is in the picture";

let scene: StoreScene;
let sql: Sql;
let folder: string;
let bad: string[];
/** Runs before each act of the blob store; throwing makes it fail. */
let before: (act: keyof BlobStore) => Promise<void>;
let store: Store;

beforeAll(async () => {
  scene = await storeScene();
  sql = connect(scene.url, { max: 3 });
});
afterAll(async () => {
  await sql.end();
  await scene.close();
});
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "blobs-"));
  before = async () => {};
  bad = [];
  const files = fileBlobs(folder);
  const blobs: BlobStore = {
    put: (key, sealed) => before("put").then(() => files.put(key, sealed)),
    get: (key) => before("get").then(() => files.get(key)),
    remove: (key) => before("remove").then(() => files.remove(key)),
    removeAll: (id) => before("removeAll").then(() => files.removeAll(id)),
  };
  await sql`delete from blob_leftovers`;
  await sql`delete from blobs`;
  store = await openStore({ sql, ring: keyRing(scene.keys), onBad: (code) => bad.push(code), blobs });
});
afterEach(() => rm(folder, { recursive: true }));

const failing =
  (...acts: (keyof BlobStore)[]) =>
  async (act: keyof BlobStore) => {
    if (acts.includes(act)) throw new BlobsUnavailable("reached", new Error());
  };
const file = (changes: Partial<Attachment> = {}): Attachment & { tokens: number } => ({
  blobId: newBlobId(),
  mime: "text/plain",
  bytes: SECRET.length,
  tokens: 8,
  ...changes,
});
async function added(id: SessionId, changes: Partial<Attachment> = {}) {
  const one = file(changes);
  expect(await store.blobs.add(id, one, Buffer.from(SECRET))).toBe("added");
  return one;
}
const files = async () => (await readdir(folder, { recursive: true })).sort();
const rows = async () =>
  (await sql`select mime, bytes, tokens, state from blobs order by created_at`).map((r) => ({ ...r }));
const left = async () => (await sql`select key, removed from blob_leftovers order by key`).map((r) => ({ ...r }));
const age = (table: "blobs" | "blob_leftovers", hours: number) =>
  table === "blobs"
    ? sql`update blobs set created_at = now() - ${hours}::float8 * interval '1 hour'`
    : sql`update blob_leftovers set since = now() - ${hours}::float8 * interval '1 hour'`;

test("[BL12] an upload comes back to its session, and to no other", async () => {
  const [id, other] = [await newSession(store), await newSession(store)];
  const one = await added(id);
  expect(await rows()).toEqual([{ mime: "text/plain", bytes: SECRET.length, tokens: 8, state: "stored" }]);
  expect(Buffer.from((await store.blobs.read(id, one.blobId)) ?? []).toString()).toBe(SECRET);
  expect(await store.blobs.read(other, one.blobId)).toBeUndefined();
  expect(await store.blobs.read(newSessionId(), one.blobId)).toBeUndefined();
  expect([
    await store.blobs.attach(other, [one.blobId]),
    await store.blobs.attach(id, [one.blobId, newBlobId()]),
  ]).toEqual([[], [one]]);
  expect((await rows())[0]?.["state"]).toBe("attached");
  expect(await store.blobs.attach(id, [one.blobId])).toEqual([one]);
});

test("[SL1] the bytes are sealed before they leave: no file holds a word of them", async () => {
  const id = await newSession(store);
  const one = await added(id);
  const sealed = await readFile(join(folder, id, one.blobId));
  expect(sealed.toString("latin1")).not.toContain("ZORVANE");
  expect(sealed.length).toBeGreaterThan(SECRET.length);
});

test("[BL13] bytes that were changed, or moved from another blob, are not given out", async () => {
  const id = await newSession(store);
  const [one, other] = [await added(id), await added(id)];
  await writeFile(join(folder, id, one.blobId), await readFile(join(folder, id, other.blobId)));
  expect(await store.blobs.read(id, one.blobId)).toBeUndefined();
  await rm(join(folder, id, other.blobId));
  expect(await store.blobs.read(id, other.blobId)).toBeUndefined();
  expect(bad).toEqual(["blob_broken"]);
});

test("[BL14] erasing a session removes rows and bytes, and a stranger erases nothing", async () => {
  const [id, other] = [await newSession(store), await newSession(store)];
  await added(id);
  const kept = await added(other);
  expect(await store.sessions.erase(id, chen)).toBe(false);
  expect(await files()).toContain(id);
  expect(await store.sessions.erase(id, rivera)).toBe(true);
  expect([await files(), (await rows()).length]).toEqual([[other, join(other, kept.blobId)], 1]);
  // Remembered for as long as an upload could still land, then forgotten.
  expect([await store.blobs.sweep(), await left()]).toEqual([0, [{ key: id, removed: true }]]);
  await age("blob_leftovers", 2);
  expect([await store.blobs.sweep(), await left()]).toEqual([1, []]);
});

test("[BL15] bytes that could not be removed are removed by the sweep, of any node", async () => {
  const id = await newSession(store);
  const one = await added(id);
  before = failing("removeAll");
  expect(await store.sessions.erase(id, rivera)).toBe(true);
  expect([await files(), bad, await left()]).toEqual([
    [id, join(id, one.blobId)],
    ["blob_left"],
    [{ key: id, removed: false }],
  ]);
  await expect(store.blobs.sweep()).rejects.toThrow(BlobsUnavailable);
  before = failing();
  const elsewhere = await openStore({ sql, ring: keyRing(scene.keys), blobs: fileBlobs(folder) });
  await elsewhere.blobs.sweep();
  expect(await files()).toEqual([]);
});

test("[BL16] an upload that no message took up is removed after a day, one that is attached stays", async () => {
  const id = await newSession(store);
  const [unused, used] = [await added(id), await added(id)];
  await store.blobs.attach(id, [used.blobId]);
  await age("blobs", 23);
  await store.blobs.sweep();
  expect((await files()).length).toBe(3);
  await age("blobs", 25);
  await store.blobs.sweep();
  expect(await files()).toEqual([id, join(id, used.blobId)]);
  expect(await store.blobs.attach(id, [unused.blobId, used.blobId])).toEqual([used]);
});

test("[BL17] a store that fails leaves no row that claims the file, and its bytes are looked for", async () => {
  const id = await newSession(store);
  const one = file();
  before = failing("put");
  await expect(store.blobs.add(id, one, Buffer.from(SECRET))).rejects.toThrow(BlobsUnavailable);
  expect([await rows(), await left()]).toEqual([[], [{ key: `${id}/${one.blobId}`, removed: false }]]);
});

test("[BL18] an upload that dies halfway can't be attached, and is removed once it can't end any more", async () => {
  const id = await newSession(store);
  const one = file();
  await sql`
    insert into blobs (session_id, blob_id, mime, bytes, tokens, state)
    values (${id}, ${one.blobId}, 'text/plain', 3, 1, 'storing')`;
  await fileBlobs(folder).put(`${id}/${one.blobId}`, Buffer.from("x"));
  expect(await store.blobs.attach(id, [one.blobId])).toEqual([]);
  await store.blobs.sweep();
  expect((await files()).length).toBe(2);
  await age("blobs", 2);
  await store.blobs.sweep();
  expect([await files(), await rows()]).toEqual([[id], []]);
});

test("[BL19] a session that is erased while its upload lands keeps nothing", async () => {
  const id = await newSession(store);
  let erased = false;
  before = async (act) => {
    if (act === "put") erased = await store.sessions.erase(id, rivera);
  };
  expect([await store.blobs.add(id, file(), Buffer.from(SECRET)), erased]).toEqual(["not_found", true]);
  expect((await files()).filter((name) => name.includes("/"))).toEqual([]);
  before = failing();
  expect(await store.blobs.add(id, file(), Buffer.from(SECRET))).toBe("not_found");
});

test("[BL20] a session holds so many bytes and no more", async () => {
  const id = await newSession(store);
  await added(id, { bytes: SESSION_BYTES - 10 });
  expect(await store.blobs.add(id, file({ bytes: 11 }), Buffer.from(SECRET))).toBe("full");
  await added(id, { bytes: 10 });
});
