import { expect, test } from "vitest";
import type { Resolution } from "../../../machines/protocol/commands.ts";
import type { Standing } from "../../interactions.ts";
import { uuid } from "../../testing/signals.ts";
import { type Ending, emptyView, type TurnView, type View } from "../../view.ts";
import { outcomeOf } from "./outcome.ts";

const id = uuid(9);
const asking = (kind: Ending["kind"] = "awaiting"): TurnView => ({
  turn_id: uuid(2),
  n: 1,
  cause: "message",
  input: { text: "?" },
  blocks: [
    {
      block_id: uuid(3),
      idx: 0,
      type: "interaction_request",
      content: { interaction_id: id, revision: 1 },
      attempt: 1,
      finished: true,
    },
  ],
  activity: [],
  skills: [],
  actions: [],
  ending: { kind },
});
const later: TurnView = { ...asking("completed"), turn_id: uuid(4), n: 2, blocks: [] };
const of = (...turns: TurnView[]): View => ({ ...emptyView, turns });
const END = Date.parse("2026-08-01T09:00:00Z");
const expiring = { interaction_id: id, expires_at: new Date(END).toISOString() };
const lasting = { interaction_id: id };
const closed: Standing = { kind: "closed" };
const by = (resolution?: Resolution, label?: string): Standing => ({
  kind: "closed",
  ended: { by: "user", ...(resolution && { resolution }), ...(label !== undefined && { label }) },
});

test("an answer, an acceptance and a dismissal are named, with the user's own words", () => {
  const ends = [
    by({ kind: "answered", selected: ["a"] }),
    by({ kind: "answered", selected: ["a"], text: "no tablets" }),
    by({ kind: "accepted" }),
    by({ kind: "accepted", edits: { title: "x" } }),
    by({ kind: "dismissed" }),
    by({ kind: "dismissed", reason: "labs first" }),
    by(undefined, "Glycinate"),
  ].map((stands) => outcomeOf(of(asking()), lasting, stands, 0));
  expect(ends.map(({ badge, words }) => [badge.tone, badge.words, words])).toEqual([
    ["good", "Answered", undefined],
    ["good", "Answered", "“no tablets”"],
    ["good", "Accepted", undefined],
    ["good", "Accepted with changes", undefined],
    ["", "Dismissed", undefined],
    ["", "Dismissed", "“labs first”"],
    ["good", "Answered", "Glycinate"],
  ]);
});

test("D-13 after a reload, what is stored tells a withdrawn question from an expired one", () => {
  const ends = [
    outcomeOf(of(asking(), later), lasting, closed, END),
    outcomeOf(of(asking(), later), expiring, closed, END - 1),
    outcomeOf(of(asking()), expiring, closed, END),
    // Nobody knows which came first.
    outcomeOf(of(asking(), later), expiring, closed, END),
  ];
  expect(ends).toEqual([
    { badge: { tone: "", words: "Withdrawn" }, words: "Withdrawn: the conversation went on without an answer." },
    { badge: { tone: "", words: "Withdrawn" }, words: "Withdrawn: the conversation went on without an answer." },
    { badge: { tone: "", words: "Expired" }, words: "Expired without an answer." },
    { badge: { tone: "", words: "Closed" }, words: "Closed without an answer." },
  ]);
});

test("a question whose turn broke off was never asked", () => {
  const ends = (["failed", "cancelled"] as const).map((kind) => outcomeOf(of(asking(kind)), lasting, closed, END));
  const never = { badge: { tone: "", words: "Closed" }, words: "This was not asked in the end: the answer broke off." };
  expect(ends).toEqual([never, never]);
});

test("D-12 what the server said to a late answer is shown, however the card stands", () => {
  const told = "This is no longer open.";
  const open: Standing = { kind: "settling" };
  expect(outcomeOf(of(asking()), lasting, open, 0, told)).toEqual({
    badge: { tone: "", words: "Closed" },
    words: told,
  });
  expect(outcomeOf(of(asking()), lasting, by({ kind: "accepted" }), 0, told)).toEqual({
    badge: { tone: "good", words: "Accepted" },
    words: told,
    resolution: { kind: "accepted" },
  });
  expect(outcomeOf(of(asking()), lasting, { kind: "revised" }, 0)).toEqual({
    badge: { tone: "", words: "Replaced" },
    words: "A newer version of this proposal took its place.",
  });
});
