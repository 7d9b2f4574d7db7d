import { rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { readPidFile, whatIs } from "./postmaster.ts";
import { isRunning, isZombie, markOf } from "./process-mark.ts";

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

const COLLECTED_MS = 10_000;
const LOOK_EVERY_MS = 20;

/**
 * Waits until a server that has ended is collected by its parent: until then its number looks alive to PostgreSQL. The
 * pid file itself must stay: by it PostgreSQL finds out whether a backend of that server still lives.
 */
export async function deadServerCollected(data: string): Promise<void> {
  const file = readPidFile(data);
  for (let waited = 0; file && isZombie(file.pid) && waited < COLLECTED_MS; waited += LOOK_EVERY_MS) {
    await delay(LOOK_EVERY_MS);
  }
}
