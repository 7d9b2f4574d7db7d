import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";

/** Where a running node serves what it has embedded, for a worker that is started beside it. */
const schema = z.object({
  databaseUrl: z.string().optional(),
  platformUrl: z.string().optional(),
  simulatorUrl: z.string().optional(),
});
export type NodeFile = z.infer<typeof schema>;

const nameIn = (dataDir: string) => join(dataDir, "node.json");

/** For the owner of the data folder alone: the address of the database holds its password. */
export async function writeNodeFile(dataDir: string, node: NodeFile): Promise<() => Promise<void>> {
  await rm(nameIn(dataDir), { force: true });
  await writeFile(nameIn(dataDir), JSON.stringify(node), { mode: 0o600 });
  return () => rm(nameIn(dataDir), { force: true });
}

/** Undefined: no node runs in this folder, or none that this process may read of. */
export async function readNodeFile(dataDir: string): Promise<NodeFile | undefined> {
  try {
    return schema.parse(JSON.parse(await readFile(nameIn(dataDir), "utf8")));
  } catch {
    return undefined;
  }
}
