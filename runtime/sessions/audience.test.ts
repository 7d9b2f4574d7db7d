import { describe, expect, test } from "vitest";
import { sessionId } from "../../machines/ids.ts";
import type { Signal } from "../../machines/protocol/signals.ts";
import { Audience } from "./audience.ts";

const id = sessionId("00000000-0000-4000-8000-0000000000a1");

function scene(next: number, bound: number) {
  const audience = new Audience(id, () => 0);
  audience.continueFrom(next, bound, true);
  const heard: Signal[] = [];
  const closed: number[] = [];
  audience.join({ send: (signal) => heard.push(signal), close: (code) => closed.push(code) });
  const show = () => audience.show("compaction_started", {});
  return { audience, heard, closed, show };
}

describe("audience", () => {
  test("[AU1] numbers that are used up send clients away to a resync instead of failing the turn", () => {
    const { audience, heard, closed, show } = scene(5, 7);
    for (let times = 0; times < 4; times += 1) show();
    expect(heard.map((signal) => "seq" in signal && signal.seq)).toEqual([5, 6]);
    expect([closed, audience.size, audience.nextSeq]).toEqual([[1012], 0, 7]);
    // Also the one that heard the last number: what was not numbered is missing to it.
    expect([audience.missing(5), audience.missing(6)]).toEqual([{ kind: "resync" }, { kind: "resync" }]);
  });

  test("[AU2] with new numbers it goes on, and only cursors from after the gap are served", () => {
    const { audience, show } = scene(5, 6);
    show();
    show();
    audience.reserved(100);
    show();
    const missing = audience.missing(6);
    expect(missing.kind === "range" && missing.signals.length).toBe(0);
    expect(audience.missing(5)).toEqual({ kind: "resync" });
  });

  test("[AU3] after an unclean take-over the cursor just before it is void too", () => {
    const { audience, show } = scene(5, 10);
    show();
    audience.continueFrom(100, 200, false);
    expect([audience.missing(5), audience.missing(99)]).toEqual([{ kind: "resync" }, { kind: "resync" }]);
    show();
    expect(audience.missing(100)).toEqual({ kind: "range", signals: [] });
  });

  test("[AU4] a clean take-over that follows its numbers keeps what it can still send", () => {
    const { audience, heard, show } = scene(5, 10);
    show();
    show();
    audience.continueFrom(7, 20, true);
    expect(audience.missing(5)).toEqual({ kind: "range", signals: [heard[1]] });
  });

  test("[AU5] what is kept for clients that come back is bounded by number and by about its size, whatever the signals hold", () => {
    const texts = ["", "a word ", "x".repeat(4_000), "½ 👩‍⚕️".repeat(500)];
    // As JSON they are longer than what is held: up to this many times.
    const escaped = [
      { text: '"\n'.repeat(2_000), times: 2 },
      { text: "\u0001".repeat(4_000), times: 6 },
    ];
    const supplement = { product_id: "p", name: "Magnesium", price: { amount: 19.5, currency: "USD" }, in_stock: true };
    const items = [0, 1, 60].map((count) => Array.from({ length: count }, () => ({ ...supplement, rationale: "low" })));
    const contents = [...texts.map((text) => ({ text })), ...items.map((supplements) => ({ supplements }))];
    const cases = [
      ...contents.map((content) => ({ content, times: 1 })),
      ...escaped.map(({ text, times }) => ({ content: { text }, times })),
    ];
    for (const { content, times } of cases) {
      const { audience, heard } = scene(1, 10_000);
      for (let idx = 0; idx < 3_000; idx += 1) {
        audience.show("block_finished", { block_id: id, idx, type: "text", content, attempt: 1 });
      }
      const first = heard.findIndex((_, at) => audience.missing(at).kind === "range");
      const kept = heard.slice(first);
      const characters = kept.reduce((sum, signal) => sum + JSON.stringify(signal).length, 0);
      expect(kept.length).toBeLessThanOrEqual(2_000);
      expect(characters).toBeLessThanOrEqual(times * 1_050_000);
      // One of the bounds is what made it forget, and no other.
      if (kept.length < 2_000) expect(characters).toBeGreaterThan(times * 700_000);
    }
  });

  test("[AU6] every signal says when it was made, also when many are made in one millisecond", () => {
    let now = 0;
    const audience = new Audience(id, () => now);
    audience.continueFrom(1, 10, true);
    const heard: string[] = [];
    audience.join({ send: ({ at }) => heard.push(at), close: () => {} });
    for (const at of [5, 5, 6, 5]) {
      now = at;
      audience.tell("heartbeat", {});
    }
    expect(heard).toEqual([5, 5, 6, 5].map((at) => new Date(at).toISOString()));
  });
});
