import { describe, expect, test } from "vitest";
import { isOverThreshold } from "../compaction/compaction.rules.ts";
import type { Usage } from "../model.ts";
import { Account, contextTokens, measured, measureOf, partsTotal, UNMEASURED } from "./budget.ts";
import type { Entry, UserEntry } from "./entries.ts";
import { Ledger } from "./ledger.ts";
import { placed, turn, turnN, words } from "./testing/turns.ts";
import { textTokens } from "./tokens.ts";

const NOTHING = { system: 0, skills: 0, tools: 0 };

describe("size of a context", () => {
  const size = (calls: readonly Usage[]): { readonly used: number; readonly over: boolean } => {
    const ledger = new Ledger(placed(turn(1, { says: words(140_000) })), 0);
    calls.forEach((usage, at) => {
      const estimated = ledger.estimated(NOTHING);
      const measure = measureOf(usage, estimated);
      const [, answer] = turn(1, { says: "", answer: words(250, at) });
      if (answer?.kind !== "assistant" || measure === undefined) throw new Error("not measured");
      ledger.add([{ ...answer, measured: measure }]);
      ledger.measure(NOTHING);
    });
    const room = ledger.room(NOTHING, { window: 1_000_000, reserve: 8_000 }, turnN(1));
    return { used: room.used, over: isOverThreshold(room) };
  };

  test("C-08 it is the last request and its answer, never the sum over calls, in both styles of reporting", () => {
    // Both adapters report the whole prompt as `input`: 150k with 140k of it cached; 10k beside 140k read from a cache.
    const inside = Array.from({ length: 12 }, (_, at): Usage => {
      return { input: 150_000 + at * 300, output: 300, thinking: 0, cached: 140_000 };
    });
    const beside = inside.map(({ input, ...rest }) => ({ ...rest, input: input - 140_000 + 140_000 }));
    const expected = { used: 150_000 + 11 * 300 + 300, over: false };
    expect([size(inside), size(beside)]).toEqual([expected, expected]);
  });

  test("C-09 everything that is sent counts: messages, schemas, system prompt, resolved attachments", () => {
    const file = {
      blobId: "00000000-0000-4000-8000-000000000001" as never,
      mime: "application/pdf",
      bytes: 1,
      tokens: 20_000,
    };
    const [said] = turn(1, { says: words(50_000) });
    const entry = { ...(said as UserEntry), attachments: [file] } satisfies Entry;
    const ledger = new Ledger(placed([entry]), 0);
    const fixed = { system: 9_000, skills: 1_000, tools: 25_000 };
    const room = ledger.room(fixed, { window: 128_000, reserve: 0 }, turnN(1));
    expect([Math.round(room.used / 1_000), isOverThreshold(room)]).toEqual([105, true]);
    expect(partsTotal(ledger.parts(fixed))).toBe(room.used);
  });

  test("C-09 what a provider really counts corrects the estimate, in Japanese and emoji too", () => {
    const japanese = "妊娠中のビタミンの摂取量についてご相談ください。";
    for (const text of [japanese.repeat(40), "Take it with food 🍽️ and water 💧 👩‍⚕️ ".repeat(60)]) {
      const real = Math.round(textTokens(text) * 1.3);
      const ledger = new Ledger(placed(turn(1, { says: text })), 0);
      const measure = measureOf({ input: real, output: 10, thinking: 0, cached: 0 }, ledger.estimated(NOTHING));
      const [, answer] = turn(1, { says: "", answer: "Yes." });
      if (answer?.kind !== "assistant" || measure === undefined) throw new Error("not measured");
      ledger.add([{ ...answer, measured: measure }]);
      ledger.measure(NOTHING);
      ledger.add(turn(2, { says: text }));
      const { used } = ledger.room(NOTHING, { window: 1_000_000, reserve: 0 }, turnN(2));
      expect(Math.abs(used - 2 * real) / (2 * real)).toBeLessThan(0.15);
      // A thaw, a take-over and a rebuild read the ratio from the entries.
      const again = new Ledger(ledger.history, 0);
      const thawed = again.room(NOTHING, { window: 1_000_000, reserve: 0 }, turnN(2)).used;
      expect(Math.abs(thawed - used) / used).toBeLessThan(0.02);
      ledger.forgetBase();
      expect(ledger.room(NOTHING, { window: 1_000_000, reserve: 0 }, turnN(2)).used).toBe(thawed);
    }
  });

  test("[BU1] a figure that can't be the size of the request is not believed", () => {
    const of = (input: number) => measureOf({ input, output: 1, thinking: 0, cached: 0 }, 1_000);
    expect([of(0), of(200), of(5_000), of(Number.NaN), of(900)]).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
      { input: 900, output: 1, estimated: 1_000 },
    ]);
  });

  test("[BU2] after the last call only what came since is estimated; when less is sent the ratio alone holds", () => {
    const meter = measured({ input: 1_200, output: 60, estimated: 1_000 }, 1_050);
    expect([contextTokens(meter, 1_050), contextTokens(meter, 1_150), contextTokens(meter, 500)]).toEqual([
      1_260, 1_380, 600,
    ]);
    expect(contextTokens(UNMEASURED, 500)).toBe(500);
  });

  test("[BU3] foldable is everything before the last two full turns and the one that runs", () => {
    const entries = placed([1, 2, 3, 4].flatMap((n) => turn(n, { says: words(10 * n), answer: words(10 * n) })));
    const account = new Account(entries);
    const of = (n: number) =>
      entries.filter(({ entry }) => entry.turnId === turnN(n)).reduce((sum, { tokens }) => sum + tokens, 0);
    expect([account.foldable(turnN(4)), account.foldable(undefined), new Account([]).foldable(undefined)]).toEqual([
      of(1),
      of(1) + of(2),
      0,
    ]);
  });

  test("[BU4] asking costs the same however long the history is: no entry is looked at again", () => {
    const ledger = new Ledger([], 0);
    for (let n = 1; n <= 400; n++) ledger.add(turn(n, { says: words(5, n), answer: words(5, n) }));
    let read = 0;
    const { entries } = ledger;
    const look = () => {
      read += 1;
      return "";
    };
    for (const entry of entries) Object.defineProperty(entry, "text", { get: look });
    ledger.room(NOTHING, { window: 32_000, reserve: 0 }, undefined);
    ledger.parts(NOTHING);
    expect(read).toBe(0);
  });
});
