import { describe, expect, test } from "vitest";
import { applySignal, storedBlocks } from "../../client/reducer.ts";
import { emptyView, type View } from "../../client/view.ts";
import { sessionId, turnId } from "../../machines/ids.ts";
import { isNumbered, type NumberedSignal, type SignalData } from "../../machines/protocol/signals.ts";
import { HeldLoop } from "../testing/held-loop.ts";
import { Audience } from "./audience.ts";
import { LiveTurn, NUMBERS_KEPT_FOR_ENDINGS } from "./live-turn.ts";
import { Random } from "./simulation/random.ts";

const SESSION = sessionId("00000000-0000-4000-8000-0000000000a1");
const TURN = turnId("00000000-0000-4000-8000-0000000000b1");

function scene({ numbers = 10_000, uuid = new Random(1).uuid } = {}) {
  const audience = new Audience(SESSION, () => 0);
  audience.continueFrom(1, 1 + numbers, true);
  const heard: NumberedSignal[] = [];
  audience.join({ send: (signal) => isNumbered(signal) && heard.push(signal), close: () => {} });
  const loop = new HeldLoop();
  const over = new AbortController();
  const live = new LiveTurn({ turnId: TURN, n: 1, cause: "message", input: { text: "go" } }, audience, {
    uuid,
    soon: loop.soon,
    over: over.signal,
  });
  const kinds = () => heard.splice(0).map(({ kind }) => kind);
  const deltas = () =>
    heard.flatMap((signal) => (signal.kind === "llm_delta" ? [[signal.data.offset, signal.data.text]] : []));
  return { audience, heard, loop, over, live, kinds, deltas };
}

/** What a client is sent that joins now. */
const resyncOf = ({ audience, live }: Pick<ReturnType<typeof scene>, "audience" | "live">): SignalData<"resync"> => ({
  from_turn: 1,
  turns: [live.snapshot()],
  state: { ...audience.state, queue: [] },
  seq: audience.nextSeq - 1,
});
const joined = (audience: Audience, resync: SignalData<"resync">): View =>
  applySignal(emptyView, audience.plain("resync", resync));

