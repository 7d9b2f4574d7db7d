export type Size = { readonly width: number; readonly height: number };

/** Width and height as the head of a PNG, JPEG, GIF or WebP says; undefined when it can't be read. */
export function imageSize(bytes: Uint8Array): Size | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  try {
    const size = read(view);
    return size !== undefined && size.width > 0 && size.height > 0 ? size : undefined;
  } catch {
    // It ends before its own head does.
    return undefined;
  }
}

function read(view: DataView): Size | undefined {
  switch (view.getUint32(0)) {
    case 0x89504e47:
      return { width: view.getUint32(16), height: view.getUint32(20) };
    case 0x47494638:
      return { width: view.getUint16(6, true), height: view.getUint16(8, true) };
    case 0x52494646:
      return webpSize(view);
    default:
      return view.getUint16(0) === 0xffd8 ? jpegSize(view) : undefined;
  }
}

function webpSize(view: DataView): Size | undefined {
  const uint24 = (at: number) => view.getUint16(at, true) | (view.getUint8(at + 2) << 16);
  switch (view.getUint32(12)) {
    case 0x56503858: // VP8X
      return { width: 1 + uint24(24), height: 1 + uint24(27) };
    case 0x5650384c: {
      // VP8L: 14 bits each
      const bits = view.getUint32(21, true);
      return { width: 1 + (bits & 0x3fff), height: 1 + ((bits >>> 14) & 0x3fff) };
    }
    case 0x56503820: // VP8
      return { width: view.getUint16(26, true) & 0x3fff, height: view.getUint16(28, true) & 0x3fff };
    default:
      return undefined;
  }
}

/** The size stands in the frame header; everything before it says its own length. */
function jpegSize(view: DataView): Size | undefined {
  let at = 2;
  for (;;) {
    if (view.getUint8(at) !== 0xff) return undefined;
    const marker = view.getUint8(at + 1);
    if (marker === 0xff) {
      at += 1;
      continue;
    }
    const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
    if (isFrame) return { width: view.getUint16(at + 7), height: view.getUint16(at + 5) };
    at += 2 + view.getUint16(at + 2);
  }
}
