import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of the nearest package.json named "dormouse": from the sources and from `dist`, which holds no Markdown. */
export function packageRoot(): string {
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; folder = dirname(folder)) {
    const manifest = join(folder, "package.json");
    if (existsSync(manifest) && nameIn(manifest) === "dormouse") return folder;
    if (folder === dirname(folder)) throw new TypeError("the skills are not inside the dormouse package");
  }
}

function nameIn(manifest: string): unknown {
  const parsed: unknown = JSON.parse(readFileSync(manifest, "utf8"));
  return typeof parsed === "object" && parsed !== null && "name" in parsed ? parsed.name : undefined;
}
