import { afterAll, beforeAll, expect, test } from "vitest";
import { SimulatedWorld } from "./simulation/world.ts";
import { database } from "./testing/scene.ts";

/** Seeds that once failed; each was fixed together with what it found. */
const oldFailures: readonly number[] = [104, 132, 181, 198, 1364, 1858, 2004, 2431, 3356, 7194, 30_230];
/** `SIMULATIONS=5000` lives that many fresh lives, `SIMULATION_SEED=7000` begins at that seed; `SIMULATION_TRACE=1` tells failed ones. */
const first = Number(process.env["SIMULATION_SEED"] ?? 1);
const count = Number(process.env["SIMULATIONS"] ?? 150);
const freshSeeds = Array.from({ length: count }, (_, at) => first + at);
const STEPS = 150;

let db: Awaited<ReturnType<typeof database>>;
beforeAll(async () => {
  db = await database();
});
afterAll(() => db.end());

for (const seed of new Set([...oldFailures, ...freshSeeds])) {
  test(`[SE20] seed ${seed}: every accepted message ends in exactly one turn, whoever dies`, async () => {
    const world = await SimulatedWorld.begin(db, seed);
    try {
      for (let step = 0; step < STEPS && world.problems.length === 0; step += 1) await world.step();
      const problems = world.problems.length > 0 ? world.problems : await world.rest();
      if (problems.length > 0 && process.env["SIMULATION_TRACE"]) process.stderr.write(`${world.trace.join("\n")}\n`);
      expect(problems).toEqual([]);
    } finally {
      await world.end();
    }
  });
}
