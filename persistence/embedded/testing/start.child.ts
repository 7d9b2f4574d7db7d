/** A process of the tests: starts the embedded server, reports one line, then does what stdin says. */
import { createInterface } from "node:readline";
import { failureCode } from "../../../machines/failure.ts";
import { startEmbedded } from "../start.ts";

export type Report =
  | { readonly kind: "started"; readonly url: string; readonly adopted: boolean; readonly notes: readonly string[] }
  | { readonly kind: "failed"; readonly code: string; readonly message: string };

const [, , dataDir = "", ...shelters] = process.argv;
const report = (line: Report) => process.stdout.write(`${JSON.stringify(line)}\n`);
const orders = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

process.stdout.write("loaded\n");
await orders.next();
try {
  const notes: string[] = [];
  const log = (line: string) => notes.push(line);
  const server = await startEmbedded({ dataDir, log, ...(shelters.length > 0 ? { shelters } : {}) });
  report({ kind: "started", url: server.url, adopted: server.adopted, notes });
  const { value } = await orders.next();
  if (value === "exit") process.exit(3);
  await server.stop();
} catch (error) {
  report({ kind: "failed", code: failureCode(error), message: (error as Error).message });
  process.exitCode = 1;
}
process.stdin.destroy();
