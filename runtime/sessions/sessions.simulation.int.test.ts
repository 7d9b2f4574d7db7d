import { afterAll, beforeAll, expect, test } from "vitest";
import { SimulatedWorld } from "./simulation/world.ts";
import { database } from "./testing/scene.ts";

/** Seeds that once failed; each was fixed together with what it found. */
const oldFailures: readonly number[] = [104, 132, 181, 198, 1364, 1858, 2004, 2431, 3356, 7194, 30_230];
/** The same of lives with questions, proposals and buttons. */
const oldAskingFailures: readonly number[] = [20, 50, 135, 150, 152, 172, 254, 291, 305, 2_201, 2_497, 6_323];
/** `SIMULATIONS=5000` lives that many fresh lives, `SIMULATION_SEED=7000` begins at that seed; `SIMULATION_TRACE=1` tells failed ones. */
const first = Number(process.env["SIMULATION_SEED"] ?? 1);
const count = Number(process.env["SIMULATIONS"] ?? 150);
const freshSeeds = Array.from({ length: count }, (_, at) => first + at);
const STEPS = { without: 150, asking: 400 };

let db: Awaited<ReturnType<typeof database>>;
let now = () => 0;
const seen = new Map<string, number>();
beforeAll(async () => {
  db = await database(undefined, () => now());
});
afterAll(() => db.end());

async function live(seed: number, asks: boolean): Promise<void> {
  const world = await SimulatedWorld.begin(db, seed, asks);
  now = () => world.now;
  try {
    const steps = asks ? STEPS.asking : STEPS.without;
    for (let step = 0; step < steps && world.problems.length === 0; step += 1) await world.step();
    const problems = world.problems.length > 0 ? world.problems : await world.rest();
    if (problems.length > 0 && process.env["SIMULATION_TRACE"]) process.stderr.write(`${world.trace.join("\n")}\n`);
    expect(problems, problems.join("\n")).toEqual([]);
  } finally {
    for (const [what, times] of world.seen) seen.set(what, (seen.get(what) ?? 0) + times);
    await world.end();
  }
}

for (const seed of oldFailures) {
  test(`[SE20] seed ${seed}: every accepted message ends in exactly one turn, whoever dies`, () => live(seed, false));
}
for (const seed of new Set([...oldAskingFailures, ...freshSeeds])) {
  test(`[SE20] seed ${seed}: every command gets its receipt, every turn and question its one end`, () =>
    live(seed, true));
}

test.runIf(count >= 100)("the lives together have seen everything that may happen to a question and a button", () => {
  const wanted = [
    ...["accepted", "duplicate", "stale", "expired", "invalid", "not_found"].map((one) => `interaction_receipt ${one}`),
    ...["done", "duplicate", "failed", "invalid"].map((one) => `action_receipt ${one}`),
    ...["ended user", "ended superseded", "ended expired", "plan_create written", "plan_update written"],
  ];
  if (process.env["SIMULATION_TRACE"]) process.stderr.write(`${JSON.stringify([...seen].sort())}\n`);
  expect(wanted.filter((one) => !seen.has(one))).toEqual([]);
});
