import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { NumberedSignal } from "../machines/protocol/signals.ts";
import { applySignal, storedBlocks, withOlderTurns } from "./reducer.ts";
import { type Move, merge, writeTurn } from "./testing/scripted-turn.ts";
import { greeting, numbered, plain, SESSION, TURN, uuid } from "./testing/signals.ts";
import { emptyView, olderThan, runningTurn, type View } from "./view.ts";

const block = fc.nat({ max: 5 });
const move: fc.Arbitrary<Move> = fc.oneof(
  fc.record({
    kind: fc.constant("start" as const),
    type: fc.constantFrom("text" as const, "thinking" as const, "recommend_lifestyle" as const),
  }),
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant("write" as const), block, text: fc.string({ unit: "grapheme" }) }),
  },
  fc.record({ kind: fc.constant("reset" as const), block }),
  fc.record({ kind: fc.constant("restart" as const), block }),
  fc.record({ kind: fc.constant("finish" as const), block }),
);
const moves = fc.array(move, { maxLength: 40 });
const apply = (frames: readonly NumberedSignal[], from: View = emptyView): View => frames.reduce(applySignal, from);
const blocks = (view: View) => view.turns.flatMap(storedBlocks);
const state = { status: "turning" as const, pending_interaction: null, queue: [] };

describe("[E-01] applying everything in order always gives the stored blocks", () => {
  test("after every frame what is shown is what the server holds, with deltas merged anywhere", () => {
    fc.assert(
      fc.property(moves, fc.func(fc.boolean()), (script, where) => {
        const { frames, stored, heldAfter } = writeTurn(script);
        let view = emptyView;
        for (const frame of merge(frames, where)) {
          view = applySignal(view, frame);
          expect(blocks(view)).toEqual(heldAfter[frame.seq - 1]?.blocks);
        }
        expect(blocks(view)).toEqual(stored);
      }),
      { numRuns: 200 },
    );
  });

  test("when any part is sent again, merged otherwise, nothing is shown twice", () => {
    fc.assert(
      fc.property(moves, fc.nat(), fc.nat(), fc.func(fc.boolean()), (script, cut, back, where) => {
        const { frames, heldAfter } = writeTurn(script);
        const until = 1 + (cut % frames.length);
        let view = apply(frames.slice(0, until));
        for (const frame of merge(frames.slice(back % until), where)) {
          view = applySignal(view, frame);
          expect(blocks(view)).toEqual(heldAfter[Math.max(frame.seq, until) - 1]?.blocks);
        }
      }),
      { numRuns: 200 },
    );
  });

  test("when a resync replaces a stretch", () => {
    fc.assert(
      fc.property(moves, fc.nat(), fc.nat(), (script, cut, skip) => {
        const { frames, stored, heldAfter } = writeTurn(script);
        const until = cut % frames.length;
        const resumed = until + (skip % (frames.length - until));
        const turns = [heldAfter[resumed]].flatMap((turn) => turn ?? []);
        const resync = plain("resync", { from_turn: 1, turns, state, seq: resumed + 1 });
        const view = applySignal(apply(frames.slice(0, until)), resync);
        expect(blocks(apply(frames.slice(resumed + 1), view))).toEqual(stored);
      }),
      { numRuns: 300 },
    );
  });
});

const started = (n: number, seq: number) =>
  numbered("turn_started", seq, { turn_id: uuid(10 + n), n, cause: "message", input: { text: `message ${n}` } });
const storedTurnAt = (n: number) => ({
  turn_id: uuid(10 + n),
  n,
  cause: "message" as const,
  input: { text: `message ${n}` },
  outcome: "completed" as const,
  blocks: [],
});

test("a reset block is absent until it starts again with a higher attempt", () => {
  const { frames } = writeTurn([
    { kind: "start", type: "text" },
    { kind: "write", block: 0, text: "Take 3" },
    { kind: "reset", block: 0 },
    { kind: "restart", block: 0 },
    { kind: "write", block: 0, text: "Take 2" },
  ]);
  const shown = frames.map((_, at) => blocks(apply(frames.slice(0, at + 1))).map((b) => [b.attempt, b.content]));
  expect(shown).toEqual([
    [],
    [[1, {}]],
    [[1, { text: "Take 3" }]],
    [],
    [[2, {}]],
    [[2, { text: "Take 2" }]],
    [[2, { text: "Take 2" }]],
    [[2, { text: "Take 2" }]],
  ]);
});

test("F-08 the progress of a call is that of its activity: the last one counts, and it stays a call that runs", () => {
  const progress = (seq: number, done: number, message?: string) =>
    numbered(
      "tool_call_progress",
      seq,
      { call_id: "c1", name: "import", progress: done, ...(message !== undefined && { message }) },
      { turn_id: TURN },
    );
  const view = apply([
    numbered("turn_started", 1, { turn_id: TURN, n: 1, cause: "message", input: { text: "hi" } }),
    numbered("tool_call_started", 2, { call_id: "c1", name: "import", title: "Importing" }, { turn_id: TURN }),
    progress(3, 1, "reading"),
    progress(4, 2),
  ]);
  expect(view.turns[0]?.activity).toEqual([
    { call_id: "c1", name: "import", title: "Importing", progress: { progress: 2 } },
  ]);
});

