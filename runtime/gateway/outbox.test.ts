import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { NumberedSignal, Signal } from "../../machines/protocol/signals.ts";
import { createOutbox } from "./outbox.ts";
import { signalPacking } from "./signal-packing.ts";

const ID = "00000000-0000-4000-8000-000000000001";
const OTHER = "00000000-0000-4000-8000-000000000002";
const base = { v: 1, session_id: ID, at: "t" } as const;

const delta = (seq: number, offset: number, text: string, block_id = ID): Signal => ({
  ...base,
  kind: "llm_delta",
  seq,
  data: { block_id, offset, text },
});
const reset = (seq: number): Signal => ({
  ...base,
  kind: "block_reset",
  seq,
  data: { block_id: ID, attempt: 1, reason: "retry" },
});

function slowWire() {
  const sent: unknown[] = [];
  const wire = { stuck: true, send: (frame: string) => void sent.push(JSON.parse(frame)), buffered: () => 0 };
  wire.buffered = () => (wire.stuck ? 1_000_000 : 0);
  return { sent, wire };
}

test("a fast client gets every signal at once and as it is", () => {
  const { sent, wire } = slowWire();
  wire.stuck = false;
  const outbox = createOutbox(wire, 10_000, signalPacking);
  const signals = [delta(1, 0, "a"), delta(2, 1, "b")];
  expect(signals.map((signal) => outbox.push(signal))).toEqual([true, true]);
  expect(sent).toEqual(signals);
});

test("text that waits is merged with its neighbours in number and block, and with nothing else", () => {
  const { sent, wire } = slowWire();
  const outbox = createOutbox(wire, 100_000, signalPacking);
  const signals = [
    delta(1, 0, "a"),
    delta(2, 1, "½"),
    delta(3, 2, "c"),
    delta(4, 3, "x", OTHER),
    delta(6, 4, "gap", OTHER),
    reset(7),
    delta(8, 0, "d"),
    delta(9, 1, "e"),
    delta(10, 5, "elsewhere"),
  ];
  for (const signal of signals) outbox.push(signal);
  expect(sent).toEqual([]);
  wire.stuck = false;
  outbox.drained();
  expect(sent).toEqual([
    { ...delta(3, 0, "a½c"), from_seq: 1 },
    delta(4, 3, "x", OTHER),
    delta(6, 4, "gap", OTHER),
    reset(7),
    { ...delta(9, 0, "de"), from_seq: 8 },
    delta(10, 5, "elsewhere"),
  ]);
});

test("what waits is bounded; after that nothing more is taken", () => {
  const { sent, wire } = slowWire();
  const outbox = createOutbox(wire, 2_000, signalPacking);
  const taken: boolean[] = [];
  for (let seq = 1; seq <= 40; seq++) taken.push(outbox.push(reset(seq)));
  const bytes = Buffer.byteLength(JSON.stringify(reset(10)));
  expect(taken.indexOf(false)).toBeGreaterThanOrEqual(Math.floor(2_000 / bytes));
  expect(taken.slice(taken.indexOf(false)).every((ok) => !ok)).toBe(true);
  wire.stuck = false;
  outbox.drained();
  expect(sent).toEqual([]);
});

test("one signal alone may be larger than the bound: a resync has to get through", () => {
  const { sent, wire } = slowWire();
  const outbox = createOutbox(wire, 1_000, signalPacking);
  expect(outbox.push(delta(1, 0, "x".repeat(5_000)))).toBe(true);
  wire.stuck = false;
  outbox.drained();
  expect(sent).toHaveLength(1);
});

type Act =
  | { readonly kind: "delta"; readonly block: string; readonly size: number }
  | { readonly kind: "reset" | "drain" };
const act: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("delta" as const),
      block: fc.constantFrom(ID, OTHER),
      size: fc.nat({ max: 300 }),
    }),
  },
  fc.record({ kind: fc.constant("reset" as const) }),
  fc.record({ kind: fc.constant("drain" as const) }),
);

