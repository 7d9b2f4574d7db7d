import type { Store } from "../../persistence/store.ts";

/** One call of the store, by `repository.method`, on the clock of `performance.now()`. */
export type Span = { readonly op: string; readonly from: number; readonly to: number };

type Method = (...args: readonly unknown[]) => Promise<unknown>;

/** The same store; `note` hears of each call when it has ended. */
export function timedStore(store: Store, note: (span: Span) => void): Store {
  const timed = (op: string, method: Method): Method => {
    return async (...args) => {
      const from = performance.now();
      try {
        return await method(...args);
      } finally {
        note({ op, from, to: performance.now() });
      }
    };
  };
  const repositories = Object.entries(store).map(([name, repository]) => {
    const methods = Object.entries(repository as unknown as Record<string, Method>);
    return [name, Object.fromEntries(methods.map(([method, run]) => [method, timed(`${name}.${method}`, run)]))];
  });
  return Object.fromEntries(repositories) as unknown as Store;
}

/** Where the time of a turn goes; each moment counts once, for the first of these that fits. */
export const STAGES = ["admit", "thaw", "settle", "append", "program"] as const;
export type Stage = (typeof STAGES)[number];

const STAGE_OF: Readonly<Record<string, Stage>> = {
  "inbox.admit": "admit",
  "histories.load": "thaw",
  "inbox.open": "thaw",
  "histories.settle": "settle",
  "histories.append": "append",
};

/** Milliseconds of each stage between two moments. `program`: no statement that the turn waits for is in flight. */
export function stagesOf(spans: readonly Span[], from: number, to: number): Readonly<Record<Stage, number>> {
  const known = spans.flatMap((span) => {
    const stage = STAGE_OF[span.op];
    return stage === undefined ? [] : [{ stage, from: Math.max(from, span.from), to: Math.min(to, span.to) }];
  });
  const moments = [...new Set([from, to, ...known.flatMap((span) => [span.from, span.to])])]
    .filter((moment) => moment >= from && moment <= to)
    .sort((a, b) => a - b);
  const sums: Record<Stage, number> = { admit: 0, thaw: 0, settle: 0, append: 0, program: 0 };
  for (const [at, begin] of moments.entries()) {
    const end = moments[at + 1];
    if (end === undefined) break;
    const active = known.filter((span) => span.from <= begin && span.to >= end);
    const stage = STAGES.find((each) => active.some((span) => span.stage === each)) ?? "program";
    sums[stage] += end - begin;
  }
  return sums;
}
