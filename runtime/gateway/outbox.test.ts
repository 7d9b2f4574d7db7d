import { expect, test } from "vitest";
import type { Signal } from "../../machines/protocol/signals.ts";
import { createOutbox } from "./outbox.ts";

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
  const outbox = createOutbox(wire, 10_000);
  const signals = [delta(1, 0, "a"), delta(2, 1, "b")];
  expect(signals.map((signal) => outbox.push(signal))).toEqual([true, true]);
  expect(sent).toEqual(signals);
});

test("text that waits is merged with its neighbours in number and block, and with nothing else", () => {
  const { sent, wire } = slowWire();
  const outbox = createOutbox(wire, 100_000);
  const signals = [
    delta(1, 0, "a"),
    delta(2, 1, "½"),
    delta(3, 2, "c"),
    delta(4, 0, "x", OTHER),
    delta(6, 1, "gap", OTHER),
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
    delta(4, 0, "x", OTHER),
    delta(6, 1, "gap", OTHER),
    reset(7),
    { ...delta(9, 0, "de"), from_seq: 8 },
    delta(10, 5, "elsewhere"),
  ]);
});

test("what waits is bounded; after that nothing more is taken", () => {
  const { sent, wire } = slowWire();
  const outbox = createOutbox(wire, 2_000);
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
  const outbox = createOutbox(wire, 1_000);
  expect(outbox.push(delta(1, 0, "x".repeat(5_000)))).toBe(true);
  wire.stuck = false;
  outbox.drained();
  expect(sent).toHaveLength(1);
});
