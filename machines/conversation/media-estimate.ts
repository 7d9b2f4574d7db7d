import { never } from "../failure.ts";
import type { MediaType } from "../protocol/uploads.ts";
import { imageSize } from "./image-size.ts";
import { BYTES_PER_PAGE, TOKENS_PER_PAGE, TOKENS_PER_TILE } from "./media-tokens.ts";
import { textTokens } from "./tokens.ts";

/** An image up to this long on both sides is one tile. */
const SMALL_SIDE = 384;
const TILE_SIDE = 768;

/**
 * What a model is charged for a file, in Gemini's measure: 258 tokens for each tile of 768 × 768 of an image and for each
 * page of a PDF, and a text's own tokens. Claude counts images alike and PDF pages dearer; reported usage corrects it.
 */
export function mediaTokens(mime: MediaType, bytes: Uint8Array): number {
  switch (mime) {
    case "image/png":
    case "image/jpeg":
    case "image/webp":
    case "image/gif":
      return imageTokens(bytes);
    case "application/pdf":
      return TOKENS_PER_PAGE * pages(bytes);
    case "text/plain":
      return textTokens(new TextDecoder().decode(bytes));
    default:
      return never(mime);
  }
}

function imageTokens(bytes: Uint8Array): number {
  const size = imageSize(bytes);
  if (size === undefined || (size.width <= SMALL_SIDE && size.height <= SMALL_SIDE)) return TOKENS_PER_TILE;
  return TOKENS_PER_TILE * Math.ceil(size.width / TILE_SIDE) * Math.ceil(size.height / TILE_SIDE);
}

/** Page objects in clear, or the largest count of a page tree; ones that are compressed are guessed from the size. */
function pages(bytes: Uint8Array): number {
  const text = new TextDecoder("latin1").decode(bytes);
  const objects = text.match(/\/Type\s*\/Page(?![A-Za-z])/g)?.length ?? 0;
  const counts = [...text.matchAll(/\/Type\s*\/Pages\b[^>]{0,200}?\/Count\s+(\d{1,5})/g)].map(([, n]) => Number(n));
  const told = Math.max(objects, ...counts);
  return told > 0 ? told : Math.max(1, Math.ceil(bytes.length / BYTES_PER_PAGE));
}
