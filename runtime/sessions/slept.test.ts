import { expect, test } from "vitest";
import type { PlacedEntry } from "../../machines/conversation/entries.ts";
import { Ledger } from "../../machines/conversation/ledger.ts";
import { nodeId, sessionId, turnId, userId } from "../../machines/ids.ts";
import type { Taken } from "../../persistence/store.ts";
import { type Asleep, Slept } from "./slept.ts";

const [a, b] = [1, 2].map((n) => sessionId(`00000000-0000-4000-8000-00000000000${n}`)) as [never, never];
const turn = turnId("00000000-0000-4000-8000-0000000000aa");
const backOff = { foldable: 100, rest: 2 };
const asleep = (tokens: number, epoch = 7): Asleep => {
  const history: readonly PlacedEntry[] = [{ pos: 0, tokens, entry: { kind: "user", turnId: turn, text: "hello" } }];
  return { epoch, ledger: new Ledger(history, 0), turns: 1, backOff };
};
const taken = (id: typeof a, epoch: number, more: Partial<Taken> = {}): Taken => ({
  fence: { sessionId: id, node: nodeId("00000000-0000-4000-8000-0000000000bb"), epoch },
  owner: userId("u"),
  agent: "test",
  frozen: undefined,
  nextSeq: 1,
  clean: true,
  anchor: 0,
  turns: 1,
  unsettled: 1,
  openInteraction: undefined,
  unrecordedActions: false,
  ...more,
});

test("[SL1] the next epoch of a session that slept in order gets its ledger and back-off, once", () => {
  const slept = new Slept();
  const before = asleep(10);
  slept.keep(a, before);
  const given = slept.take(taken(a, 8));
  expect([given?.ledger === before.ledger, given?.backOff, slept.take(taken(a, 8))]).toEqual([
    true,
    backOff,
    undefined,
  ]);
});

test("[SL2] a session that anyone else owned, that died, or whose anchor moved is read again", () => {
  const slept = new Slept();
  const ask = (next: Taken) => {
    slept.keep(a, asleep(10));
    return slept.take(next);
  };
  expect([
    ask(taken(a, 9)),
    ask(taken(a, 7)),
    ask(taken(a, 8, { clean: false })),
    ask(taken(a, 8, { anchor: 4 })),
    ask(taken(b, 8)),
  ]).toEqual(Array(5).fill(undefined));
});

test("[SL3] it holds no more than its bound; the oldest go first, one that is too large is not kept", () => {
  const slept = new Slept(600);
  slept.keep(a, asleep(60, 1));
  slept.keep(b, asleep(60, 1));
  expect([slept.take(taken(a, 2)), slept.take(taken(b, 2))?.ledger.tokens]).toEqual([undefined, 60]);
  slept.keep(a, asleep(300, 1));
  expect(slept.take(taken(a, 2))).toBe(undefined);
});

test("[SL4] conversations of a few words are bounded in number too, and what is taken makes room again", () => {
  const slept = new Slept(10_000);
  const ids = Array.from({ length: 100 }, (_, n) =>
    sessionId(`00000000-0000-4000-8000-${String(n).padStart(12, "0")}`),
  );
  const kept = () => ids.filter((id) => slept.look(id) !== undefined);
  for (const id of ids) slept.keep(id, asleep(1));
  expect(kept()).toEqual(ids.slice(-28));
  for (const id of ids) slept.take(taken(id as never, 8));
  for (const id of ids.slice(0, 28)) slept.keep(id, asleep(1));
  expect(kept()).toEqual(ids.slice(0, 28));
});
