import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createLog, linesTo } from "./log.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "dormouse-log-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const counts = async (file: string): Promise<number[]> =>
  (await readFile(file, "utf8")).split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line)["count"]]));

const upTo = (most: number) => Array.from({ length: most }, (_, at) => at);

test("after a flush every line is in the file, in order, also what came while a write was under way", async () => {
  const file = join(folder, "flushed");
  const log = createLog({ level: "info", destination: linesTo(file) });
  for (const count of upTo(500)) log.info("one of many", { count });
  await log.flush();
  expect(await counts(file)).toEqual(upTo(500));
  for (const count of upTo(40)) (count % 7 === 0 ? log.warn : log.info)("more", { count });
  await log.flush();
  expect(await counts(file)).toEqual([...upTo(500), ...upTo(40)]);
});

test("info lines wait for each other, a warning or an error for nothing", () => {
  const heard: string[] = [];
  const destination = {
    write: (line: string) => void heard.push(JSON.parse(line)["level"]),
    flush: () => void heard.push("flush"),
  };
  const log = createLog({ level: "info", destination });
  log.info("a");
  log.info("b");
  log.warn("c");
  log.error("d");
  expect(heard).toEqual(["info", "info", "warn", "flush", "error", "flush"]);
});

test("what a pipe refuses to keep is no failure; any other failure of a flush is told", async () => {
  const refusing = (error: Error) => ({ write: () => {}, flush: (done?: (error: Error) => void) => done?.(error) });
  const unsynced = Object.assign(new Error("invalid"), { syscall: "fsync" });
  const full = Object.assign(new Error("full"), { syscall: "write" });
  await createLog({ level: "info", destination: refusing(unsynced) }).flush();
  await expect(createLog({ level: "info", destination: refusing(full) }).flush()).rejects.toBe(full);
});

/** How a process ends, and its exit code. */
const ENDS = [
  ["a clean exit", "process.exit(0);", 0],
  ["an exception that nothing caught", 'throw new Error("broken");', 1],
  ["nothing left to do", "", 0],
] as const;

test.each(ENDS)("nothing is lost by %s", async (_, end, code) => {
  const file = join(folder, `ended-${code}-${end.length}`);
  const source = fileURLToPath(new URL("./log.ts", import.meta.url));
  const script = `
    import { openSync } from "node:fs";
    import { createLog, linesTo } from ${JSON.stringify(source)};
    const log = createLog({ level: "info", destination: linesTo(openSync(${JSON.stringify(file)}, "a")) });
    setTimeout(() => {
      for (let count = 0; count < 100; count += 1) log.info("line", { count });
      ${end}
    }, 1);`;
  const args = ["--import", "tsx", "--input-type=module", "-e", script];
  const exit = await new Promise((resolve) => {
    const child = execFile(process.execPath, args, () => resolve(child.exitCode));
  });
  const written = (await counts(file)).sort((a, b) => a - b);
  expect({ exit, written }).toEqual({ exit: code, written: upTo(100) });
});
