import { openBytes, type SealingKey, sealBytes } from "./envelope.ts";
import { SealBroken } from "./failures.ts";
import { pack, unpack } from "./packing.ts";

/**
 * Seals a JSON value. JSON.stringify escapes lone surrogates, so every JavaScript string comes back exactly.
 * Throws a `TypeError` for what JSON cannot hold at all (undefined, functions) and `SealTooLarge`.
 */
export function sealJson(key: SealingKey, value: unknown, aad: Buffer): Buffer {
  const json = JSON.stringify(value) as string | undefined;
  if (json === undefined) throw new TypeError("only JSON values can be sealed");
  return sealJsonText(key, json, aad);
}

/** Like `sealJson`, of a value whose JSON is there already. */
export function sealJsonText(key: SealingKey, json: string, aad: Buffer): Buffer {
  return sealBytes(key, pack(Buffer.from(json, "utf8")), aad);
}

/** The opposite of `sealJson`; throws `SealBroken`. */
export function openJson(pick: (keyId: string) => Buffer, sealed: Uint8Array, aad: Buffer, place: string): unknown {
  const packed = openBytes(pick, sealed, aad, place);
  try {
    return JSON.parse(unpack(packed).toString("utf8"));
  } catch {
    // No cause: a JSON error quotes the text.
    throw new SealBroken(place, "it was sealed in a form that this release does not read");
  }
}
