import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of the nearest package.json named "dormouse": the same from the source and from a build that copies no data. */
function packageRoot(): string {
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; folder = dirname(folder)) {
    const manifest = join(folder, "package.json");
    if (existsSync(manifest) && nameIn(manifest) === "dormouse") return folder;
    if (folder === dirname(folder)) throw new TypeError("the platform's files are not inside the dormouse package");
  }
}

function nameIn(manifest: string): unknown {
  const parsed: unknown = JSON.parse(readFileSync(manifest, "utf8"));
  return typeof parsed === "object" && parsed !== null && "name" in parsed ? parsed.name : undefined;
}

const folder = join(packageRoot(), "tools", "platform");

/** Where a file of the platform lies, e.g. `data/labs.json`. */
export function platformPath(relative: string): string {
  return join(folder, relative);
}

/** Text of a file of the platform, e.g. `schema.graphql`. */
export function readPlatformFile(relative: string): string {
  return readFileSync(platformPath(relative), "utf8");
}