/** A socket whose network takes what it holds only when it is let. Bytes, as the native layer counts them. */
function narrowWire() {
  const sent: NumberedSignal[] = [];
  let buffered = 0;
  const wire = {
    send(frame: string) {
      sent.push(JSON.parse(frame));
      buffered += Buffer.byteLength(frame);
    },
    buffered: () => buffered,
  };
  const take = () => {
    buffered = 0;
  };
  return { wire, sent, take };
}

/** Plays acts until the outbox has had enough; gives what was pushed up to then. */
function play(acts: readonly Act[], limit: number) {
  const { wire, sent, take } = narrowWire();
  const outbox = createOutbox(wire, limit, signalPacking);
  const pushed: Signal[] = [];
  const lengths = new Map<string, number>();
  let most = 0;
  let largest = 0;
  for (const one of acts) {
    if (one.kind === "drain") {
      take();
      outbox.drained();
      continue;
    }
    const seq = pushed.length + 1;
    const block = one.kind === "delta" ? one.block : ID;
    const offset = lengths.get(block) ?? 0;
    const signal = one.kind === "delta" ? delta(seq, offset, "½".repeat(one.size), block) : reset(seq);
    lengths.set(block, one.kind === "delta" ? offset + one.size : 0);
    largest = Math.max(largest, Buffer.byteLength(JSON.stringify(signal)));
    if (!outbox.push(signal)) return { sent, pushed, most, largest, isFull: true, outbox, take };
    pushed.push(signal);
    most = Math.max(most, outbox.held());
  }
  return { sent, pushed, most, largest, isFull: false, outbox, take };
}

/** The signals that merged frames stand for: their numbers, and each block's text. */
const numbersOf = (frames: readonly NumberedSignal[]) =>
  frames.flatMap(({ from_seq, seq }) =>
    Array.from({ length: seq - (from_seq ?? seq) + 1 }, (_, n) => (from_seq ?? seq) + n),
  );
const textIn = (signals: readonly Signal[], block: string) =>
  signals.flatMap(({ kind, data }) => (kind === "llm_delta" && data.block_id === block ? [data.text] : [])).join("");

describe("E-02 whatever a slow socket is sent", () => {
  const acts = fc.array(act, { maxLength: 120 });
  const limits = fc.integer({ min: 500, max: 20_000 });

  test("at most the limit waits, or one signal alone", () => {
    fc.assert(
      fc.property(acts, limits, (script, limit) => {
        const { most, largest } = play(script, limit);
        expect(most).toBeLessThanOrEqual(Math.max(limit, largest));
      }),
      { numRuns: 300 },
    );
  });

  test("what is sent has no hole, loses no text, and holds together only neighbours of one block", () => {
    fc.assert(
      fc.property(acts, limits, (script, limit) => {
        const { sent, pushed, isFull, outbox, take } = play(script, limit);
        for (let round = 0; round <= pushed.length; round += 1) {
          take();
          outbox.drained();
        }
        const numbers = numbersOf(sent);
        expect(numbers).toEqual(numbers.map((_, n) => n + 1));
        if (!isFull) expect(numbers).toHaveLength(pushed.length);
        const fetched = pushed.slice(0, numbers.length);
        for (const block of [ID, OTHER]) expect(textIn(sent, block)).toBe(textIn(fetched, block));
        for (const { from_seq, seq } of sent) {
          const merged = pushed.slice((from_seq ?? seq) - 1, seq);
          expect(new Set(merged.map(({ data }) => "block_id" in data && data.block_id)).size).toBe(1);
        }
      }),
      { numRuns: 300 },
    );
  });

  test("a socket that is full is never sent anything again", () => {
    fc.assert(
      fc.property(acts, (script) => {
        const { sent, isFull, outbox, take, pushed } = play(script, 700);
        fc.pre(isFull);
        const before = sent.length;
        expect(outbox.push(reset(pushed.length + 1))).toBe(false);
        take();
        outbox.drained();
        expect([sent.length, outbox.held()]).toEqual([before, 0]);
      }),
      { numRuns: 300 },
    );
  });
});
