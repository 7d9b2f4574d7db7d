import type { Attachment } from "../../machines/conversation/entries.ts";
import { type Media, type MediaByBlob, mediaToSend } from "../../machines/conversation/media.ts";
import { mediaTokens } from "../../machines/conversation/media-estimate.ts";
import { failureCode } from "../../machines/failure.ts";
import { type BlobId, blobId, type SessionId } from "../../machines/ids.ts";
import type { MessageCommand } from "../../machines/protocol/commands.ts";
import type { MediaType } from "../../machines/protocol/uploads.ts";
import { BlobsUnavailable } from "../../persistence/blobs/blob-store.ts";
import { Refused } from "./conversations.ts";
import type { Resident, Run } from "./resident.ts";
import type { World } from "./world.ts";

/** Keeps an uploaded file for a session. Throws `Refused`, or what the store throws. */
export async function keepUpload(
  { store, chance }: World,
  id: SessionId,
  mime: MediaType,
  content: Uint8Array,
): Promise<BlobId> {
  const file = { blobId: blobId(chance.uuid()), mime, bytes: content.length, tokens: mediaTokens(mime, content) };
  const kept = await store.blobs.add(id, file, content);
  if (kept === "not_found") throw new Refused("not_found", "no such session");
  if (kept === "full") throw new Refused("too_large", "this conversation holds as many files as it may");
  return file.blobId;
}

/** What a message names, in its order and each once. Throws `Refused` for what is no upload of this session. */
export async function attachmentsOf(
  { store }: World,
  id: SessionId,
  { attachments = [] }: MessageCommand,
): Promise<readonly Attachment[]> {
  const named = [...new Set(attachments)];
  if (named.length === 0) return [];
  const found = await store.blobs.attach(id, named.map(blobId));
  return named.map((name) => {
    const attachment = found.find((one) => one.blobId === name);
    if (attachment === undefined)
      throw new Refused("invalid_command", `attachment ${name} is not an upload of this session`);
    return attachment;
  });
}

const NO_MEDIA: MediaByBlob = new Map();

/** Bytes that a turn has fetched: kept while it runs, so that each of its steps does not fetch them again. */
const fetched = new WeakMap<Run, Map<BlobId, Media | undefined>>();

/**
 * The bytes that go with the next model call. What is missing or can't be trusted is left out: its marker is sent. So is
 * what an earlier turn brought while the blob store is away; the turn that brings a file needs it, and fails.
 */
export async function mediaFor(resident: Resident, { store, observe }: World, run: Run): Promise<MediaByBlob> {
  const wanted = mediaToSend(resident.ledger.entries);
  if (wanted.length === 0) return NO_MEDIA;
  const known = fetched.get(run) ?? new Map<BlobId, Media | undefined>();
  fetched.set(run, known);
  const own = new Set(
    resident
      .entriesOf(run.turnId)
      .flatMap((entry) => (entry.kind === "user" ? (entry.attachments ?? []).map(({ blobId }) => blobId) : [])),
  );
  await Promise.all(
    wanted
      .filter(({ blobId }) => !known.has(blobId))
      .map(async ({ blobId, mime }) => {
        try {
          const bytes = await store.blobs.read(resident.id, blobId);
          known.set(blobId, bytes && { mime, bytes });
        } catch (error) {
          if (own.has(blobId) || !(error instanceof BlobsUnavailable)) throw error;
          const code = failureCode(error);
          observe({ type: "attachment.unavailable", sessionId: resident.id, turnId: run.turnId, code });
        }
      }),
  );
  return new Map(
    wanted.flatMap(({ blobId }) => {
      const media = known.get(blobId);
      return media === undefined ? [] : [[blobId, media] as const];
    }),
  );
}
