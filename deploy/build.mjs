/**
 * Builds `dist/` when a source is newer than the last build: the runtime with tsc, the console with Vite.
 * Run by `npm ci` (prepare) and by `npm start`; plain JavaScript, because nothing is built yet when it runs.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const SOURCES = ["machines", "skills", "tools", "persistence", "runtime", "evals", "bench", "client"];
const FILES = ["assist.config.ts", "package.json", "package-lock.json", "tsconfig.json", "tsconfig.build.json"];
const stamp = join(root, "dist", ".built");

/** Changes when a source file appears, goes, or is written. */
function fingerprint() {
  const hash = createHash("sha256");
  const add = (path) => {
    const { size, mtimeMs } = statSync(join(root, path));
    hash.update(`${path}\0${size}\0${mtimeMs}\n`);
  };
  for (const file of FILES) if (existsSync(join(root, file))) add(file);
  for (const folder of SOURCES) {
    const names = readdirSync(join(root, folder), { recursive: true, encoding: "utf8" });
    for (const name of names.filter((one) => /\.(ts|tsx|css|html|svg)$/.test(one)).sort()) add(join(folder, name));
  }
  return hash.digest("hex");
}

function run(what, file, args) {
  const { status, error } = spawnSync(process.execPath, [file, ...args], {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit"],
  });
  if (status === 0) return;
  process.stderr.write(
    `${what} failed${error ? `: ${error.message}` : ""}; run npm ci again, or see the lines above\n`,
  );
  process.exit(1);
}

const require = createRequire(import.meta.url);
const binary = (name, bin) => join(dirname(require.resolve(`${name}/package.json`)), bin);

const now = fingerprint();
if (!existsSync(stamp) || readFileSync(stamp, "utf8") !== now) {
  process.stdout.write("building …\n");
  rmSync(join(root, "dist"), { recursive: true, force: true });
  mkdirSync(join(root, "dist"), { recursive: true });
  run("the build", binary("typescript", "bin/tsc"), ["-p", "tsconfig.build.json"]);
  run("the console's build", binary("vite", "bin/vite.js"), [
    "build",
    "--config",
    "client/console/vite.config.ts",
    "--logLevel",
    "warn",
  ]);
  writeFileSync(stamp, now);
}
