import { tmpdir } from "node:os";
import { Talker } from "../client.ts";
import { type Figure, figure, type Report, type Setup } from "../harness.ts";
import { durability, durableInsert, type Limiter, rawEcho } from "../limits.ts";
import { isInMemory } from "../machine.ts";
import { type BenchNode, startBenchNode } from "../node/bench-node.ts";
import { median } from "../statistics.ts";
import { amount } from "../table.ts";
import { grow, QUESTION } from "./grown.ts";
import { Profile } from "./profile.ts";

/** What a turn may cost, in durable inserts. */
const BUDGET = 6;
/** A process compiles what it runs often: that goes on for so many turns, and a server has them behind it in a minute. */
const WARM_TURNS = 2_000;
/** What a process that has just begun takes, for whoever asks. */
const COLD_TURNS = 40;
const SIZES = [
  { turns: 50, sessions: 4 },
  { turns: 200, sessions: 2 },
] as const;
const HOUR = 3_600_000;

type Subject = { readonly what: string; readonly turn: () => Promise<number>; readonly profile: Profile };
type Limits = { readonly insert: Limiter; readonly echo: Limiter };

/** The runtime's own time: model, tools and login are in this process and answer at once; everything else is real. */
export async function runtimeTurn(setup: Setup): Promise<Report> {
  const { ends, say, samples } = setup;
  say("starting a node in this process");
  const node = await startBenchNode(setup);
  const cold = await firstTurns(node, ends);
  say(`warming up with ${WARM_TURNS} turns`);
  await grow(node, { count: 2, turns: WARM_TURNS / 2, ends });
  say(`growing histories of ${SIZES.map(({ turns }) => turns).join(" and ")} turns`);
  const before = await written(node);
  const grown = await Promise.all(SIZES.map(({ turns, sessions }) => grow(node, { count: sessions, turns, ends })));
  const perTurn = bytesBetween(before, await written(node));

  const insert = await durableInsert(node.databaseUrl, perTurn.stored);
  ends.add("durable insert", () => insert.close());
  const echo = await rawEcho(QUESTION.length);
  ends.add("echo", () => echo.close());
  const limits = { insert, echo };
  for (let at = 0; at < 10; at += 1) await Promise.all([insert.once(), echo.once()]);

  say("measuring turns of sessions that sleep in between, as HIBERNATE_AFTER_MS=0 has it");
  const asleep = [
    freshly(node, ends),
    ...SIZES.map(({ turns }, at) => turning(node, `${turns} turns, asleep`, grown[at] ?? [], true)),
  ];
  const first = await interleaved(asleep, limits, samples);
  say("measuring turns of sessions that stay resident");
  node.restFor(HOUR);
  const resident = SIZES.map(({ turns }, at) => turning(node, `${turns} turns, resident`, grown[at] ?? [], false));
  for (const talker of grown.flat()) await talker.turn(QUESTION);
  const second = await interleaved(resident, limits, samples);

  return {
    figures: [...first, ...second],
    facts: [
      {
        what: "clock",
        value:
          "in the node, from the message's arrival behind its socket to the state_changed after turn_completed at it",
      },
      { what: "disk", value: await durability(node.databaseUrl) },
      ...(isInMemory(tmpdir()) ? [{ what: "warning", value: "the temp folder lies in memory: set TMPDIR" }] : []),
      {
        what: "written a turn",
        value: `${amount(perTurn.stored, "bytes")} sealed (the insert's size), ${amount(perTurn.wal, "bytes")} of WAL`,
      },
      {
        what: "warmed up",
        value: `with ${WARM_TURNS} turns; the first ${COLD_TURNS} of the process took ${amount(cold, "ms")} at the median`,
      },
      ...[...asleep, ...resident].map(({ what, profile }) => ({ what: `  ${what}`, value: profile.line() })),
    ],
  };
}

/** Milliseconds of a turn before the process has compiled what it runs, at the median. */
async function firstTurns(node: BenchNode, ends: Setup["ends"]): Promise<number> {
  const talker = await Talker.open(node);
  const end = ends.add("client", () => talker.close());
  const took: number[] = [];
  for (let turn = 0; turn < COLD_TURNS; turn += 1) {
    await talker.turn(QUESTION);
    took.push(node.stamps.last);
    await talker.asleep();
  }
  await end();
  return median(took);
}

/** A first turn: the session is made just before. */
function freshly(node: BenchNode, ends: Setup["ends"]): Subject {
  const profile = new Profile(node);
  return {
    what: "turn, 0 turns, fresh",
    profile,
    async turn() {
      const talker = await Talker.open(node);
      const end = ends.add("client", () => talker.close());
      const ms = await profile.of(
        () => talker.turn(QUESTION),
        () => talker.asleep(),
      );
      await end();
      return ms;
    },
  };
}

function turning(node: BenchNode, what: string, talkers: readonly Talker[], sleeps: boolean): Subject {
  const profile = new Profile(node);
  let next = 0;
  return {
    what: `turn, ${what}`,
    profile,
    async turn() {
      const talker = talkers[next % talkers.length];
      next += 1;
      if (talker === undefined) throw new TypeError("a size without a session");
      return await profile.of(
        () => talker.turn(QUESTION),
        async () => (sleeps ? await talker.asleep() : undefined),
      );
    },
  };
}

/** One of everything in each round, so that what else the machine does meets figure and limit alike. */
async function interleaved(subjects: readonly Subject[], limits: Limits, rounds: number): Promise<readonly Figure[]> {
  const turns = subjects.map((): number[] => []);
  const inserts = subjects.map((): number[] => []);
  const echoes: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    for (const [at, { turn }] of subjects.entries()) {
      inserts[at]?.push(await limits.insert.once());
      turns[at]?.push(await turn());
    }
    echoes.push(await limits.echo.once());
  }
  const beside = (at: number) => ({ what: "durable insert", p50: median(inserts[at] ?? []), budget: BUDGET });
  return [
    ...subjects.map(({ what }, at) => figure(what, "ms", turns[at] ?? [], beside(at))),
    figure("durable insert", "ms", inserts.flat(), { what: "uWS echo", p50: median(echoes) }),
  ];
}

type Written = { readonly turns: number; readonly stored: number; readonly wal: number };

async function written({ sql }: BenchNode): Promise<Written> {
  const [row] = await sql<Written[]>`
    select (select count(*)::int from blocks) as turns,
      (select coalesce(sum(octet_length(body)), 0)::int from entries)
        + (select coalesce(sum(octet_length(body)), 0)::int from blocks) as stored,
      (pg_current_wal_insert_lsn() - '0/0')::float8 as wal`;
  if (row === undefined) throw new TypeError("a select without from gives one row");
  return row;
}

function bytesBetween(before: Written, after: Written): { readonly stored: number; readonly wal: number } {
  const turns = after.turns - before.turns;
  return { stored: Math.round((after.stored - before.stored) / turns), wal: (after.wal - before.wal) / turns };
}
