import { expect, test } from "vitest";
import { blobId } from "../ids.ts";
import { isMediaType, MEDIA_TYPES, type MediaType } from "../protocol/uploads.ts";
import { imageSize } from "./image-size.ts";
import { isOfType, mediaToSend } from "./media.ts";
import { mediaTokens } from "./media-estimate.ts";
import { attachmentTokens, sentTokens } from "./media-tokens.ts";
import { user } from "./testing/build.ts";
import { pictures } from "./testing/pictures.ts";
import { entryTokens } from "./tokens.ts";

const blob = (n: number) => blobId(`00000000-0000-4000-8000-${String(n).padStart(12, "0")}`);
const attachment = (n: number, bytes: number, mime = "image/png") => ({ blobId: blob(n), mime, bytes });
const latin1 = (text: string) => Buffer.from(text, "latin1");

test("nothing that a browser would run is a media type", () => {
  expect(["image/svg+xml", "text/html", "IMAGE/PNG", "", "constructor"].filter(isMediaType)).toEqual([]);
});

test("each type knows its own bytes and no other's", () => {
  const samples: Record<MediaType, Uint8Array> = {
    "image/png": pictures.png(3, 4),
    "image/jpeg": pictures.jpeg(3, 4),
    "image/webp": pictures.webp.lossy(3, 4),
    "image/gif": pictures.gif(3, 4),
    "application/pdf": latin1("%PDF-1.7\n%\xe2\xe3"),
    "text/plain": Buffer.from("naïve ✓"),
  };
  for (const claimed of MEDIA_TYPES)
    for (const real of MEDIA_TYPES)
      expect([claimed, real, isOfType(claimed, samples[real])]).toEqual([claimed, real, claimed === real]);
});

test("the size of an image is read from its head, in every form; a head that is cut gives none", () => {
  const { png, gif, jpeg, webp } = pictures;
  for (const make of [png, gif, jpeg, webp.lossy, webp.lossless, webp.extended]) {
    const bytes = make(1_023, 770);
    // Also where the bytes lie in the middle of a larger buffer.
    const inside = Buffer.concat([Buffer.alloc(5), bytes]).subarray(5);
    const size = { width: 1_023, height: 770 };
    expect([imageSize(bytes), imageSize(inside), imageSize(bytes.subarray(0, 9))]).toEqual([size, size, undefined]);
  }
  expect([imageSize(new Uint8Array()), imageSize(latin1("RIFF....WAVEfmt ......"))]).toEqual([undefined, undefined]);
});

test("[C-09] a file is counted in the provider's measure: tiles of an image, pages of a PDF, a text's own tokens", () => {
  const pdf = (body: string) => mediaTokens("application/pdf", latin1(`%PDF-1.7\n${body}`));
  const page = "1 0 obj <</Type /Page /Parent 2 0 R>> endobj\n";
  expect([
    mediaTokens("image/png", pictures.png(384, 384)),
    mediaTokens("image/png", pictures.png(385, 10)),
    mediaTokens("image/jpeg", pictures.jpeg(1_536, 769)),
    mediaTokens("image/webp", latin1("RIFF....WEBPXXXX")),
    pdf(page.repeat(3)),
    pdf("<</Type/Pages /Kids [3 0 R] /Count 12>>"),
    pdf("x".repeat(250_000)),
    mediaTokens("text/plain", Buffer.from("two words")),
  ]).toEqual([258, 258, 4 * 258, 258, 3 * 258, 12 * 258, 3 * 258, 2]);
});

test("[C-09] what is sent of an entry counts its files: as estimated on upload, else by type and size", () => {
  const files = [
    { ...attachment(1, 10), tokens: 20_000 },
    attachment(2, 500_000),
    attachment(3, 250_000, "application/pdf"),
    attachment(4, 400, "text/plain"),
  ];
  expect(files.map(attachmentTokens)).toEqual([20_000, 6 * 258, 3 * 258, 100]);
  const entry = user("look", { attachments: files });
  expect(sentTokens(entry) - entryTokens(entry)).toBe(20_000 + 6 * 258 + 3 * 258 + 100);
});

test("the newest files go along, as many as fit, each once; the same history chooses the same", () => {
  const history = [
    user("a", { attachments: [attachment(1, 60), attachment(2, 10)] }),
    user("b"),
    user("c", { attachments: [attachment(3, 50), attachment(4, 101)] }),
    user("d", { attachments: [attachment(1, 30)] }),
  ];
  const chosen = mediaToSend(history, 100).map(({ blobId }) => blobId);
  expect(chosen).toEqual([blob(1), blob(3), blob(2)]);
  expect(mediaToSend([user("none")])).toEqual([]);
});
