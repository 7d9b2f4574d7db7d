import fc from "fast-check";
import { expect, test } from "vitest";
import type { Signal } from "../machines/protocol/signals.ts";
import { backlog, type Update } from "./backlog.ts";
import { numbered, uuid } from "./testing/signals.ts";
import { emptyView, type View } from "./view.ts";

const delta = (
  seq: number,
  offset: number,
  text: string,
  block = 5,
  kind: "llm_delta" | "thinking_summary" = "llm_delta",
) => numbered(kind, seq, { block_id: uuid(block), offset, text });
const skill = (seq: number) => numbered("skill_loaded", seq, { name: `s${seq}`, eager: false });
const viewAt = (seq: number): View => ({ ...emptyView, seq });
const seqOf = (signal: Signal): number => ("seq" in signal ? signal.seq : 0);

function filled(most: number, signals: readonly Signal[]): Update[] {
  const waiting = backlog(most);
  for (const signal of signals) waiting.add(signal, viewAt(seqOf(signal)));
  const taken: Update[] = [];
  for (let next = waiting.take(); next !== undefined; next = waiting.take()) taken.push(next);
  return taken;
}

test("text that waits is joined in the form of a merged frame, and nothing else is", () => {
  expect(filled(9, [delta(1, 0, "Ta"), delta(2, 2, "ke"), delta(3, 4, " 2")])).toEqual([
    {
      signal: numbered("llm_delta", 3, { block_id: uuid(5), offset: 0, text: "Take 2" }, { from_seq: 1 }),
      view: viewAt(3),
    },
  ]);
  const apart = [
    delta(8, 0, "Ta"),
    delta(9, 1, "ake"),
    delta(1, 0, "a"),
    delta(2, 1, "b", 6),
    delta(3, 2, "c", 6, "thinking_summary"),
    delta(4, 0, "d", 6),
    skill(5),
  ];
  expect(filled(9, apart).map(({ signal }) => signal)).toEqual(apart);
});

test("beyond the bound the oldest goes and is counted; the newest is always there", () => {
  const signals = [1, 2, 3, 4, 5].map(skill);
  const summary = (most: number) =>
    filled(most, signals).map(({ signal, view, skipped }) => [seqOf(signal as Signal), view.seq, skipped]);
  expect([summary(2), summary(1)]).toEqual([
    [
      [4, 4, 3],
      [5, 5, undefined],
    ],
    [[5, 5, 4]],
  ]);
});

test("whatever comes, it stays within the bound, every signal is given or counted, and the last view is given", () => {
  const step = fc.record({ take: fc.boolean(), text: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 60 }), fc.integer({ min: 1, max: 5 }), (steps, most) => {
      const waiting = backlog(most);
      const taken: Update[] = [];
      const take = () => taken.push(...[waiting.take()].flatMap((update) => update ?? []));
      let length = 0;
      steps.forEach(({ take: reads, text }, at) => {
        const signal = text ? delta(at + 1, length++, "x") : skill(at + 1);
        waiting.add(signal, viewAt(at + 1));
        if (reads) take();
      });
      const before = taken.length;
      for (let left = 0; left <= most; left++) take();
      expect(taken.length - before).toBeLessThanOrEqual(most);
      const given = taken.map(({ signal, skipped = 0 }) => {
        const { seq = 0, from_seq = seq } = signal as { seq?: number; from_seq?: number };
        return seq - from_seq + 1 + skipped;
      });
      expect(given.reduce((sum, n) => sum + n, 0)).toBe(steps.length);
      expect(taken.at(-1)?.view.seq).toBe(steps.length);
    }),
  );
});
