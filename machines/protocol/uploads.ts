/** Types of files that may be attached. Nothing that a browser would run. */
export const MEDIA_TYPES = [
  "image/png",
  "image/jpeg",
  "image/webp",
  "image/gif",
  "application/pdf",
  "text/plain",
] as const;
export type MediaType = (typeof MEDIA_TYPES)[number];

export const isMediaType = (mime: string): mime is MediaType => (MEDIA_TYPES as readonly string[]).includes(mime);
/** Attachments of one message. */
export const MOST_ATTACHMENTS = 20;
