import { createHmac, hkdfSync, randomBytes } from "node:crypto";
import { openBytes, type SealingKey, sealBytes } from "./envelope.ts";
import { SealBroken } from "./failures.ts";
import { KEY_BYTES } from "./key-ring.ts";
import { associated, columnOf, type Place, rowNames } from "./place.ts";
import { openJson, sealJson, sealJsonText } from "./sealed-json.ts";

/** Seals and opens the values of one session. */
export type SessionCipher = {
  /** Any JSON value; throws `SealTooLarge`. */
  seal(place: Place, value: unknown): Buffer;
  /** The same from the value's JSON, as `JSON.stringify` makes it. */
  sealJson(place: Place, json: string): Buffer;
  /** Throws `SealBroken` when the value was changed, or sealed for another place or session. */
  open(place: Place, sealed: Uint8Array): unknown;
  /** Bytes as they are, not deflated: for files, which are packed already. A sealed value never opens as bytes. */
  sealBytes(place: Place, bytes: Uint8Array): Buffer;
  /** Throws `SealBroken` like `open`. */
  openBytes(place: Place, sealed: Uint8Array): Buffer;
  /** 32 bytes that name a piece within this session and tell nothing about it outside. */
  hmac(bytes: Uint8Array | string): Buffer;
};

export function newDataKey(): Buffer {
  return randomBytes(KEY_BYTES);
}

/** The cipher of a session; `dataKey` is what the ring unwrapped. Sub-keys come from it by HKDF. */
export function sessionCipher(dataKey: Buffer, sessionId: string): SessionCipher {
  if (dataKey.length !== KEY_BYTES) throw new TypeError(`a data key has ${KEY_BYTES} bytes`);
  const derive = (use: string, bytes: number) =>
    Buffer.from(hkdfSync("sha256", dataKey, sessionId, `dormouse/${use}/1`, bytes));
  const key: SealingKey = { id: `d-${derive("key-id", 4).toString("hex")}`, bytes: derive("fields", KEY_BYTES) };
  const pieces = derive("pieces", KEY_BYTES);

  const aadOf = (use: "field" | "bytes", { table, column, row }: Place) =>
    associated([`dormouse/${use}`, table, column, sessionId, ...rowNames(row)]);
  const nameOf = (place: Place) => `${columnOf(place)} [${rowNames(place.row).join(", ")}] of session ${sessionId}`;
  const pickFor = (place: Place) => (keyId: string) => {
    if (keyId !== key.id) throw new SealBroken(nameOf(place), "it was sealed with another data key");
    return key.bytes;
  };

  return {
    seal: (place, value) => sealJson(key, value, aadOf("field", place)),
    sealJson: (place, json) => sealJsonText(key, json, aadOf("field", place)),
    open: (place, sealed) => openJson(pickFor(place), sealed, aadOf("field", place), nameOf(place)),
    sealBytes: (place, bytes) => sealBytes(key, bytes, aadOf("bytes", place)),
    openBytes: (place, sealed) => openBytes(pickFor(place), sealed, aadOf("bytes", place), nameOf(place)),
    hmac: (bytes) => createHmac("sha256", pieces).update(bytes).digest(),
  };
}
