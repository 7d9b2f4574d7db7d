import { type SessionId, sessionId } from "../machines/ids.ts";
import { type Bench, BenchFailed, type Figure, figure, timed } from "./harness.ts";
import { type BenchNode, startBenchNode } from "./node/bench-node.ts";
import { median } from "./statistics.ts";
import { amount } from "./table.ts";
import { grow } from "./turn/grown.ts";

const SIZES = [1, 50, 200] as const;
const WARM = 10;

type Thaw = { readonly bringMs: number; readonly wholeMs: number };
/** A node remembers the sessions that fell asleep there last; any other reads and opens the history. */
type From = "database" | "memory";

/**
 * Bringing a session into memory is reading, opening and restoring; the bare select only reads the same rows. Of a session
 * that fell asleep on the same node a moment ago nothing is read.
 */
export const thawBench: Bench = {
  name: "thaw",
  question: "what does it cost to bring a sleeping session back, beside a bare select of its rows?",
  samples: 60,
  async run(setup) {
    const { ends, say, samples } = setup;
    const node = await startBenchNode(setup);
    say(`growing histories of ${SIZES.join(", ")} turns`);
    const grown = await Promise.all(SIZES.map((turns) => grow(node, { count: 1, turns, ends })));
    const figures: Figure[] = [];
    const facts = [
      { what: "clock", value: "thaw as in dormouse_thaw_seconds; take and thaw adds the durable lease" },
      { what: "remembered", value: "the session fell asleep on this node and its history is still in memory" },
    ];
    say("measuring thaws");
    for (const [at, turns] of SIZES.entries()) {
      const [talker] = grown[at] ?? [];
      if (talker === undefined) throw new TypeError("a size without a session");
      const id = sessionId(talker.session);
      talker.close();
      const selects: number[] = [];
      const thaws: Record<From, Thaw[]> = { database: [], memory: [] };
      for (let round = -WARM; round < samples; round += 1) {
        const selected = await timed(() => bareSelect(node, id));
        const read = await thaw(node, id, "database");
        const remembered = await thaw(node, id, "memory");
        if (round < 0) continue;
        selects.push(selected);
        thaws.database.push(read);
        thaws.memory.push(remembered);
      }
      const beside = { what: "bare select", p50: median(selects) };
      for (const [what, of] of [
        [`${turns} turns`, thaws.database],
        [`${turns} turns remembered`, thaws.memory],
      ] as const) {
        figures.push(
          figure(
            `thaw, ${what}`,
            "ms",
            of.map(({ bringMs }) => bringMs),
            beside,
          ),
        );
        figures.push(
          figure(
            `take and thaw, ${what}`,
            "ms",
            of.map(({ wholeMs }) => wholeMs),
            beside,
          ),
        );
      }
      facts.push({ what: `  ${turns} turns`, value: await sizeOf(node, id) });
    }
    return { figures, facts };
  },
};

async function bareSelect({ sql }: BenchNode, id: SessionId): Promise<void> {
  await sql`select pos, body from entries where session_id = ${id} order by pos`;
}

/** Wakes the session and waits until it sleeps again. */
async function thaw(node: BenchNode, id: SessionId, from: From): Promise<Thaw> {
  // Of a session that sleeps this only forgets what the node remembers of it.
  if (from === "database") node.directory.evict(id);
  node.forget();
  let bringMs = Number.NaN;
  const stop = node.listen((event) => {
    if (event.type === "session.thawed" && event.sessionId === id) bringMs = event.ms;
  });
  try {
    const wholeMs = await timed(async () => {
      if (!(await node.directory.revive(id))) throw new BenchFailed("a sleeping session could not be taken");
    });
    await node.directory.whenEmpty();
    const wasRead = node.spans.some(({ op }) => op === "histories.load");
    if (wasRead !== (from === "database")) throw new BenchFailed(`a thaw that was to come from ${from} did not`);
    return { bringMs, wholeMs };
  } finally {
    stop();
  }
}

async function sizeOf({ sql }: BenchNode, id: SessionId): Promise<string> {
  const [row] = await sql<{ rows: number; entries: number; bytes: number }[]>`
    select count(*)::int as rows, sum(count)::int as entries, sum(octet_length(body))::int as bytes
    from entries where session_id = ${id}`;
  return `${row?.entries} entries in ${row?.rows} rows, ${amount(row?.bytes ?? 0, "bytes")} sealed`;
}
