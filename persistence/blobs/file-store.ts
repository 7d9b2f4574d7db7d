import { randomUUID } from "node:crypto";
import { mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type BlobKey, type BlobStore, BlobsUnavailable, checkedKey, sessionFolder } from "./blob-store.ts";

/** Blobs as files below `folder`, one folder a session. Only this user may read them. */
export function fileBlobs(folder: string): BlobStore {
  const pathOf = (key: BlobKey): string => join(folder, checkedKey(key));

  return {
    async put(key, sealed) {
      const path = pathOf(key);
      const unfinished = `${path}.${randomUUID()}.part`;
      try {
        await mkdir(dirname(path), { recursive: true, mode: 0o700 });
        await writeDurably(unfinished, sealed);
        await rename(unfinished, path);
        await syncFolder(dirname(path));
      } catch (error) {
        await rm(unfinished, { force: true }).catch(() => {});
        throw new BlobsUnavailable("stored", error);
      }
    },

    async get(key) {
      const path = pathOf(key);
      try {
        return await readFile(path);
      } catch (error) {
        if (isMissing(error)) return undefined;
        throw new BlobsUnavailable("read", error);
      }
    },

    async remove(key) {
      const path = pathOf(key);
      await removing(() => rm(path, { force: true }));
    },

    async removeAll(session) {
      const path = join(folder, sessionFolder(session));
      await removing(() => rm(path, { recursive: true, force: true }));
    },
  };
}

async function removing(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    throw new BlobsUnavailable("removed", error);
  }
}

async function writeDurably(path: string, bytes: Uint8Array): Promise<void> {
  const file = await open(path, "wx", 0o600);
  try {
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** A new name in a folder is durable once the folder is. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

const isMissing = (error: unknown): boolean => error instanceof Error && "code" in error && error.code === "ENOENT";
