import { expect, test } from "vitest";
import { assist } from "../assist.config.ts";
import { testDatabase } from "../persistence/testing/database.ts";
import { newKeys, newNode } from "../persistence/testing/store-scene.ts";
import { readConfig } from "./config.ts";
import { createLog } from "./observe/log.ts";
import { Closers, openParts } from "./parts.ts";

/** In the order in which they were opened; they are closed the other way round. */
class NamedClosers extends Closers {
  readonly names: string[] = [];
  override add(name: string, close: () => Promise<unknown> | unknown): void {
    this.names.push(name);
    super.add(name, close);
  }
}

test.each([
  ["a node gives up its row after everything that writes, just before its connections", "node", ["node row"]],
  ["a worker has no row", "worker", []],
] as const)("%s", async (_, kind, row) => {
  const database = await testDatabase();
  const closers = new NamedClosers();
  const log = createLog({ level: "silent" });
  const env = { DATABASE_URL: database.url, PLATFORM_URL: "http://127.0.0.1:9", ENCRYPTION_KEYS: newKeys("k1") };
  const open = (as: Parameters<typeof openParts>[0]["as"], of: Closers) =>
    openParts({
      ...{ config: readConfig(env), agent: assist, log, closers: of, databaseUrl: database.url, as },
      simulator: async () => "http://127.0.0.1:9",
      stopping: new AbortController().signal,
    });
  const node = new Closers();
  try {
    await open({ kind: "node", id: newNode(), silentMs: 0 }, node);
    await open(kind === "node" ? { kind, id: newNode(), silentMs: 0 } : { kind }, closers);
    // What a node opens besides is opened later.
    expect(closers.names).toEqual(["connections", "attachments", ...row, "audit rows", "tool servers"]);
  } finally {
    await closers.closeAll(log);
    await node.closeAll(log);
    await database.drop();
  }
});
