/** Heads of image files: enough to be recognised and measured. */
const latin1 = (text: string): Buffer => Buffer.from(text, "latin1");

function numbers(bytes: number, ...values: number[]): Buffer {
  const buffer = Buffer.alloc(bytes * values.length);
  for (const [at, value] of values.entries()) buffer.writeUIntBE(value, at * bytes, bytes);
  return buffer;
}
const little = (bytes: number, ...values: number[]): Buffer =>
  Buffer.concat(values.map((value) => numbers(bytes, value).reverse()));
const riff = (body: Buffer): Buffer =>
  Buffer.concat([latin1("RIFF"), little(4, body.length + 4), latin1("WEBP"), body]);

export const pictures = {
  png: (width: number, height: number) =>
    Buffer.concat([Buffer.from("89504e470d0a1a0a0000000d49484452", "hex"), numbers(4, width, height), Buffer.alloc(9)]),
  gif: (width: number, height: number) => Buffer.concat([latin1("GIF89a"), little(2, width, height), Buffer.alloc(3)]),
  /** With an application segment and filling bytes before the frame, as cameras write them. */
  jpeg: (width: number, height: number) =>
    Buffer.concat([
      Buffer.from("ffd8ffe0", "hex"),
      numbers(2, 16),
      latin1("JFIF\0".padEnd(14, "\0")),
      Buffer.from("ffffc2001108", "hex"),
      numbers(2, height, width),
      Buffer.alloc(10),
    ]),
  webp: {
    lossy: (width: number, height: number) =>
      riff(Buffer.concat([latin1("VP8 "), Buffer.alloc(10), little(2, width, height), Buffer.alloc(4)])),
    lossless: (width: number, height: number) =>
      riff(
        Buffer.concat([
          latin1("VP8L"),
          Buffer.alloc(4),
          Buffer.of(0x2f),
          little(4, (height - 1) * 2 ** 14 + width - 1),
        ]),
      ),
    extended: (width: number, height: number) =>
      riff(Buffer.concat([latin1("VP8X"), Buffer.alloc(8), little(3, width - 1, height - 1)])),
  },
};
