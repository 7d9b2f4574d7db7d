import { chmod, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A fresh folder for one data directory. Others may enter it: as root, PostgreSQL runs as a user of its own. */
export async function dataFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "dormouse-bench-"));
  await chmod(folder, 0o711);
  return folder;
}
