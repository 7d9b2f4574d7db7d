import { loadavg } from "node:os";
import { setTimeout as pause } from "node:timers/promises";
import { within } from "../harness.ts";
import type { LoopDelay, ResearchNode, Standing } from "./node.ts";
import { startChats, startResearchers, type Timed } from "./people.ts";
import { shares, type Used } from "./processor.ts";

export const CHATS = 20;
export const WINDOW_MS = 15_000;
const WARM_MS = 2_000;
const LOOK_MS = 500;
const ALL_IN_FLIGHT_MS = 60_000;

/** What one window of time was like for the chats. */
export type Phase = {
  /** Ms from sending to the first `llm_delta`, for each answer asked for in the window. */
  readonly firstDeltas: readonly number[];
  /** The same for those asked for before, while the first messages of all the jobs came in at once. */
  readonly arriving: readonly number[];
  /** How jobs ended in the window, and in the whole phase: `ok`, or a code. */
  readonly ended: readonly string[];
  readonly endedInAll: readonly string[];
  readonly standing: readonly Standing[];
  readonly loop: LoopDelay;
  /** Processors that each part used. */
  readonly used: Used;
  readonly load: number;
};

/**
 * 20 new sessions stream answer after answer, while `jobs` people have a research job in flight each. The window begins once
 * all of them have; what is in flight at its end is waited for.
 */
export async function phase(node: ResearchNode, jobs: number): Promise<Phase> {
  const chats = await startChats(node, CHATS);
  await pause(WARM_MS);
  const arrived = performance.now();
  const researchers = startResearchers(node, jobs);
  const broken = Promise.all([chats.work, researchers.work]);
  await within(ALL_IN_FLIGHT_MS, `${jobs} jobs in flight`, Promise.race([researchers.allInFlight, broken]));
  const from = performance.now();
  const seen = await watched(node);
  const until = performance.now();
  const [load = Number.NaN] = loadavg();
  await Promise.all([chats.stop(), researchers.stop()]);
  return {
    firstDeltas: between(chats.heard, from, until),
    arriving: between(chats.heard, arrived, from),
    ended: between(researchers.heard, from, until),
    endedInAll: researchers.heard.map(({ value }) => value),
    ...seen,
    load,
  };
}

async function watched(node: ResearchNode): Promise<Pick<Phase, "standing" | "loop" | "used">> {
  await node.loopDelay();
  const before = node.used();
  const from = performance.now();
  const standing: Standing[] = [];
  while (performance.now() - from < WINDOW_MS) {
    await pause(LOOK_MS);
    standing.push(await node.jobs());
  }
  const used = shares(before, node.used(), (performance.now() - from) / 1_000);
  return { standing, loop: await node.loopDelay(), used };
}

const between = <T>(all: readonly Timed<T>[], from: number, until: number): readonly T[] =>
  all.filter(({ at }) => at >= from && at < until).map(({ value }) => value);
