import { createHmac, hkdfSync, randomBytes } from "node:crypto";
import type { SealingKey } from "./envelope.ts";
import { SealBroken } from "./failures.ts";
import { KEY_BYTES } from "./key-ring.ts";
import { associated, type Place, rowNames } from "./place.ts";
import { openJson, sealJson } from "./sealed-json.ts";

/** Seals and opens the values of one session. */
export type SessionCipher = {
  /** Any JSON value; throws `SealTooLarge`. */
  seal(place: Place, value: unknown): Buffer;
  /** Throws `SealBroken` when the value was changed, or sealed for another place or session. */
  open(place: Place, sealed: Uint8Array): unknown;
  /** 32 bytes that name a piece within this session and tell nothing about it outside. */
  hmac(bytes: Uint8Array): Buffer;
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

  const aadOf = ({ table, column, row }: Place) =>
    associated(["dormouse/field", table, column, sessionId, ...rowNames(row)]);

  return {
    seal: (place, value) => sealJson(key, value, aadOf(place)),
    open(place, sealed) {
      const name = `${place.table}.${place.column} [${rowNames(place.row).join(", ")}] of session ${sessionId}`;
      const pick = (keyId: string) => {
        if (keyId !== key.id) throw new SealBroken(name, "it was sealed with another data key");
        return key.bytes;
      };
      return openJson(pick, sealed, aadOf(place), name);
    },
    hmac: (bytes) => createHmac("sha256", pieces).update(bytes).digest(),
  };
}
