import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { packageRoot } from "../../skills/package-root.ts";

/** One import of a source file: what it names, and where that leads inside the project. */
export type Import = { readonly names: string; readonly target: string | undefined; readonly typeOnly: boolean };
export type Source = { readonly path: string; readonly text: string; readonly imports: readonly Import[] };

const FOLDERS = ["machines", "skills", "tools", "persistence", "runtime", "evals", "bench", "client"];
const IMPORT = /(?:^|\n)\s*(import|export)\s+(type\s+)?(?:[^"';]*?\s+from\s+)?"([^"]+)"|import\(\s*"([^"]+)"\s*\)/g;

export const isTest = (path: string): boolean =>
  /\.(test|contract)\.tsx?$/.test(path) || /\/(testing|e2e)\b/.test(path);

/** Every TypeScript source of the project with its imports, dynamic ones included. */
export function sources(): readonly Source[] {
  const root = packageRoot();
  const inside = FOLDERS.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((name) => join(folder, name)),
  );
  const files = ["assist.config.ts", ...inside].filter((path) => /\.tsx?$/.test(path) && !path.endsWith(".d.ts"));
  return files.sort().map((path) => {
    const text = readFileSync(join(root, path), "utf8");
    const imports = [...text.matchAll(IMPORT)].map((match): Import => {
      const names = match[3] ?? match[4] ?? "";
      const target = names.startsWith(".") ? relative(root, join(root, dirname(path), names)) : undefined;
      return { names, target, typeOnly: match[2] !== undefined };
    });
    return { path, text, imports };
  });
}
