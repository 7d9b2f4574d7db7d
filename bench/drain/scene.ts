import { rm } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { type Address, login, type StoredTurn, Talker, turnsOf } from "../client.ts";
import { dataFolder } from "../data-folder.ts";
import { BenchFailed, type Setup } from "../harness.ts";
import { type Launched, launch } from "../processes/launch.ts";

/** Answers of different length, one search on the platform each. */
const QUESTIONS = [
  "What is the usual dose of zinc?",
  "What is the upper limit of vitamin A?",
  "Tell me about ashwagandha",
  "Does ginkgo interact with warfarin?",
] as const;
/** What the model waits for each token, so that answers take seconds. */
const TOKEN_MS = 15;
const LEAD_MS = 100;
const SETTLED_WITHIN_MS = 60_000;
const ASK_EVERY_MS = 250;

export type Drained = {
  readonly drainMs: number;
  readonly exitCode: number | null;
  readonly settled: number;
  readonly parked: number;
  /** From the start of the next process until every turn had an outcome. */
  readonly recoveryMs: number;
  readonly outcomes: string;
  /** The same drain of a process with nothing in flight. */
  readonly idleMs: number;
};

type Server = Address & { readonly process: Launched };

/**
 * Starts a server, gets `turns` turns going on a slow model, sends SIGTERM, starts the next server on the same data
 * folder and reads every session over HTTP. Throws `BenchFailed` when a turn was lost or told twice.
 */
export async function drainOnce(
  setup: Setup,
  { turns, graceMs }: { readonly turns: number; readonly graceMs: number },
): Promise<Drained> {
  const { ends, say } = setup;
  const dataDir = await dataFolder();
  ends.add("data folder", () => rm(dataDir, { recursive: true, force: true, maxRetries: 5 }));
  const simulator = launch("bench/processes/simulator", { ends });
  const modelUrl = await simulator.line(/simulator (\S+)\n/);
  const start = () => startServer(setup, { dataDir, modelUrl, graceMs });

  say(`starting a server with ${graceMs / 1000} s of grace`);
  const first = await start();
  await slowDown(modelUrl, TOKEN_MS);
  const talkers = await begin(first, turns, ends);
  say(`${turns} turns are in flight; SIGTERM`);
  const began = performance.now();
  const exitCode = await first.process.stop();
  const drainMs = performance.now() - began;
  const told = new Map(talkers.map(({ session, ending }) => [session, ending]));

  say("starting the next server on the same data");
  await slowDown(modelUrl, 0);
  const second = await start();
  const restarted = performance.now();
  const stored = new Map<string, StoredTurn>();
  for (const session of told.keys()) stored.set(session, await settledTurn(second, session, restarted));
  const recoveryMs = performance.now() - restarted;
  const idleBegan = performance.now();
  await second.process.stop();
  const idleMs = performance.now() - idleBegan;

  for (const [session, ending] of told) judge(session, ending, stored.get(session));
  const settled = [...told.values()].filter((ending) => ending !== undefined).length;
  return { drainMs, exitCode, settled, parked: turns - settled, recoveryMs, outcomes: counted(stored), idleMs };
}

async function startServer(
  { ends }: Setup,
  { dataDir, modelUrl, graceMs }: { readonly dataDir: string; readonly modelUrl: string; readonly graceMs: number },
): Promise<Server> {
  const process = launch("runtime/main", {
    ends,
    env: {
      PORT: "0",
      DATA_DIR: dataDir,
      GEMINI_BASE_URL: modelUrl,
      GEMINI_API_KEY: "simulated",
      LOG_LEVEL: "warn",
      DRAIN_LEAD_MS: String(LEAD_MS),
      DRAIN_GRACE_MS: String(graceMs),
    },
  });
  const url = await process.line(/Dormouse is ready: (\S+)\n/);
  return { ...(await login(url)), process };
}

async function slowDown(modelUrl: string, tokenMs: number): Promise<void> {
  const { status } = await fetch(`${modelUrl}/simulator/knobs`, { method: "PUT", body: JSON.stringify({ tokenMs }) });
  if (status !== 200) throw new BenchFailed(`the simulator did not take its knobs (status ${status})`);
}

/** Every turn is begun, none has ended. */
async function begin(server: Server, turns: number, ends: Setup["ends"]): Promise<readonly Talker[]> {
  const talkers = await Promise.all(Array.from({ length: turns }, () => Talker.open(server)));
  ends.add("clients", () => {
    for (const talker of talkers) talker.close();
  });
  await Promise.all(talkers.map((talker, at) => talker.begin(QUESTIONS[at % QUESTIONS.length] ?? QUESTIONS[0])));
  const over = talkers.filter(({ ending }) => ending !== undefined).length;
  if (over > 0) throw new BenchFailed(`${over} turns were over before the last one began`);
  return talkers;
}

/** Asks over HTTP until the session's one turn has an outcome. */
async function settledTurn(server: Server, session: string, since: number): Promise<StoredTurn> {
  for (;;) {
    const turns = await turnsOf(server, session);
    const [turn] = turns;
    if (turns.length > 1) throw new BenchFailed(`session ${session} has ${turns.length} turns for one message`);
    if (turn?.outcome !== undefined) return turn;
    if (performance.now() - since > SETTLED_WITHIN_MS) {
      const state = turn === undefined ? "is not there" : "has no outcome";
      throw new BenchFailed(`lost: the turn of session ${session} ${state} after ${SETTLED_WITHIN_MS / 1000} s`);
    }
    await pause(ASK_EVERY_MS);
  }
}

/** What a client was told is what the next process reads. */
function judge(session: string, ending: Talker["ending"], turn: StoredTurn | undefined): void {
  if (ending === undefined || `turn_${turn?.outcome}` === ending) return;
  throw new BenchFailed(`session ${session}: its client was told ${ending}, stored is ${turn?.outcome}`);
}

function counted(turns: ReadonlyMap<string, StoredTurn>): string {
  const outcomes = [...turns.values()].map(({ outcome }) => outcome ?? "none");
  return [...new Set(outcomes)].map((each) => `${outcomes.filter((one) => one === each).length} ${each}`).join(", ");
}
