import { KEY_ID, keyIdOf, openBytes, type SealingKey, sealBytes } from "./envelope.ts";
import { BadKeys, SealBroken, UnknownKey } from "./failures.ts";
import { associated } from "./place.ts";
import { openJson, sealJson } from "./sealed-json.ts";

export const KEY_BYTES = 32;

/** The master keys. The first one of the configuration is active: it seals; every one opens. */
export type KeyRing = {
  readonly activeId: string;
  /** Seals a session's 32-byte data key for storage beside the session. */
  wrap(dataKey: Buffer, sessionId: string): Buffer;
  /** Throws `UnknownKey` or `SealBroken`. */
  unwrap(wrapped: Uint8Array, sessionId: string): Buffer;
  /** The ring key that a wrapped data key, or any value sealed by a ring, names. */
  keyIdOf(wrapped: Uint8Array): string;
  /** True when another key than the active one was used: unwrap and wrap it again before that key is removed. */
  needsRewrap(wrapped: Uint8Array): boolean;
  /** Seals a text outside sessions. `aad` names its place; the first name should be the purpose. */
  seal(text: string, aad: readonly string[]): Buffer;
  /** Throws `UnknownKey` or `SealBroken`. */
  open(sealed: Uint8Array, aad: readonly string[]): string;
};

/** Reads `id:base64key,id:base64key` (keys of 32 bytes). Throws `BadKeys`, which shows nothing of the text. */
export function keyRing(text: string): KeyRing {
  const keys = parseKeys(text);
  const [active] = keys;
  if (!active) throw new BadKeys("ENCRYPTION_KEYS holds no key: expected id:base64key");
  const byId = new Map(keys.map((key) => [key.id, key.bytes]));

  const picker = (place: string) => (keyId: string) => {
    const bytes = byId.get(keyId);
    if (!bytes) throw new UnknownKey(place, keyId);
    return bytes;
  };
  const dataKeyAad = (sessionId: string) => associated(["dormouse/data-key", sessionId]);
  const textAad = (aad: readonly string[]) => associated(["dormouse/text", ...aad]);

  return {
    activeId: active.id,
    wrap(dataKey, sessionId) {
      if (dataKey.length !== KEY_BYTES) throw new TypeError(`a data key has ${KEY_BYTES} bytes`);
      return sealBytes(active, dataKey, dataKeyAad(sessionId));
    },
    unwrap(wrapped, sessionId) {
      const place = `data key of session ${sessionId}`;
      const dataKey = openBytes(picker(place), wrapped, dataKeyAad(sessionId), place);
      if (dataKey.length !== KEY_BYTES) throw new SealBroken(place, "it has the wrong length");
      return dataKey;
    },
    keyIdOf: (wrapped) => keyIdOf(wrapped, "wrapped key"),
    needsRewrap: (wrapped) => keyIdOf(wrapped, "wrapped key") !== active.id,
    seal: (text, aad) => sealJson(active, text, textAad(aad)),
    open(sealed, aad) {
      const place = aad.join("/");
      const value = openJson(picker(place), sealed, textAad(aad), place);
      if (typeof value !== "string") throw new SealBroken(place, "it holds no text");
      return value;
    },
  };
}

const BASE64 = /^[A-Za-z0-9+/_-]{43}=?$/;

function parseKeys(text: string): SealingKey[] {
  const problems: string[] = [];
  const seen = new Set<string>();
  const entries = text.split(",").map((entry) => entry.trim());
  const keys = entries.map((entry, index): SealingKey => {
    const colon = entry.indexOf(":");
    const id = entry.slice(0, Math.max(colon, 0));
    const key = entry.slice(colon + 1);
    const complain = (problem: string) => problems.push(`entry ${index + 1}: ${problem}`);
    if (colon < 0) complain("expected id:base64key");
    else if (!KEY_ID.test(id)) complain("the id has 1 to 32 letters, digits, dots, dashes or underscores");
    else if (!BASE64.test(key)) complain("the key is 32 bytes in base64 (`openssl rand -base64 32`)");
    else if (seen.has(id)) complain("its id was given before");
    seen.add(id);
    return { id, bytes: Buffer.from(key, "base64") };
  });
  if (problems.length > 0) throw new BadKeys(`ENCRYPTION_KEYS: ${problems.join("; ")}`);
  return keys;
}
