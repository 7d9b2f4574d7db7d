import type { BlobId } from "../ids.ts";
import type { MediaType } from "../protocol/uploads.ts";
import type { Attachment, Entry } from "./entries.ts";

/** A file's bytes, fetched for one model call. They never enter the history, a snapshot or a log. */
export type Media = { readonly mime: string; readonly bytes: Uint8Array };
export type MediaByBlob = ReadonlyMap<BlobId, Media>;

/** What the bytes begin with, by type; -1 stands for any byte. */
const BEGINNINGS: Readonly<Record<Exclude<MediaType, "text/plain">, readonly (readonly number[])[]>> = {
  "image/png": [[0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]],
  "image/jpeg": [[0xff, 0xd8, 0xff]],
  "image/webp": [[0x52, 0x49, 0x46, 0x46, -1, -1, -1, -1, 0x57, 0x45, 0x42, 0x50]],
  "image/gif": [
    [0x47, 0x49, 0x46, 0x38, 0x37, 0x61],
    [0x47, 0x49, 0x46, 0x38, 0x39, 0x61],
  ],
  "application/pdf": [[0x25, 0x50, 0x44, 0x46, 0x2d]],
};

/** True when the bytes are what `mime` says: by their first bytes, or for text by being UTF-8 without NUL. */
export function isOfType(mime: MediaType, bytes: Uint8Array): boolean {
  if (mime === "text/plain") return isPlainText(bytes);
  return BEGINNINGS[mime].some(
    (beginning) => bytes.length > beginning.length && beginning.every((byte, at) => byte < 0 || bytes[at] === byte),
  );
}

function isPlainText(bytes: Uint8Array): boolean {
  if (bytes.includes(0)) return false;
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}

/** Raw bytes of one request: in base64 they stay below the 20 MB that providers take inline. */
export const MOST_MEDIA_BYTES = 14 * 1024 * 1024;

/** The attachments whose bytes go with a request: the newest first, as many as fit. The others stay a marker. */
export function mediaToSend(entries: readonly Entry[], most = MOST_MEDIA_BYTES): readonly Attachment[] {
  const chosen = new Map<BlobId, Attachment>();
  let room = most;
  for (let at = entries.length - 1; at >= 0; at -= 1) {
    const entry = entries[at];
    if (entry?.kind !== "user" || entry.attachments === undefined) continue;
    for (const attachment of entry.attachments) {
      if (chosen.has(attachment.blobId) || attachment.bytes > room) continue;
      chosen.set(attachment.blobId, attachment);
      room -= attachment.bytes;
    }
  }
  return [...chosen.values()];
}
