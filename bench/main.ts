/** `npm run bench -- [name] [--json] [--samples n] [--enforce]`. Figures and their limits go to stdout, progress to stderr. */
import { Command, CommanderError } from "commander";
import { Failure } from "../machines/failure.ts";
import { drainBench } from "./drain.bench.ts";
import { Ends } from "./ends.ts";
import type { Bench, Report } from "./harness.ts";
import { commitLine, machineLine } from "./machine.ts";
import { memoryBench } from "./memory.bench.ts";
import { researchBench } from "./research.bench.ts";
import { slowReadersBench } from "./slow-readers.bench.ts";
import { render } from "./table.ts";
import { thawBench } from "./thaw.bench.ts";
import { turnBench } from "./turn.bench.ts";

const BENCHES: readonly Bench[] = [turnBench, drainBench, thawBench, memoryBench, slowReadersBench, researchBench];

type Options = { readonly json?: boolean; readonly enforce?: boolean; readonly samples?: string };

const program = new Command("bench")
  .description("Measures Dormouse beside the physical limits of this machine.")
  .argument("[name]", `one of ${BENCHES.map(({ name }) => name).join(", ")}; all without one`)
  .option("--json", "one JSON document on stdout")
  .option("--samples <n>", "how often to measure, from 1")
  .option("--enforce", "exit 1 when a figure is over its budget")
  .addHelpText("after", "\nExit codes: 0 measured, 1 could not measure (or over budget with --enforce), 2 wrong usage.")
  .exitOverride();

const ends = new Ends();
let interrupted: number | undefined;

function onSignal(signal: NodeJS.Signals): void {
  if (interrupted !== undefined) return;
  interrupted = signal === "SIGINT" ? 130 : 143;
  process.stderr.write(`${signal}: ending what was started\n`);
  void ends.shut().then(leave);
}

function leave(problems: readonly string[]): never {
  for (const line of problems) process.stderr.write(`${line}\n`);
  process.exit(interrupted);
}

async function main(): Promise<number> {
  program.parse();
  const { json = false, enforce = false, samples: wanted } = program.opts<Options>();
  const [name] = program.args;
  const chosen = BENCHES.filter((bench) => name === undefined || bench.name === name);
  if (chosen.length === 0) program.error(`error: there is no bench ${name}`);
  if (wanted !== undefined && !/^[1-9]\d{0,4}$/.test(wanted)) program.error("error: --samples takes a number from 1");
  process.on("SIGINT", onSignal).on("SIGTERM", onSignal);

  const machine = machineLine();
  const commit = commitLine();
  if (!json) process.stdout.write(`${machine}\ncommit ${commit}\n`);
  const reports: (Report & { readonly name: string })[] = [];
  for (const bench of chosen) {
    if (!json) process.stdout.write(`\n${bench.name}: ${bench.question}\n`);
    const report = await measure(bench, wanted === undefined ? bench.samples : Number(wanted));
    reports.push({ name: bench.name, ...report });
    if (!json) process.stdout.write(`${render(report).join("\n")}\n`);
  }
  if (json) process.stdout.write(`${JSON.stringify({ machine, commit, reports }, null, 2)}\n`);
  const isOver = reports.some(({ figures }) => figures.some(({ limit }) => limit?.within === false));
  return enforce && isOver ? 1 : 0;
}

async function measure(bench: Bench, samples: number): Promise<Report> {
  const say = (line: string) => void process.stderr.write(`  ${line}\n`);
  try {
    return await bench.run({ samples, ends, say });
  } finally {
    for (const line of await ends.closeAll()) process.stderr.write(`${line}\n`);
  }
}

try {
  process.exitCode = await main();
} catch (error) {
  // What broke is what was ended under its feet.
  if (interrupted !== undefined) leave(await ends.shut());
  if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : 2;
  else {
    const words =
      error instanceof Failure ? error.message : error instanceof Error ? (error.stack ?? error.name) : "unknown";
    process.stderr.write(`bench: ${words}\n`);
    process.exitCode = 1;
  }
}
process.exit();