test("tool activity is started, completed in place, and never runs on after its turn", () => {
  const call = (n: number) => ({ call_id: `c${n}`, name: "product_search", title: "Searching products" });
  const view = apply([
    numbered("turn_started", 1, { turn_id: TURN, n: 1, cause: "message", input: { text: "hi" } }),
    numbered("tool_call_started", 2, call(1), { turn_id: TURN }),
    numbered("tool_call_started", 3, call(2), { turn_id: TURN }),
    numbered(
      "tool_call_finished",
      4,
      { call_id: "c1", name: "product_search", outcome: "ok", ms: 12 },
      { turn_id: TURN },
    ),
    numbered("turn_failed", 5, { turn_id: TURN, code: "interrupted", message: "The server stopped.", retryable: true }),
  ]);
  expect(view.turns).toEqual([
    {
      turn_id: TURN,
      n: 1,
      cause: "message",
      input: { text: "hi" },
      blocks: [],
      activity: [
        { ...call(1), outcome: "ok", ms: 12 },
        { ...call(2), outcome: "unknown" },
      ],
      skills: [],
      actions: [],
      ending: { kind: "failed", code: "interrupted", message: "The server stopped.", retryable: true },
    },
  ]);
});

test("queue, state and the greeting are taken over whole; an unknown kind only moves the number", () => {
  const waiting = [{ turn_id: TURN, text: "next" }];
  const unknown = {
    v: 1 as const,
    kind: "mood",
    session_id: SESSION,
    seq: 9,
    at: "",
    data: {},
    unknown: true as const,
  };
  const view = [
    greeting(7),
    numbered("queue_changed", 7, { waiting }),
    numbered("state_changed", 8, { status: "turning", pending_interaction: null }),
    unknown,
  ].reduce(applySignal, emptyView);
  const { limits: _, ...rest } = view;
  expect(rest).toEqual({
    ...emptyView,
    session_id: SESSION,
    agent: "assist",
    simulated: true,
    status: "turning",
    queue: waiting,
    seq: 9,
  });
});

test("a resync keeps older turns that join on, and drops them where turns would be missing between", () => {
  const held = apply([started(1, 1), started(2, 2)]);
  const from = (n: number) => plain("resync", { from_turn: n, turns: [storedTurnAt(n)], state, seq: 20 });
  const numbersAfter = (n: number) => applySignal(held, from(n)).turns.map((turn) => turn.n);
  expect([numbersAfter(2), numbersAfter(3), numbersAfter(9)]).toEqual([[1, 2], [1, 2, 3], [9]]);
});

test("a resync may go back: its number counts, what was streamed beyond it is void", () => {
  const held = apply([started(1, 1), started(2, 30)]);
  const view = applySignal(held, plain("resync", { from_turn: 2, turns: [], state, seq: 12 }));
  expect([view.seq, view.turns.map((turn) => turn.n)]).toEqual([12, [1]]);
});

test("older turns go in front, once", () => {
  const held = apply([started(3, 1)]);
  expect(olderThan(held)).toBe(3);
  const all = withOlderTurns(withOlderTurns(held, [storedTurnAt(1), storedTurnAt(2)]), [storedTurnAt(1)]);
  expect([all.turns.map((turn) => turn.n), olderThan(all), runningTurn(all)?.n]).toEqual([[1, 2, 3], undefined, 3]);
});

describe("what was done with a card's button", () => {
  const card = (n: number) => ({
    block_id: uuid(n),
    idx: 0,
    type: "recommend_supplements",
    content: { supplements: [] },
    attempt: 1,
  });
  const done = (n: number, product_id: string) => ({
    block_id: uuid(n),
    action: "add_to_plan",
    item: { product_id },
    result: "done",
  });
  const page = (n: number, actions?: ReturnType<typeof done>[]) => ({
    ...storedTurnAt(n),
    blocks: [card(100 + n)],
    ...(actions && { actions }),
  });
  const actionsOf = (view: View) => [view.turns.map((turn) => turn.actions), view.actions];

  test("stays with the turn that holds the card, whatever turn runs now", () => {
    const resync = plain("resync", { from_turn: 1, turns: [page(1), page(2)], state, seq: 2 });
    const view = apply(
      [
        started(3, 3),
        numbered("action_done", 4, done(101, "a"), { turn_id: uuid(13) }),
        numbered("action_done", 4, done(101, "a")),
        numbered("action_done", 5, done(102, "b")),
      ],
      applySignal(emptyView, resync),
    );
    const [a, b] = [done(101, "a"), done(102, "b")];
    expect(actionsOf(view)).toEqual([
      [[a], [b], []],
      [a, b],
    ]);
  });

  test("comes with stored turns, which replace what is held", () => {
    const [a, b, old] = [done(102, "a"), done(102, "b"), done(101, "old")];
    const resync = (actions: ReturnType<typeof done>[], seq: number) =>
      plain("resync", { from_turn: 2, turns: [page(2, actions)], state, seq });
    const first = apply([numbered("action_done", 3, b)], applySignal(emptyView, resync([a], 2)));
    const again = withOlderTurns(applySignal(first, resync([a, b], 4)), [page(1, [old])]);
    expect([actionsOf(first), actionsOf(again)]).toEqual([
      [[[a, b]], [a, b]],
      [
        [[old], [a, b]],
        [old, a, b],
      ],
    ]);
  });

  test("of a card that is not held changes nothing, also while a turn runs", () => {
    const view = apply([started(1, 1), numbered("action_done", 2, done(140, "a"))]);
    expect(actionsOf(view)).toEqual([[[]], []]);
  });

  test("a turn that is recovered keeps it", () => {
    const resync = plain("resync", { from_turn: 1, turns: [page(1, [done(101, "a")])], state, seq: 2 });
    expect(actionsOf(apply([started(1, 3)], applySignal(emptyView, resync)))).toEqual([
      [[done(101, "a")]],
      [done(101, "a")],
    ]);
  });
});
