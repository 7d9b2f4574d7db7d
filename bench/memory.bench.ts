import { randomBytes, randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { type Bench, BenchFailed, type Figure, figure } from "./harness.ts";
import { rawEcho } from "./limits.ts";
import { startBenchNode } from "./node/bench-node.ts";
import { type Launched, launch } from "./processes/launch.ts";
import { amount } from "./table.ts";
import { grow, QUESTION } from "./turn/grown.ts";

const SESSIONS = 500;
const WARM_TURNS = 30;
const HOUR = 3_600_000;

const PLAIN = "uWS socket with a login";

/** The least that a server has to know of a socket: whose it is. */
const seat = () => ({ session: randomUUID(), cookie: randomBytes(32).toString("base64url"), user: randomUUID() });

type Used = { readonly heap: number; readonly resident: number };

/** Memory of the node's process alone: the clients live in another one. What garbage is was collected before. */
export const memoryBench: Bench = {
  name: "memory",
  question: `what does one of ${SESSIONS} sessions cost in memory, asleep with an idle socket and resident?`,
  samples: 1,
  async run(setup) {
    const { ends, say } = setup;
    const node = await startBenchNode(setup);
    const echo = await rawEcho(16, seat);
    ends.add("echo", () => echo.close());
    const swarm = launch("bench/processes/swarm", {
      ends,
      env: { URL: node.url, ECHO_URL: echo.url, COUNT: String(SESSIONS), TEXT: QUESTION },
    });
    await swarm.line(/(swarm) ready\n/);
    say("warming up");
    await grow(node, { count: 2, turns: WARM_TURNS, ends });

    const figures: Figure[] = [];
    const values: string[] = [];
    const note = (what: string, from: Used, to: Used, bare?: number) => {
      const each = (to.heap - from.heap) / SESSIONS;
      const limit = bare === undefined ? undefined : { what: PLAIN, p50: bare };
      figures.push(figure(what, "bytes", [each], limit));
      values.push(`${what} ${amount((to.resident - from.resident) / SESSIONS, "bytes")}`);
      return each;
    };
    say(`opening ${SESSIONS} plain sockets`);
    const empty = await used();
    await order(swarm, "plain");
    const bare = note(PLAIN, empty, await used());
    await order(swarm, "unplain");

    say(`running one turn in each of ${SESSIONS} sessions`);
    const before = await used();
    await order(swarm, "talk");
    await node.directory.whenEmpty();
    note("asleep, socket, its last turn kept for reconnects", before, await used(), bare);
    await order(swarm, "reattach");
    note("asleep, idle socket", before, await used(), bare);
    say("running one more turn in each, to stay resident");
    node.restFor(HOUR);
    await order(swarm, "turns");
    if (node.directory.size !== SESSIONS) throw new BenchFailed(`${node.directory.size} sessions are resident`);
    note("resident, socket, 2 turns of history", before, await used(), bare);
    await order(swarm, "hangUp");
    return {
      figures,
      facts: [
        { what: "measured", value: `heap, buffers and external memory after garbage collection, per session` },
        { what: "resident set, per session", value: values.join("; ") },
        { what: "whole process", value: amount((await used()).resident, "bytes") },
      ],
    };
  },
};

async function order(swarm: Launched, what: string): Promise<void> {
  const answer = await swarm.ask(what);
  if (answer !== "done") throw new BenchFailed(`the clients could not ${what}: ${String(answer)}`);
}

async function used(): Promise<Used> {
  const collect = collector();
  // Closed sockets and finished promises are let go of over a few rounds of the loop.
  for (let round = 0; round < 5; round += 1) {
    await pause(100);
    collect();
  }
  const { heapUsed, external, rss } = process.memoryUsage();
  return { heap: heapUsed + external, resident: rss };
}

function collector(): () => void {
  setFlagsFromString("--expose-gc");
  return runInNewContext("gc") as () => void;
}
