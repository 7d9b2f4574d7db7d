import fc from "fast-check";
import { expect, test } from "vitest";
import { callId, interactionId } from "../ids.ts";
import type { Entry } from "./entries.ts";
import { unresolved } from "./interactions.ts";
import { Ledger } from "./ledger.ts";
import { result, summary, TURN, user } from "./testing/build.ts";

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
