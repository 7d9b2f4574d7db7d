import type { Attachment, Entry } from "./entries.ts";
import { entryTokens } from "./tokens.ts";

/** Gemini's measure: for each tile of an image, and for each page of a PDF. */
export const TOKENS_PER_TILE = 258;
export const TOKENS_PER_PAGE = 258;
/** A photograph, when nobody looked at its size. */
const USUAL_TILES = 6;
/** Scanned pages have about this much. */
export const BYTES_PER_PAGE = 100_000;
const BYTES_PER_TEXT_TOKEN = 4;

/** Tokens of a file whose bytes are sent: as estimated from its content when it was uploaded, else from type and size. */
export function attachmentTokens({ mime, bytes, tokens }: Attachment): number {
  if (tokens !== undefined) return tokens;
  if (mime === "application/pdf") return TOKENS_PER_PAGE * Math.max(1, Math.ceil(bytes / BYTES_PER_PAGE));
  if (mime === "text/plain") return Math.ceil(bytes / BYTES_PER_TEXT_TOKEN);
  return TOKENS_PER_TILE * USUAL_TILES;
}

/** Tokens of an entry as a model is sent it: its words and the bytes of its attachments. */
export function sentTokens(entry: Entry): number {
  const attachments = entry.kind === "user" ? (entry.attachments ?? []) : [];
  return entryTokens(entry) + attachments.reduce((sum, one) => sum + attachmentTokens(one), 0);
}
