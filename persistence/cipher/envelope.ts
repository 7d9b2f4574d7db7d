import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { SealBroken } from "./failures.ts";

/**
 * How often one key may seal: with random 96-bit nonces, 2^32 messages keep the chance of a repeated nonce
 * under 2^-32 (NIST SP 800-38D). A session's key seals that session's values only; a ring key seals one value for
 * each session and grant. Rotate a ring key long before.
 */
export const MESSAGES_PER_KEY = 2 ** 32;

/** Envelope: `[version][key id length][key id][nonce 12][tag 16][ciphertext]`. */
const VERSION = 1;
const NONCE_BYTES = 12;
const NONCES_AT_ONCE = 256;
const TAG_BYTES = 16;
export const KEY_ID = /^[A-Za-z0-9._-]{1,32}$/;
const ALGORITHM = "aes-256-gcm";

export type SealingKey = { readonly id: string; readonly bytes: Buffer };

/** Seals bytes under a fresh nonce. The envelope's own head is authenticated besides `aad`. */
export function sealBytes(key: SealingKey, plain: Uint8Array, aad: Buffer): Buffer {
  const head = headOf(key.id);
  const nonce = freshNonce();
  const cipher = createCipheriv(ALGORITHM, key.bytes, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(Buffer.concat([head, aad]));
  const body = cipher.update(plain);
  // This mode has no last block.
  cipher.final();
  return Buffer.concat([head, nonce, cipher.getAuthTag(), body]);
}

let drawn = Buffer.alloc(0);

/** Random bytes are drawn for many nonces at once: a call to the system each time costs as much as the cipher. */
function freshNonce(): Buffer {
  if (drawn.length === 0) drawn = randomBytes(NONCE_BYTES * NONCES_AT_ONCE);
  const nonce = drawn.subarray(0, NONCE_BYTES);
  drawn = drawn.subarray(NONCE_BYTES);
  return nonce;
}

/** The id of the key that sealed the envelope. Throws `SealBroken` for what is no envelope; `place` is for messages. */
export function keyIdOf(sealed: Uint8Array, place: string): string {
  return split(sealed, place).keyId;
}

/** Gives back what was sealed with the key that `pick` finds by id, or throws `SealBroken`. */
export function openBytes(pick: (keyId: string) => Buffer, sealed: Uint8Array, aad: Buffer, place: string): Buffer {
  const { keyId, head, nonce, tag, body } = split(sealed, place);
  const decipher = createDecipheriv(ALGORITHM, pick(keyId), nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.concat([head, aad]));
  decipher.setAuthTag(tag);
  try {
    return Buffer.concat([decipher.update(body), decipher.final()]);
  } catch (cause) {
    throw new SealBroken(place, "it was changed, or sealed for another place", { cause });
  }
}

function headOf(keyId: string): Buffer {
  if (!KEY_ID.test(keyId)) throw new TypeError("a key id has 1 to 32 letters, digits, dots, dashes or underscores");
  return Buffer.concat([Buffer.of(VERSION, keyId.length), Buffer.from(keyId, "latin1")]);
}

function split(sealed: Uint8Array, place: string) {
  const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength);
  const headBytes = 2 + (bytes[1] ?? 0);
  if (bytes.length < headBytes + NONCE_BYTES + TAG_BYTES || headBytes === 2) throw new SealBroken(place, "it is cut");
  if (bytes[0] !== VERSION) throw new SealBroken(place, `its format version ${bytes[0]} is unknown to this release`);
  const keyId = bytes.toString("latin1", 2, headBytes);
  if (!KEY_ID.test(keyId)) throw new SealBroken(place, "its key id is not one of ours");
  const tagAt = headBytes + NONCE_BYTES;
  return {
    keyId,
    head: bytes.subarray(0, headBytes),
    nonce: bytes.subarray(headBytes, tagAt),
    tag: bytes.subarray(tagAt, tagAt + TAG_BYTES),
    body: bytes.subarray(tagAt + TAG_BYTES),
  };
}
