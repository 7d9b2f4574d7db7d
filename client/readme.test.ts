import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { fakeServer } from "./testing/fake-server.ts";

test("the example of the README works as it stands", async () => {
  const folder = fileURLToPath(new URL(".", import.meta.url));
  const readme = await readFile(`${folder}README.md`, "utf8");
  const example = /```js\n([\s\S]*?)```/.exec(readme)?.[1] ?? "";
  const server = await fakeServer({
    answer: async ({ text }, stage) => {
      await stage.say(`You asked: ${text}`);
      return "completed";
    },
  });
  try {
    const args = ["--import", "tsx", "--input-type=module", "--eval", example];
    const env = { ...process.env, ASSIST_URL: server.url };
    const child = spawn(process.execPath, args, { cwd: folder, env, timeout: 15_000 });
    let printed = "";
    child.stdout.on("data", (data) => (printed += data));
    child.stderr.on("data", (data) => (printed += data));
    const code = await new Promise((done) => child.on("close", done));
    expect([code, printed]).toEqual([0, "You asked: Does ginkgo interact with warfarin?"]);
  } finally {
    await server.close();
  }
});
