import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import type { Sealer } from "../store/sealer.ts";

/** AES-256-GCM under one key of 32 bytes: what the composition root does with its key ring. */
export function keySealer(key: Buffer): Sealer {
  return {
    seal(text, aad) {
      const nonce = randomBytes(12);
      const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(aad));
      const body = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), body]);
    },
    open(sealed, aad) {
      const decipher = createDecipheriv("aes-256-gcm", key, sealed.subarray(0, 12), { authTagLength: 16 });
      decipher.setAAD(Buffer.from(aad)).setAuthTag(sealed.subarray(12, 28));
      return Buffer.concat([decipher.update(sealed.subarray(28)), decipher.final()]).toString("utf8");
    },
  };
}