describe("a turn that runs", () => {
  test("[LT1] text of one block that comes within one turn of the event loop is one signal, numbered when it leaves", () => {
    const { live, loop, audience, deltas, kinds } = scene();
    for (const word of ["Take ", "2 ", "a day"]) live.write("text", word);
    expect([deltas(), audience.nextSeq]).toEqual([[], 2]);
    loop.turn();
    expect(deltas()).toEqual([[0, "Take 2 a day"]]);
    live.write("text", ", ");
    live.write("text", "½ 👩‍⚕️");
    loop.turn();
    expect(deltas()[1]).toEqual([12, ", ½ 👩‍⚕️"]);
    loop.turn();
    expect([kinds(), loop.isIdle]).toEqual([["block_started", "llm_delta", "llm_delta"], true]);
  });

  test("[LT2] what a block still owes goes before its end, another block or a card", () => {
    const { live, loop, kinds, heard } = scene();
    live.write("thinking", "h");
    live.write("thinking", "m");
    live.write("text", "Yes");
    live.card({ kind: "recommend_lifestyle", data: { recommendations: [] } }, "call-1");
    live.write("text", "No");
    live.keepStep();
    expect(heard.flatMap(({ data }) => ("offset" in data ? [data.text] : []))).toEqual(["hm", "Yes", "No"]);
    loop.turn();
    expect(kinds()).toEqual([
      ...["block_started", "thinking_summary", "block_finished"],
      ...["block_started", "llm_delta", "block_finished"],
      ...["block_started", "recommend_lifestyle", "block_finished"],
      ...["block_started", "llm_delta", "block_finished"],
    ]);
  });

  test("[LT3] text that is void before it left is never sent, and what follows begins at its start", () => {
    const { live, loop, kinds, deltas } = scene();
    live.write("text", "You could tr");
    live.reset("retry");
    live.write("text", "Take ");
    live.write("text", "2");
    loop.turn();
    expect(deltas()).toEqual([[0, "Take 2"]]);
    expect(kinds()).toEqual(["block_started", "block_reset", "block_started", "llm_delta"]);
    live.write("text", " a day");
    live.reset("retry");
    loop.turn();
    expect([kinds(), live.snapshot().blocks]).toEqual([["block_reset"], []]);
  });

  test("[LT4] when its owner's part is over nothing leaves any more", () => {
    const { live, loop, over, audience } = scene();
    live.write("text", "half");
    const next = audience.nextSeq;
    over.abort();
    loop.turn();
    expect(audience.nextSeq).toBe(next);
  });

  test("[LT5] with too few numbers text waits: with new ones it goes in one, without them in the final form", () => {
    const { live, loop, audience, deltas, heard } = scene({ numbers: NUMBERS_KEPT_FOR_ENDINGS + 2 });
    for (const word of ["Take ", "2 ", "a "]) {
      live.write("text", word);
      loop.turn();
    }
    expect(deltas()).toEqual([[0, "Take "]]);
    // Whoever joins now holds what the numbers so far have told, like everyone.
    expect(live.snapshot().blocks.map(({ content }) => content)).toEqual([{ text: "Take " }]);
    audience.reserved(audience.nextSeq + NUMBERS_KEPT_FOR_ENDINGS + 1);
    live.write("text", "day");
    loop.turn();
    expect(deltas()[1]).toEqual([5, "2 a day"]);
    live.write("text", ".");
    live.keepStep();
    expect([deltas().length, heard.at(-1)?.data]).toEqual([2, live.snapshot().blocks[0]]);
    expect(live.snapshot().blocks[0]?.content).toEqual({ text: "Take 2 a day." });
  });

  /** "Take 2" left between two calls, and one of the clients could not be sent it. */
  function faulty() {
    const one = scene();
    const broken = new TypeError("broken");
    const sink = {
      send: () => {
        throw broken;
      },
      close: () => {},
    };
    one.live.write("text", "Take 2");
    one.audience.join(sink);
    one.loop.turn();
    one.audience.leave(sink);
    return { ...one, broken };
  }

  test("[LT7] a fault of text that leaves between two calls is told by the next one, once", () => {
    const next: readonly ((live: LiveTurn) => void)[] = [
      (live) => live.write("text", " more"),
      (live) => live.keepStep(),
      (live) => live.card({ kind: "recommend_lifestyle", data: { recommendations: [] } }, "call-1"),
    ];
    for (const call of next) {
      const { live, heard, broken } = faulty();
      expect(() => call(live)).toThrow(broken);
      live.finishOpen();
      expect(heard.at(-1)?.kind).toBe("block_finished");
    }
  });

  test("[LT7] a fault that nobody was told is dropped with the attempt that is void, and by the settlement", () => {
    const again = faulty();
    again.live.reset("retry");
    again.live.write("text", "Take 3");
    again.live.keepStep();
    expect(again.live.snapshot().blocks.map(({ content }) => content)).toEqual([{ text: "Take 3" }]);
    const ended = faulty();
    ended.live.finishOpen();
    ended.live.write("text", "I stopped here.");
    ended.live.finishOpen();
    const blocks = ended.live.snapshot().blocks.map(({ content }) => content);
    expect(blocks).toEqual([{ text: "Take 2" }, { text: "I stopped here." }]);
  });

  test("[LT6] 60 lives: whoever joins at any moment is told nothing twice and ends with the blocks of all others", () => {
    for (let seed = 1; seed <= 60; seed += 1) {
      const random = new Random(seed);
      const one = scene({ uuid: random.uuid });
      const { live, loop, audience, heard } = one;
      const resyncs = [resyncOf(one)];
      for (let step = 0; step < 60; step += 1) {
        const act = random.weighted<() => void>([
          [8, () => live.write("text", random.one(["a ", "½", "\n", "longer "]))],
          [3, () => live.write("thinking", random.one(["h", "m "]))],
          [5, () => loop.turn()],
          [1, () => live.reset("retry")],
          [1, () => live.keepStep()],
          [1, () => live.card({ kind: "recommend_lifestyle", data: { recommendations: [] } }, `call-${step}`)],
        ]);
        act();
        resyncs.push(resyncOf(one));
      }
      live.finishOpen();
      loop.turn();
      const ended = live.snapshot().blocks;
      for (const resync of resyncs) {
        let view = joined(audience, resync);
        for (const signal of heard) {
          if (signal.seq <= resync.seq) continue;
          if ("offset" in signal.data) {
            const { block_id, offset } = signal.data;
            const held = view.turns[0]?.blocks.find((block) => block.block_id === block_id)?.content["text"] ?? "";
            expect([seed, signal.seq, offset]).toEqual([seed, signal.seq, (held as string).length]);
          }
          view = applySignal(view, signal);
        }
        expect(view.turns.map(storedBlocks), `seed ${seed}, joined at ${resync.seq}`).toEqual([ended]);
      }
    }
  });
});
