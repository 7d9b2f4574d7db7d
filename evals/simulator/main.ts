import { parseArgs } from "node:util";
import { startSimulator } from "./simulator.ts";

/** The simulator as a process of its own: `main.ts --port 8787 [--host 127.0.0.1] [--seed 1]`. Prints its URL, one line a request. */
const { values } = parseArgs({
  options: { host: { type: "string" }, port: { type: "string" }, seed: { type: "string" } },
});

const simulator = await startSimulator({
  ...(values.host === undefined ? {} : { host: values.host }),
  port: Number(values.port ?? 0),
  seed: Number(values.seed ?? 1),
  log: (record) => process.stdout.write(`${JSON.stringify(record)}\n`),
});
process.stdout.write(`${JSON.stringify({ url: simulator.url })}\n`);

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => void simulator.close().then(() => process.exit(0)));
}
