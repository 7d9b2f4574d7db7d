import { Failure } from "../../machines/failure.ts";
import { type BlobId, isUuid, type SessionId } from "../../machines/ids.ts";

/** Where one blob's bytes lie. Made of two ids only, so that no word of a client ever becomes a path. */
export type BlobKey = `${SessionId}/${BlobId}`;

export const blobKey = (session: SessionId, blob: BlobId): BlobKey => checkedKey(`${session}/${blob}`);

/** Throws a `TypeError` for anything but two uuids. */
export function checkedKey(key: BlobKey): BlobKey {
  const parts = key.split("/");
  if (parts.length !== 2 || !parts.every(isUuid)) throw new TypeError("a blob's key is made of two uuids");
  return key;
}

/** What every key of a session begins with. */
export function sessionFolder(session: SessionId): string {
  if (!isUuid(session)) throw new TypeError("not a session id");
  return `${session}/`;
}

/**
 * Keeps bytes that were sealed before they got here. Every method may reject with `BlobsUnavailable`; what was asked
 * can be asked again.
 */
export interface BlobStore {
  /** All or nothing: nobody ever reads a part of it. Replaces what was there. */
  put(key: BlobKey, sealed: Uint8Array): Promise<void>;
  /** Undefined: there is nothing under this key. */
  get(key: BlobKey): Promise<Uint8Array | undefined>;
  /** Also fine when there is nothing. */
  remove(key: BlobKey): Promise<void>;
  /** Removes every blob of a session. */
  removeAll(session: SessionId): Promise<void>;
}

/** The place for blobs did not answer or refused. The message names the error's kind, never an address or a credential. */
export class BlobsUnavailable extends Failure {
  readonly code = "unavailable";
  readonly retryable = true;
  constructor(doing: string, cause: unknown) {
    super(`attachments can't be ${doing} right now (${kindOf(cause)}): see BLOBS_URL`);
  }
}

/** An errno or the name of an error: both are from fixed lists. */
function kindOf(error: unknown): string {
  if (!(error instanceof Error)) return "unknown";
  const { code } = error as { code?: unknown };
  return typeof code === "string" && /^[A-Z_0-9]{1,40}$/.test(code) ? code : error.name.slice(0, 60);
}

/** For a composition that keeps no blobs, such as a benchmark: it is empty and takes nothing. */
export const noBlobs: BlobStore = {
  put: () => Promise.reject(new BlobsUnavailable("stored", new Error("no blob store is set up"))),
  get: async () => undefined,
  remove: async () => {},
  removeAll: async () => {},
};
