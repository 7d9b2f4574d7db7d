import { readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { runningPostmaster, stopPostmaster } from "../embedded/postmaster.ts";
import { isRunning, type ProcessMark } from "../embedded/process-mark.ts";

export const PREFIX = "dormouse-test-pg-";
const YOUNG_MS = 10 * 60_000;

/** Ends what killed runs of this user left in `base`: their servers, then their folders. */
export async function sweep(base: string): Promise<void> {
  for (const name of await readdir(base)) {
    const folder = join(base, name);
    if (name.startsWith(PREFIX) && (await isLeft(folder))) {
      const server = runningPostmaster(join(folder, "home", "data"));
      if (server) await stopPostmaster(server.mark, { fastMs: 0, immediateMs: 5_000 });
      await rm(folder, { recursive: true, force: true });
    }
  }
}

async function isLeft(folder: string): Promise<boolean> {
  try {
    const { uid, mtimeMs } = await stat(folder);
    if (uid !== process.getuid?.()) return false;
    const owner = await readFile(join(folder, "owner.json"), "utf8").catch(() => "");
    if (owner === "") return Date.now() - mtimeMs > YOUNG_MS;
    return !isRunning(JSON.parse(owner) as ProcessMark);
  } catch (error) {
    // A run that ends now removes its folder under our eyes.
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
}
