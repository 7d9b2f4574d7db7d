import { describe, expect, test } from "vitest";
import type { Resolution } from "../machines/protocol/commands.ts";
import type { Signal } from "../machines/protocol/signals.ts";
import type { Turn } from "../machines/protocol/turns.ts";
import { isOpen, standing } from "./interactions.ts";
import { applySignal } from "./reducer.ts";
import { numbered, plain, TURN, uuid } from "./testing/signals.ts";
import { emptyView, type View } from "./view.ts";

const [Q1, Q2] = [uuid(31), uuid(32)];
const pending = (id: string, revision = 1) => ({
  id,
  revision,
  kind: "single_choice" as const,
  prompt: "Which form?",
  schema: {},
  options: [{ id: "a", label: "A" }],
});
const asking = (n: number, id: string, revision = 1): Turn => ({
  turn_id: uuid(10 + n),
  n,
  cause: "message",
  input: { text: "hi" },
  outcome: "awaiting",
  blocks: [
    {
      block_id: uuid(50 + n),
      idx: 0,
      type: "interaction_request",
      content: { interaction_id: id, revision, kind: "single_choice", prompt: "Which form?" },
      attempt: 1,
    },
  ],
});
const resync = (turns: Turn[], open: ReturnType<typeof pending> | null, seq = 9): Signal =>
  plain("resync", {
    from_turn: 1,
    turns,
    state: { status: open ? "awaiting" : "resting", pending_interaction: open, queue: [] },
    seq,
  });
const ended = (seq: number, id: string, by: "user" | "superseded" | "expired", resolution: Resolution | null = null) =>
  numbered("interaction_resolved", seq, { interaction_id: id, resolution, by });
const viewOf = (...signals: readonly Signal[]): View => signals.reduce(applySignal, emptyView);
const card = (id: string, revision = 1) => ({ interaction_id: id, revision });
const chosen: Resolution = { kind: "answered", selected: ["a"] };

describe("[D-12] the card of a question that is not open any more", () => {
  test("is closed once another one is open, and that one stays open", () => {
    const view = viewOf(resync([asking(1, Q1), asking(2, Q2)], pending(Q2)));
    expect([isOpen(view, Q1, 1), isOpen(view, Q2, 1), isOpen(view, Q2, 2)]).toEqual([false, true, false]);
    expect([standing(view, card(Q1)), standing(view, card(Q2))]).toEqual([
      { kind: "closed" },
      { kind: "open", pending: pending(Q2) },
    ]);
  });

  test("of an older revision is revised, whatever becomes of the newer one", () => {
    const both = [asking(1, Q1), asking(2, Q1, 2)];
    const open = viewOf(resync(both, pending(Q1, 2)));
    const over = viewOf(resync(both, pending(Q1, 2)), ended(10, Q1, "user", chosen));
    expect([open, over].map((view) => [standing(view, card(Q1)), standing(view, card(Q1, 2))])).toEqual([
      [{ kind: "revised" }, { kind: "open", pending: pending(Q1, 2) }],
      [{ kind: "revised" }, { kind: "closed", ended: { by: "user", resolution: chosen } }],
    ]);
  });

  test("says how it ended: as it was told, or as the turn that followed has it after a reload", () => {
    const open = resync([asking(1, Q1)], pending(Q1));
    const told = (["superseded", "expired"] as const).map((by) => standing(viewOf(open, ended(10, Q1, by)), card(Q1)));
    const answer = { interaction_id: Q1, resolution: chosen, label: "A" };
    const turn: Turn = { turn_id: TURN, n: 2, cause: "resolution", input: answer, outcome: "completed", blocks: [] };
    const reloaded = standing(viewOf(resync([asking(1, Q1), turn], null)), card(Q1));
    expect([...told, reloaded]).toEqual([
      { kind: "closed", ended: { by: "superseded" } },
      { kind: "closed", ended: { by: "expired" } },
      { kind: "closed", ended: { by: "user", resolution: chosen, label: "A" } },
    ]);
  });

  test("of a proposal that was changed after its end is judged by itself", () => {
    const dismissed: Resolution = { kind: "dismissed", reason: "too much" };
    const input = { interaction_id: Q1, resolution: dismissed, label: "Dismissed: too much" };
    const again = { ...asking(2, Q1, 2), cause: "resolution" as const, input };
    const { outcome: _, ...running } = again;
    const before = [resync([asking(1, Q1)], pending(Q1)), ended(10, Q1, "user", dismissed)];
    const shows = [...before, resync([asking(1, Q1), running], null, 12)];
    const opens = [...shows, resync([asking(1, Q1), again], pending(Q1, 2), 14)];
    const expires = [...opens, ended(15, Q1, "expired")];
    const second = [shows, opens, expires].map((signals) => standing(viewOf(...signals), card(Q1, 2)));
    expect([standing(viewOf(...before), card(Q1)), ...second, standing(viewOf(...expires), card(Q1))]).toEqual([
      { kind: "closed", ended: { by: "user", resolution: dismissed } },
      { kind: "settling" },
      { kind: "open", pending: pending(Q1, 2) },
      { kind: "closed", ended: { by: "expired" } },
      { kind: "revised" },
    ]);
  });

  test("the end of another question closes nothing", () => {
    const view = viewOf(resync([asking(2, Q2)], pending(Q2)), ended(10, Q1, "superseded"));
    expect([view.pending, standing(view, card(Q2)).kind]).toEqual([pending(Q2), "open"]);
  });
});

test("a card can't be answered before its turn has ended and its state has come", () => {
  const { outcome: _, ...running } = asking(1, Q1);
  const state = (status: "turning" | "resting") => ({ status, pending_interaction: null });
  const usage = { input: 1, output: 1, thinking: 0, cached: 0 };
  const end = numbered("turn_completed", 11, {
    turn_id: uuid(11),
    outcome: "awaiting",
    usage,
    ms: 1,
    steps: 1,
  });
  const steps = [resync([running], null), numbered("state_changed", 10, state("turning")), end];
  const opened = numbered("state_changed", 12, { status: "awaiting", pending_interaction: pending(Q1) });
  const cut = numbered("state_changed", 12, state("resting"));
  const kinds = [steps.slice(0, 2), steps, [...steps, opened], [...steps, cut]].map(
    (signals) => standing(viewOf(...signals), card(Q1)).kind,
  );
  expect(kinds).toEqual(["settling", "settling", "open", "closed"]);
});

test("an end that a resync takes back is forgotten; at most 100 are kept, the newest", () => {
  const open = resync([asking(1, Q1)], pending(Q1));
  const back = viewOf(open, ended(10, Q1, "expired"), resync([asking(1, Q1)], pending(Q1), 9));
  expect([standing(back, card(Q1)).kind, back.resolved]).toEqual(["open", []]);
  const many = viewOf(...Array.from({ length: 130 }, (_, at) => ended(at + 1, uuid(1000 + at), "expired")));
  expect(many.resolved.map(({ interaction_id }) => interaction_id)).toEqual(
    Array.from({ length: 100 }, (_, at) => uuid(1030 + at)),
  );
});
