import { rm } from "node:fs/promises";
import { startEmbedded } from "../../persistence/embedded/start.ts";
import { type Address, login, Talker } from "../client.ts";
import { dataFolder } from "../data-folder.ts";
import { BenchFailed, figure, type Report, type Setup, timed } from "../harness.ts";
import { launch } from "../processes/launch.ts";
import { median } from "../statistics.ts";
import { type BareCalls, bareCalls, type Sent } from "./bare-calls.ts";

/** Answered by one search on the platform, without a skill. */
const QUESTION = "What is the usual dose of zinc?";
const MODEL = "gemini-2.5-pro";
const WARM = 8;

/** A first turn through everything, each part a process of its own, beside the same SDK calls made bare. */
export async function endToEnd(setup: Setup): Promise<Report> {
  const { samples, ends, say } = setup;
  say("starting database, platform, simulator and node as processes");
  const { node, bareAt, requests } = await startAll(setup);
  const bare = await recorded(node, bareAt, requests);
  ends.add("bare SDK clients", () => bare.close());
  say(`measuring turns of ${bare.models} model calls and ${bare.tools} tool call(s)`);
  const turns: number[] = [];
  const calls: number[] = [];
  for (let round = -WARM; round < samples; round += 1) {
    const bareMs = await timed(() => bare.run());
    const turnMs = await firstTurn(node);
    if (round < 0) continue;
    calls.push(bareMs);
    turns.push(turnMs);
  }
  const beside = { what: "bare SDK calls", p50: median(calls) };
  return {
    figures: [figure("turn, end to end", "ms", turns, beside), figure("bare SDK calls", "ms", calls)],
    facts: [
      {
        what: "end to end",
        value: `a first turn, ${bare.models} model calls by @google/genai and ${bare.tools} MCP call; the bare run repeats those requests`,
      },
      { what: "end to end, runtime's part", value: `${(median(turns) - median(calls)).toFixed(1)} ms` },
    ],
  };
}

async function startAll({ ends, say }: Setup) {
  const dataDir = await dataFolder();
  ends.add("data folder", () => rm(dataDir, { recursive: true, force: true, maxRetries: 5 }));
  const embedded = await startEmbedded({ dataDir, log: say });
  ends.add("database", () => embedded.stop());
  const simulator = launch("bench/processes/simulator", { ends });
  const platform = launch("bench/processes/platform", { ends, env: { DATABASE_URL: embedded.url } });
  const modelUrl = await simulator.line(/simulator (\S+)\n/);
  const platformUrl = await platform.line(/platform (\S+)\n/);
  const process = launch("runtime/main", {
    ends,
    env: {
      PORT: "0",
      DATA_DIR: dataDir,
      DATABASE_URL: embedded.url,
      PLATFORM_URL: platformUrl,
      GEMINI_BASE_URL: modelUrl,
      GEMINI_API_KEY: "simulated",
      GEMINI_MODEL: MODEL,
      LOG_LEVEL: "warn",
      DRAIN_LEAD_MS: "0",
    },
  });
  const url = await process.line(/Dormouse is ready: (\S+)\n/);
  const { cookie } = await login(platformUrl);
  return {
    node: { url, cookie },
    bareAt: { model: MODEL, modelUrl, platformUrl, cookie },
    requests: async () => (await simulator.ask("requests")) as readonly Sent[],
  };
}

/** One turn through the runtime; the requests it made are the ones that the bare run makes. */
async function recorded(
  node: Address,
  at: Parameters<typeof bareCalls>[1],
  requests: () => Promise<readonly Sent[]>,
): Promise<BareCalls> {
  const before = (await requests()).length;
  await firstTurn(node);
  const bare = await bareCalls((await requests()).slice(before), at);
  if (bare.models < 2 || bare.tools < 1) throw new BenchFailed("the recorded turn called no tool");
  return bare;
}

async function firstTurn(node: Address): Promise<number> {
  const talker = await Talker.open(node);
  try {
    const ms = await talker.turn(QUESTION);
    await talker.asleep();
    return ms;
  } finally {
    talker.close();
  }
}
