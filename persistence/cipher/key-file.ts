import { randomBytes } from "node:crypto";
import { link, mkdir, open, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { BadKeys } from "./failures.ts";
import { KEY_BYTES } from "./key-ring.ts";

/** `keys` has the format of ENCRYPTION_KEYS. */
export type LocalKeys = { readonly keys: string; readonly made: boolean };

/**
 * Reads `<dataDir>/keys`, made with one random key when missing (mode 0600, whole or not at all).
 * For installations without ENCRYPTION_KEYS. Throws `BadKeys` when others may read the file.
 */
export async function loadOrMakeKeys(dataDir: string): Promise<LocalKeys> {
  // Others may pass through: as root, PostgreSQL's own user has its folder inside.
  await mkdir(dataDir, { recursive: true, mode: 0o711 });
  const path = join(dataDir, "keys");
  const made = !(await isThere(path)) && (await make(path));
  const { mode } = await stat(path);
  if (process.platform !== "win32" && (mode & 0o077) !== 0) {
    throw new BadKeys(`${path} can be read by other users: run \`chmod 600 ${path}\`, and rotate the key if they did`);
  }
  const keys = (await readFile(path, "utf8")).trim();
  if (keys === "") throw new BadKeys(`${path} is empty: restore it from a backup; without its key the data is lost`);
  return { keys, made };
}

/** False when another process was faster; its key stands. */
async function make(path: string): Promise<boolean> {
  const draft = `${path}.${randomBytes(6).toString("hex")}`;
  const file = await open(draft, "wx", 0o600);
  try {
    const id = `local-${randomBytes(4).toString("hex")}`;
    await file.writeFile(`${id}:${randomBytes(KEY_BYTES).toString("base64")}\n`);
    await file.sync();
    await link(draft, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  } finally {
    await file.close();
    await rm(draft, { force: true });
  }
}

async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return false;
      throw error;
    },
  );
}
