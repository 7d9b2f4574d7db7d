import { rmSync } from "node:fs";
import { join } from "node:path";
import { readPidFile, whatIs } from "./postmaster.ts";
import { isRunning, markOf } from "./process-mark.ts";

/**
 * Removes a pid file whose number belongs to another program by now: PostgreSQL itself only asks whether the number
 * lives, and would refuse to start. It gets over a dead number alone. The caller owns the folder and found no server.
 */
export function removeForeignPidFile(data: string): void {
  const file = readPidFile(data);
  if (file && isRunning(markOf(file.pid)) && whatIs(file, data) === "another program") {
    rmSync(join(data, "postmaster.pid"), { force: true });
  }
}
