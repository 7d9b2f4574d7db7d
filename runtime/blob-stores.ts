import { never } from "../machines/failure.ts";
import type { BlobStore } from "../persistence/blobs/blob-store.ts";
import { fileBlobs } from "../persistence/blobs/file-store.ts";
import type { BlobsConfig } from "./config.ts";

/** The blob store that the configuration names; `close` lets go of its connections. */
export async function blobStoreOf(config: BlobsConfig): Promise<BlobStore & { close(): void }> {
  switch (config.kind) {
    case "file":
      return { ...fileBlobs(config.folder), close() {} };
    case "s3": {
      const { kind: _, ...bucket } = config;
      // Loaded only where it is used: the SDK is large.
      const { s3Blobs } = await import("../persistence/blobs/s3-store.ts");
      return s3Blobs(bucket);
    }
    default:
      return never(config);
  }
}
