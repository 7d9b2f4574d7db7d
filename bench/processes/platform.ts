/** The reference platform as a process of its own, on the database that DATABASE_URL names. */
import { randomBytes } from "node:crypto";
import { keyRing } from "../../persistence/cipher/key-ring.ts";
import { startPlatform } from "../../tools/platform/platform.ts";
import { endWith } from "./child.ts";

const ring = keyRing(`bench:${randomBytes(32).toString("base64")}`);
const platform = await startPlatform({
  databaseUrl: process.env["DATABASE_URL"] ?? "",
  seal: {
    seal: (text, aad) => ring.seal(text, ["platform", aad]),
    open: (sealed, aad) => ring.open(sealed, ["platform", aad]),
  },
});
endWith(() => platform.close());
process.stdout.write(`platform ${platform.url}\n`);
