import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { type Bench, BenchFailed, type Figure, figure } from "./harness.ts";
import { type Launched, launch } from "./processes/launch.ts";
import { ANSWER_BYTES, ANSWER_MS, type SlowReadersNode, startSlowReadersNode } from "./slow-readers/node.ts";
import { median } from "./statistics.ts";
import { amount } from "./table.ts";

const SLOW = 200;
/** What the gateway may hold for one socket: its send buffer, and what it has handed over to the native layer. */
const NATIVE_BYTES = 131_072;
const DELAY_BUDGET = 1.1;
const MIB = 1_048_576;

type Run = { readonly turnMs: number; readonly grownBy: number; readonly closed: Readonly<Record<string, number>> };

/** The same answer with and without the slow clients, in turns. All clients live in a process of their own. */
export const slowReadersBench: Bench = {
  name: "slow-readers",
  question: `what do ${SLOW} clients that stop reading cost one that reads, while ${ANSWER_BYTES / MIB} MiB are streamed?`,
  samples: 3,
  async run(setup) {
    const { ends, say, samples } = setup;
    const node = await startSlowReadersNode(setup);
    const clients = launch("bench/processes/readers", { ends, env: { URL: node.url, COUNT: String(SLOW) } });
    await clients.line(/(readers) ready\n/);
    say("warming up");
    await run(clients, 0, 0);
    collect();
    const base = process.memoryUsage().rss;
    const alone: Run[] = [];
    const crowded: Run[] = [];
    for (let round = 0; round < samples; round += 1) {
      say(`round ${round + 1} of ${samples}: ${ANSWER_MS / 1000} s alone, ${ANSWER_MS / 1000} s among ${SLOW}`);
      alone.push(await run(clients, 0, base));
      crowded.push(await run(clients, SLOW, base));
    }
    return { figures: figures(node, alone, crowded), facts: facts(node, alone, crowded) };
  },
};

function figures({ limits }: SlowReadersNode, alone: readonly Run[], crowded: readonly Run[]): readonly Figure[] {
  const turns = (runs: readonly Run[]) => runs.map(({ turnMs }) => turnMs);
  const grown = (runs: readonly Run[]) => runs.map(({ grownBy }) => grownBy);
  const bound = median(grown(alone)) + SLOW * (limits.send_buffer_bytes + NATIVE_BYTES);
  return [
    figure("the whole answer at the client that reads", "ms", turns(crowded), {
      what: "without slow clients",
      p50: median(turns(alone)),
      budget: DELAY_BUDGET,
    }),
    figure("peak growth of the process", "bytes", grown(crowded), {
      what: `growth alone and ${SLOW} full send buffers`,
      p50: bound,
      budget: 1,
    }),
  ];
}

function facts(node: SlowReadersNode, alone: readonly Run[], crowded: readonly Run[]) {
  const closed = crowded.map((one) =>
    Object.entries(one.closed)
      .map(([code, count]) => `${count} with ${code}`)
      .join(", "),
  );
  const each = (runs: readonly Run[]) => runs.map(({ grownBy }) => amount(grownBy, "bytes")).join(", ");
  return [
    { what: "streamed", value: `${ANSWER_BYTES / MIB} MiB in ${ANSWER_MS / 1000} s at best, in pieces of 4 KiB` },
    { what: "slow clients closed", value: closed.join("; ") },
    { what: "peak growth", value: `alone ${each(alone)}; among ${SLOW} ${each(crowded)}` },
    { what: "sockets left", value: String(node.sockets()) },
  ];
}

/** One answer to one client that reads, while `slow` others do not; the most that the process held over `base`. */
async function run(clients: Launched, slow: number, base: number): Promise<Run> {
  await order(clients, "begin");
  if (slow > 0) await order(clients, "slow");
  collect();
  let most = 0;
  const watch = setInterval(() => {
    most = Math.max(most, process.memoryUsage().rss);
  }, 20);
  try {
    const turnMs = await order(clients, "turn");
    if (typeof turnMs !== "number") throw new BenchFailed(`the turn did not go through: ${String(turnMs)}`);
    const closed = (await order(clients, "end")) as Readonly<Record<string, number>>;
    return { turnMs, grownBy: most - base, closed };
  } finally {
    clearInterval(watch);
  }
}

async function order(clients: Launched, what: string): Promise<unknown> {
  const answer = await clients.ask(what);
  if (typeof answer === "string" && answer !== "done")
    throw new BenchFailed(`the clients could not ${what}: ${answer}`);
  return answer;
}

function collect(): void {
  setFlagsFromString("--expose-gc");
  const gc = runInNewContext("gc") as () => void;
  gc();
}
