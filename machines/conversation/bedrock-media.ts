import type { ContentBlock, DocumentFormat, ImageFormat } from "@aws-sdk/client-bedrock-runtime";
import type { BlobId } from "../ids.ts";
import type { Media, MediaByBlob } from "./media.ts";
import type { Exchange } from "./repair.ts";

/** Stands beside documents that came without a word: a message with one must hold text. */
export const LONE_DOCUMENT = "[See the attached document.]";

const IMAGES: Readonly<Record<string, ImageFormat>> = {
  "image/png": "png",
  "image/jpeg": "jpeg",
  "image/webp": "webp",
  "image/gif": "gif",
};
const DOCUMENTS: Readonly<Record<string, DocumentFormat>> = { "application/pdf": "pdf", "text/plain": "txt" };

/** What one request may hold, and how large each may be, in bytes. */
const IMAGE_LIMITS = { count: 20, bytes: 3_750_000 } as const;
const DOCUMENT_LIMITS = { count: 5, bytes: 4_500_000 } as const;

function blockOf(blobId: BlobId, { mime, bytes }: Media): ContentBlock | undefined {
  const image = IMAGES[mime];
  const document = DOCUMENTS[mime];
  const most = image === undefined ? DOCUMENT_LIMITS.bytes : IMAGE_LIMITS.bytes;
  if (bytes.length === 0 || bytes.length > most) return undefined;
  if (image !== undefined) return { image: { format: image, source: { bytes } } };
  // The name is read by the model: it must say nothing.
  return document && { document: { format: document, name: `attachment-${blobId}`, source: { bytes } } };
}

type Placed = { readonly turn: number; readonly at: number; readonly block: ContentBlock };

/**
 * The blocks that take the places of markers, by turn and place in its texts. Each file goes once, where it came first;
 * when there are too many, the newest ones. Anything else stays its marker.
 */
export function mediaBlocks<Part>(
  turns: readonly Exchange<Part>[],
  media: MediaByBlob = new Map(),
): (turn: number, at: number) => ContentBlock | undefined {
  const seen = new Set<BlobId>();
  const placed = turns.flatMap((each, turn): readonly Placed[] =>
    (each.role === "user" ? (each.media ?? []) : []).flatMap(({ blobId, at }): readonly Placed[] => {
      const found = media.get(blobId);
      const block = found && !seen.has(blobId) ? blockOf(blobId, found) : undefined;
      if (block === undefined) return [];
      seen.add(blobId);
      return [{ turn, at, block }];
    }),
  );
  const kept = [
    ...placed.filter(({ block }) => block.image !== undefined).slice(-IMAGE_LIMITS.count),
    ...placed.filter(({ block }) => block.document !== undefined).slice(-DOCUMENT_LIMITS.count),
  ];
  return (turn, at) => kept.find((each) => each.turn === turn && each.at === at)?.block;
}
