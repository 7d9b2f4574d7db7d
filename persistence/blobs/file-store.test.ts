import { mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type BlobKey, BlobsUnavailable, blobKey } from "./blob-store.ts";
import { fileBlobs } from "./file-store.ts";
import { blobStoreContract, newBlobId, newSessionId } from "./testing/contract.ts";

describe("files", () => {
  blobStoreContract(async () => {
    const folder = await mkdtemp(join(tmpdir(), "blobs-"));
    return { store: fileBlobs(join(folder, "made", "when needed")), close: () => rm(folder, { recursive: true }) };
  });
});

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "blobs-"));
});
afterEach(() => rm(folder, { recursive: true }));

const modeOf = async (path: string) => ((await stat(path)).mode & 0o777).toString(8);

test("[BL6] files and folders are for this user only, and no unfinished file is left", async () => {
  const session = newSessionId();
  const blob = newBlobId();
  await fileBlobs(folder).put(blobKey(session, blob), Buffer.from("sealed"));
  expect(await readdir(join(folder, session))).toEqual([blob]);
  expect([await modeOf(join(folder, session)), await modeOf(join(folder, session, blob))]).toEqual(["700", "600"]);
});

test("[BL7] a key that is not two uuids is no path", async () => {
  const store = fileBlobs(join(folder, "inner"));
  await writeFile(join(folder, "secret"), "x");
  for (const key of ["../secret", "a/b", `${newSessionId()}/../../secret`, `${newSessionId()}/`, ""])
    for (const act of [store.get, store.remove, (at: BlobKey) => store.put(at, Buffer.from("x"))])
      await expect(act(key as BlobKey)).rejects.toThrow(TypeError);
  await expect(store.removeAll("" as never)).rejects.toThrow(TypeError);
  expect(await readdir(folder)).toEqual(["secret"]);
});

test("[BL8] a place that can't be written is `unavailable`, and the message has no path", async () => {
  const store = fileBlobs(join(folder, "file"));
  await writeFile(join(folder, "file"), "in the way");
  const failed = await store.put(blobKey(newSessionId(), newBlobId()), Buffer.from("x")).catch((error) => error);
  expect(failed).toBeInstanceOf(BlobsUnavailable);
  expect([failed.code, failed.retryable, failed.message]).toEqual([
    "unavailable",
    true,
    "attachments can't be stored right now (ENOTDIR): see BLOBS_URL",
  ]);
});
