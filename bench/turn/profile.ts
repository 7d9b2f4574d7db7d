import type { BenchNode } from "../node/bench-node.ts";
import { STAGES, type Stage, stagesOf } from "../node/stopwatch.ts";
import { median } from "../statistics.ts";

/** Statements of the node, not of a turn. */
const UPKEEP = /\bnodes\b|skip locked|as orphans|jsonb_to_recordset\(\$\d+\) as f /;

const KINDS: readonly (readonly [string, RegExp])[] = [
  ["admit", /insert into inbox/],
  ["settle", /state = 'settled'/],
  ["append", /insert into entries|insert into tool_calls|update tool_calls/],
  ["audit", /insert into model_calls/],
  ["history", /select e\.pos/],
  ["inbox", /from inbox/],
  ["sleep", /slept_epoch = epoch, next_seq/],
];

type Sample = {
  readonly stages: Readonly<Record<Stage, number>>;
  readonly cpuMs: number;
  /** From sending the message to hearing the end, in milliseconds. */
  readonly atClient: number;
  readonly statements: readonly string[];
  readonly settleMs: number;
};

/** Where the time of measured turns went, and what they sent to the database. */
export class Profile {
  readonly #node: BenchNode;
  readonly #samples: Sample[] = [];

  constructor(node: BenchNode) {
    this.#node = node;
  }

  /** Runs one turn and gives the node's milliseconds of it; `rest` waits until nothing of it is in flight any more. */
  async of(turn: () => Promise<number>, rest: () => Promise<void>): Promise<number> {
    this.#node.forget();
    const cpu = process.cpuUsage();
    const from = performance.now();
    const atClient = await turn();
    const { user, system } = process.cpuUsage(cpu);
    await rest();
    const { spans, statements, stamps } = this.#node;
    const wall = stamps.last;
    const settle = spans.find(({ op }) => op === "histories.settle");
    this.#samples.push({
      stages: stagesOf(spans, from, from + wall),
      atClient,
      cpuMs: (user + system) / 1000,
      statements: statements.filter((text) => !UPKEEP.test(text)).map(kindOf),
      settleMs: settle ? settle.to - settle.from : 0,
    });
    return wall;
  }

  /** Medians: milliseconds of each stage, of processor time, statements by kind. */
  line(): string {
    const of = (pick: (sample: Sample) => number) => median(this.#samples.map(pick));
    const stages = STAGES.map((stage) => `${stage} ${of(({ stages }) => stages[stage]).toFixed(1)}`);
    const kinds = [...new Set(this.#samples.flatMap(({ statements }) => statements))];
    const counts = kinds
      .map((kind) => ({ kind, count: of(({ statements }) => statements.filter((one) => one === kind).length) }))
      .filter(({ count }) => count > 0)
      .map(({ kind, count }) => (count === 1 ? kind : `${count} ${kind}`));
    const total = of(({ statements }) => statements.length);
    const cpu = of(({ cpuMs }) => cpuMs).toFixed(1);
    const client = of(({ atClient }) => atClient).toFixed(1);
    return `ms ${stages.join(", ")}; at the client ${client}; processor ${cpu} (client included); ${total} statements: ${counts.join(", ")}`;
  }
}

function kindOf(text: string): string {
  return KINDS.find(([, pattern]) => pattern.test(text))?.[0] ?? "other";
}
