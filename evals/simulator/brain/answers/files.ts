import type { File } from "../conversation.ts";

const KINDS: Readonly<Record<string, string>> = {
  "image/png": "a PNG image",
  "image/jpeg": "a JPEG image",
  "image/webp": "a WebP image",
  "image/gif": "a GIF image",
  "application/pdf": "a PDF document",
  "text/plain": "a text file",
};

/** What the simulated model says of files that came with the question: that they are there, and nothing of what is in them. */
export function aboutFiles(files: readonly File[]): string {
  const came = files.filter(({ sent }) => sent).map(described);
  const missing = files.filter(({ sent }) => !sent).map(described);
  return [
    came.length > 0 &&
      `I received ${listed(came)}. I am a simulated model and can't look inside files, so I say nothing about the content.`,
    missing.length > 0 && `I was told of ${listed(missing)}, but did not get the content.`,
  ]
    .filter(Boolean)
    .join(" ");
}

const described = ({ mime, bytes }: File): string => `${KINDS[mime] ?? `a file (${mime})`} of ${sizeOf(bytes)}`;

const sizeOf = (bytes: number): string =>
  bytes < 1024
    ? `${bytes} bytes`
    : bytes < 1024 * 1024
      ? `${(bytes / 1024).toFixed(1)} KB`
      : `${(bytes / 1024 / 1024).toFixed(1)} MB`;

function listed(items: readonly string[]): string {
  const last = items.at(-1) ?? "";
  return items.length < 2 ? last : `${items.slice(0, -1).join(", ")} and ${last}`;
}
