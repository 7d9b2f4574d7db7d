import { rm } from "node:fs/promises";
import { join } from "node:path";
import { runningPostmaster } from "../../persistence/embedded/postmaster.ts";
import { startEmbedded } from "../../persistence/embedded/start.ts";
import { connect } from "../../persistence/postgres.ts";
import { type Address, login } from "../client.ts";
import { dataFolder } from "../data-folder.ts";
import { Ends } from "../ends.ts";
import { BenchFailed, type Setup } from "../harness.ts";
import { launch } from "../processes/launch.ts";
import { type Part, type Used, used } from "./processor.ts";

/** Who works on the jobs: the node itself, as `npm start` has it, or `npm run worker` beside it. */
export type Workers = "in the node" | "apart";

/** The pace of `npm start`'s own model: fast, but visibly streaming. */
export const PACE = { firstByteMs: 80, tokenMs: 4 } as const;

/** Delay of the node's event loop in ms, as a timer of 10 ms sees it: an idle loop shows 10. */
export type LoopDelay = { readonly p50: number; readonly p99: number; readonly max: number };
export type Standing = { readonly running: number; readonly waiting: number };

export type ResearchNode = Address & {
  used(): Used;
  /** Since it was asked last. */
  loopDelay(): Promise<LoopDelay>;
  jobs(): Promise<Standing>;
  end(): Promise<void>;
};

/** Database, simulator, platform, node and, where it is apart, the worker: each a process of its own. */
export async function startResearchNode(setup: Setup, workers: Workers): Promise<ResearchNode> {
  const { say } = setup;
  const ends = new Ends();
  const end = setup.ends.add(`the node with its workers ${workers}`, async () => {
    const problems = await ends.shut();
    if (problems.length > 0) throw new BenchFailed(problems.join("; "));
  });
  const dataDir = await dataFolder();
  ends.add("data folder", () => rm(dataDir, { recursive: true, force: true, maxRetries: 5 }));
  const embedded = await startEmbedded({ dataDir, log: say });
  ends.add("database", () => embedded.stop());
  const sql = connect(embedded.url, { max: 1 });
  ends.add("connection", () => sql.end({ timeout: 5 }));
  const simulator = launch("bench/processes/simulator", { ends });
  const platform = launch("bench/processes/platform", { ends, env: { DATABASE_URL: embedded.url } });
  const modelUrl = await simulator.line(/simulator (\S+)\n/);
  const platformUrl = await platform.line(/platform (\S+)\n/);
  const { status } = await fetch(`${modelUrl}/simulator/knobs`, { method: "PUT", body: JSON.stringify(PACE) });
  if (status !== 200) throw new BenchFailed(`the simulator did not take its knobs (status ${status})`);

  const env = {
    DATA_DIR: dataDir,
    DATABASE_URL: embedded.url,
    PLATFORM_URL: platformUrl,
    GEMINI_BASE_URL: modelUrl,
    GEMINI_API_KEY: "simulated",
    LOG_LEVEL: "warn",
    OPERATOR_TOKEN: "bench",
  };
  const own = { PORT: "0", DRAIN_LEAD_MS: "0", ...(workers === "apart" && { EMBEDDED_WORKERS: "0" }) };
  const node = launch("runtime/main", { ends, env: { ...env, ...own } });
  const url = await node.line(/Dormouse is ready: (\S+)\n/);
  const worker = workers === "apart" ? launch("runtime/worker", { ends, env }) : undefined;
  await worker?.line(/(Dormouse worker is ready)/);
  const postmaster = runningPostmaster(join(dataDir, "postgres", "data"));
  const parts: Readonly<Record<string, Part>> = {
    node: { pid: node.pid },
    ...(worker && { worker: { pid: worker.pid } }),
    platform: { pid: platform.pid },
    simulator: { pid: simulator.pid },
    ...(postmaster && { database: { pid: postmaster.mark.pid, withChildren: true } }),
  };
  const { cookie } = await login(platformUrl);
  return {
    url,
    cookie,
    used: () => used(parts),
    loopDelay: async () => loopDelayIn(await metricsOf(url)),
    async jobs() {
      const [row] = await sql<Standing[]>`
        select count(*) filter (where state = 'running')::int as running,
          count(*) filter (where state = 'waiting')::int as waiting
        from subagents`;
      return row ?? { running: 0, waiting: 0 };
    },
    end,
  };
}

async function metricsOf(url: string): Promise<string> {
  const answer = await fetch(`${url}/metrics`, { headers: { authorization: "Bearer bench" } });
  if (answer.status !== 200) throw new BenchFailed(`the node does not tell its metrics (status ${answer.status})`);
  return await answer.text();
}

function loopDelayIn(metrics: string): LoopDelay {
  const ms = (name: string) => {
    const [, seconds] = new RegExp(`^nodejs_eventloop_lag_${name}_seconds (\\S+)$`, "m").exec(metrics) ?? [];
    if (seconds === undefined) throw new BenchFailed(`the node does not tell the ${name} of its event loop's delay`);
    return Number(seconds) * 1_000;
  };
  return { p50: ms("p50"), p99: ms("p99"), max: ms("max") };
}
