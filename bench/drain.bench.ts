import { type Drained, drainOnce } from "./drain/scene.ts";
import { type Bench, figure, type Report, type Setup } from "./harness.ts";

const TURNS = 50;
/** The default of DRAIN_GRACE_MS, and one that leaves turns unfinished. */
const GRACES_MS = [25_000, 4_000] as const;

/** A drain that loses a turn is no result: the bench fails then. */
export const drainBench: Bench = {
  name: "drain",
  question: `how do ${TURNS} turns in flight end after SIGTERM, and how long does the process take?`,
  samples: 1,
  async run(setup) {
    const reports: Report[] = [];
    for (const graceMs of GRACES_MS) reports.push(await measured(setup, graceMs));
    return { figures: reports.flatMap(({ figures }) => figures), facts: reports.flatMap(({ facts }) => facts) };
  },
};

async function measured(setup: Setup, graceMs: number): Promise<Report> {
  const runs: Drained[] = [];
  for (let sample = 0; sample < setup.samples; sample += 1) {
    runs.push(await drainOnce(setup, { turns: TURNS, graceMs }));
    await setup.ends.closeAll();
  }
  const idle = { what: "the same with nothing in flight", p50: Math.min(...runs.map(({ idleMs }) => idleMs)) };
  const name = `SIGTERM to exit, grace ${graceMs / 1000} s`;
  return {
    figures: [
      figure(
        name,
        "ms",
        runs.map(({ drainMs }) => drainMs),
        idle,
      ),
    ],
    facts: runs.map(({ settled, parked, outcomes, recoveryMs, exitCode }) => ({
      what: `grace ${graceMs / 1000} s`,
      value:
        `${settled} settled before exit, ${parked} parked and settled by the next process` +
        `${parked > 0 ? ` (all within ${(recoveryMs / 1000).toFixed(1)} s of its start)` : ""}, 0 lost; ` +
        `exit code ${exitCode}; outcomes: ${outcomes}`,
    })),
  };
}
