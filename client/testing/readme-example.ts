import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

/** Runs the example of client/README.md as it stands against a server; gives its exit code and all it printed. */
export async function runExample(url: string): Promise<{ readonly code: number | null; readonly printed: string }> {
  const folder = fileURLToPath(new URL("..", import.meta.url));
  const readme = await readFile(`${folder}README.md`, "utf8");
  const example = /```js\n([\s\S]*?)```/.exec(readme)?.[1] ?? "";
  const child = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "--eval", example], {
    cwd: folder,
    env: { ...process.env, ASSIST_URL: url },
    timeout: 60_000,
  });
  let printed = "";
  child.stdout.on("data", (data) => (printed += data));
  child.stderr.on("data", (data) => (printed += data));
  const code = await new Promise<number | null>((done) => child.on("close", done));
  return { code, printed };
}
