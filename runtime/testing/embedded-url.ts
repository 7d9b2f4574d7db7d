import { readFileSync } from "node:fs";
import { join } from "node:path";
import { databaseIn } from "./process.ts";

/** The address of the database that a server runs in its data folder, with its password. */
export function embeddedUrl(dataDir: string): string {
  const running = databaseIn(dataDir);
  if (running === undefined) throw new Error(`no database runs in ${dataDir}`);
  const password = readFileSync(join(dataDir, "postgres", "password"), "utf8").trim();
  return `postgres://dormouse:${password}@127.0.0.1:${running.port}/dormouse`;
}
