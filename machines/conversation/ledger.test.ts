import fc from "fast-check";
import { expect, test } from "vitest";
import { callId, interactionId } from "../ids.ts";
import type { AssistantEntry, Entry } from "./entries.ts";
import { unresolved } from "./interactions.ts";
import { Ledger } from "./ledger.ts";
import { assistant, result, summary, TURN, text, user } from "./testing/build.ts";

const [one, two] = [1, 2].map((n) => interactionId(`00000000-0000-4000-8000-00000000010${n}`)) as [never, never];
const asks = (id: typeof one): Entry => ({
  kind: "interaction",
  turnId: TURN,
  interactionId: id,
  callId: callId("c1"),
  pending: { id, revision: 1, kind: "single_choice", prompt: "Which one?", schema: {} },
});
const ends = (id: typeof one): Entry => ({
  kind: "resolution",
  turnId: TURN,
  interactionId: id,
  by: "user",
  text: "[answered]",
});

test("[LE1] however entries come, a ledger knows what a reading of its history finds", () => {
  const entry = fc.constantFrom(
    user("hello"),
    result("c1", "look", "found"),
    asks(one),
    asks(two),
    ends(one),
    ends(two),
  );
  const steps = fc.array(fc.array(fc.oneof(entry, fc.constant(summary("before"))), { maxLength: 4 }), { maxLength: 6 });
  fc.assert(
    fc.property(steps, (batches) => {
      const ledger = new Ledger([], 0);
      for (const batch of batches) {
        ledger.add(batch);
        const again = new Ledger(ledger.history, ledger.anchor);
        expect([ledger.unresolved, ledger.tokens]).toEqual([unresolved(ledger.stored), again.tokens]);
        expect(ledger.unresolved).toEqual(again.unresolved);
      }
    }),
  );
});

const FIXED = { system: 900, skills: 50, tools: 400 };
const answers = (input: number): Entry => ({
  ...(assistant([text("Take two.")]) as AssistantEntry),
  measured: { input, output: 10, estimated: 1_000 },
});

test("[LE2] of a session that falls asleep it knows what a reading of its history finds", () => {
  const entry = fc.constantFrom(user("hello"), assistant([text("Yes.")]), answers(1_200), answers(700));
  const steps = fc.array(fc.array(fc.oneof(entry, fc.constant(summary("before"))), { maxLength: 4 }), { maxLength: 6 });
  const figures = (ledger: Ledger) => [
    ledger.parts(FIXED),
    ledger.room(FIXED, { window: 32_000, reserve: 0 }, TURN),
    ledger.inEstimates(10_000),
  ];
  fc.assert(
    fc.property(steps, (batches) => {
      const ledger = new Ledger([], 0);
      for (const batch of batches) {
        ledger.add(batch);
        ledger.measure(FIXED);
      }
      const again = new Ledger(ledger.history, ledger.anchor);
      ledger.forgetBase();
      expect(figures(ledger)).toEqual(figures(again));
    }),
  );
});

test("[LE3] falling asleep costs the same however long the history is: no entry is looked at again", () => {
  const history = Array.from({ length: 400 }, (_, pos) => ({ pos, tokens: 2, entry: { ...user("hello") } }));
  const ledger = new Ledger(history, 0);
  let read = 0;
  const look = () => {
    read += 1;
    return "user";
  };
  for (const { entry } of history) Object.defineProperty(entry, "kind", { get: look });
  ledger.forgetBase();
  expect(read).toBe(0);
});
