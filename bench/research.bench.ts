import { availableParallelism, loadavg } from "node:os";
import { type Bench, BenchFailed, type Fact, type Figure, figure, type Report, type Setup } from "./harness.ts";
import { PACE, startResearchNode, type Workers } from "./research/node.ts";
import { CHATS, type Phase, phase, WINDOW_MS } from "./research/phase.ts";
import { percentile } from "./statistics.ts";

const JOBS = 50;
const WARM_JOBS = 4;
const BUDGET = 1.5;

type Measured = { readonly workers: Workers; readonly quiet: readonly Phase[]; readonly busy: readonly Phase[] };

/** The same chats with and without jobs, in turns; the clients live in this process, everything else in its own. */
export const researchBench: Bench = {
  name: "research",
  question: `how long do ${CHATS} chats wait for their first word while ${JOBS} research jobs are in flight?`,
  samples: 3,
  async run(setup) {
    const [began = Number.NaN] = loadavg();
    const inNode = await measure(setup, "in the node");
    const apart = await measure(setup, "apart");
    const load = [began, ...[inNode, apart].flatMap(({ quiet, busy }) => [...quiet, ...busy].map((one) => one.load))];
    return {
      figures: [...figures(inNode), ...figures(apart)],
      facts: [
        {
          what: "each",
          value: `${setup.samples} × ${WINDOW_MS / 1_000} s without and among jobs; first byte of the model after ${PACE.firstByteMs} ms, ${PACE.tokenMs} ms a token; ratio of p95s`,
        },
        ...facts(inNode),
        ...facts(apart),
        {
          what: "load average",
          value: `${Math.min(...load).toFixed(1)} to ${Math.max(...load).toFixed(1)} on ${availableParallelism()} processors, ours included`,
        },
      ],
    } satisfies Report;
  },
};

async function measure(setup: Setup, workers: Workers): Promise<Measured> {
  const { say, samples } = setup;
  say(`starting database, platform, simulator and node as processes, workers ${workers}`);
  const node = await startResearchNode(setup, workers);
  const quiet: Phase[] = [];
  const busy: Phase[] = [];
  const without = async () => void quiet.push(await phase(node, 0));
  const among = async () => void busy.push(await phase(node, JOBS));
  say("warming up");
  await phase(node, WARM_JOBS);
  for (let round = 0; round < samples; round += 1) {
    say(`round ${round + 1} of ${samples}, workers ${workers}`);
    // Whatever grows with time meets both.
    for (const one of round % 2 === 0 ? [without, among] : [among, without]) await one();
  }
  await node.end();
  const outcomes = busy.flatMap(({ ended }) => ended);
  if (!outcomes.includes("ok")) throw new BenchFailed(`no job was done among the chats (${counted(outcomes)})`);
  return { workers, quiet, busy };
}

const firstDeltas = (phases: readonly Phase[]) => phases.flatMap((one) => one.firstDeltas);
const p95 = (phases: readonly Phase[]) => percentile(firstDeltas(phases), 0.95);

function figures({ workers, quiet, busy }: Measured): readonly Figure[] {
  const beside = { what: "without jobs", p95: p95(quiet), budget: BUDGET };
  return [
    figure(`first delta among ${JOBS} jobs, workers ${workers}`, "ms", firstDeltas(busy), beside),
    figure(`first delta without jobs, workers ${workers}`, "ms", firstDeltas(quiet)),
  ];
}

function facts({ workers, quiet, busy }: Measured): readonly Fact[] {
  const seconds = (busy.length * WINDOW_MS) / 1_000;
  const both = (tell: (phases: readonly Phase[]) => string) => `${tell(quiet)} without, ${tell(busy)} among`;
  const done = busy.flatMap(({ ended }) => ended.filter((outcome) => outcome === "ok")).length;
  const all = busy.flatMap(({ endedInAll }) => endedInAll);
  const standing = busy.flatMap((one) => one.standing);
  const running = standing.map((one) => one.running);
  const waiting = standing.map((one) => one.waiting);
  const othersOf = ({ used: { others = Number.NaN } }: Phase) => Math.max(0, others).toFixed(1);
  const rounds = (phases: readonly Phase[]) =>
    phases.map((one) => `${p95([one]).toFixed(0)} (${othersOf(one)})`).join(", ");
  return [
    {
      what: `workers ${workers}, jobs`,
      value: `${done} done in the windows (${(done / seconds).toFixed(1)} a second), ended in all ${counted(all)}; at work ${mean(running).toFixed(1)} (${Math.max(...running)} at most), waiting ${mean(waiting).toFixed(1)}`,
    },
    { what: "  answers a second", value: both((phases) => (firstDeltas(phases).length / seconds).toFixed(1)) },
    { what: "  p95 of each window, ms (processors that others used)", value: both(rounds) },
    {
      what: "  p95 while the jobs came in at once, ms",
      value: p95Of(busy.flatMap(({ arriving }) => arriving)),
    },
    {
      what: "  event loop of the node, p50 / p99 / max ms (idle 10)",
      value: both((phases) => {
        const each = (name: "p50" | "p99" | "max") => mean(phases.map(({ loop }) => loop[name])).toFixed(0);
        return `${each("p50")} / ${each("p99")} / ${each("max")}`;
      }),
    },
    ...Object.keys(quiet[0]?.used ?? {}).map((part) => ({
      what: `  processors, ${part}`,
      value: both((phases) => Math.max(0, mean(phases.map(({ used }) => used[part] ?? 0))).toFixed(2)),
    })),
  ];
}

const p95Of = (values: readonly number[]): string =>
  values.length === 0 ? "none asked" : percentile(values, 0.95).toFixed(0);

const mean = (values: readonly number[]): number =>
  values.reduce((sum, one) => sum + one, 0) / Math.max(1, values.length);

const counted = (outcomes: readonly string[]): string =>
  [...new Set(outcomes)].map((each) => `${outcomes.filter((one) => one === each).length} ${each}`).join(", ");
