import { expect, test } from "vitest";
import type { Signal } from "../../machines/protocol/signals.ts";
import { applySignal } from "../reducer.ts";
import { interactions, plan, question, supplements } from "../testing/samples.ts";
import { numbered, plain, TURN, uuid } from "../testing/signals.ts";
import { emptyView, type View } from "../view.ts";
import { printer } from "./printer.ts";
import { style } from "./style.ts";

function scene(paints = false) {
  let out = "";
  let err = "";
  const talk = printer({ out: (text) => (out += text), err: (text) => (err += text), style: style(paints) });
  let view: View = emptyView;
  return {
    talk,
    plays(...signals: readonly Signal[]): void {
      for (const signal of signals) {
        view = applySignal(view, signal);
        talk.show(view);
      }
    },
    printed: () => ({ out, err }),
  };
}

let seq = 0;
const next = () => ++seq;
const inTurn = { turn_id: TURN };
const started = () =>
  numbered("turn_started", next(), { turn_id: TURN, n: 1, cause: "message", input: { text: "hi" } }, inTurn);
const block = (n: number, type: string, attempt = 1) =>
  numbered("block_started", next(), { block_id: uuid(n), idx: n, type, attempt }, inTurn);
const delta = (n: number, offset: number, text: string) =>
  numbered("llm_delta", next(), { block_id: uuid(n), offset, text }, inTurn);
const finished = (n: number, type: string, content: Record<string, unknown>, attempt = 1) =>
  numbered("block_finished", next(), { block_id: uuid(n), idx: n, type, content, attempt }, inTurn);

test("text streams to out, tools and skills are lines beside it, a card follows when it is whole", () => {
  const { plays, printed } = scene();
  plays(
    started(),
    numbered("skill_loaded", next(), { name: "interaction-depletion-check", eager: false }, inTurn),
    numbered(
      "tool_call_started",
      next(),
      { call_id: "c1", name: "interaction_check", title: "Check interactions" },
      inTurn,
    ),
    numbered(
      "tool_call_finished",
      next(),
      { call_id: "c1", name: "interaction_check", outcome: "ok", ms: 1240 },
      inTurn,
    ),
    block(1, "text"),
    delta(1, 0, "Avoid "),
    delta(1, 6, "it."),
    finished(1, "text", { text: "Avoid it." }),
    block(2, "interaction_check_results"),
    numbered("interaction_check_results", next(), { block_id: uuid(2), ...interactions }, inTurn),
    finished(2, "interaction_check_results", interactions),
    block(3, "mood"),
    finished(3, "mood", { any: 1 }),
  );
  expect(printed()).toEqual({
    out: [
      "Avoid it.",
      "",
      "Interactions",
      "  - MAJOR: warfarin + ginkgo",
      "    mechanism: Antiplatelet effect adds to anticoagulation.",
      "    advice: Avoid the combination; if already taken, check INR and watch for bleeding.",
      "    source: Herb-drug interactions of Ginkgo biloba https://example.org/ginkgo",
      "  - MODERATE: levothyroxine + magnesium",
      "    mechanism: Binding in the gut lowers absorption.",
      "    advice: Take at least four hours apart.",
      "",
      "[Mood]",
      "",
    ].join("\n"),
    err: "  · skill interaction-depletion-check\n  … Check interactions\n  ✓ Check interactions (1.2 s)\n",
  });
});

test("a product card says strength, dosing, reason, price and stock", () => {
  const { plays, printed } = scene();
  plays(started(), finished(1, "recommend_supplements", supplements));
  expect(printed().out).toBe(
    [
      "",
      "Recommended supplements",
      "  - Alderquill Nutritionals Magnesium Glycinate 200 mg (200 mg elemental)",
      "    dosing: 1 capsule with the evening meal",
      "    why: Well tolerated form; low serum magnesium under a loop diuretic.",
      "    price: $24.00, in stock",
      "  - Fennbridge Labs Magnesium Citrate Powder (150 mg elemental)",
      "    dosing: 1 scoop in water, daily",
      "    why: Alternative for patients who dislike large tablets.",
      "    price: out of stock",
      "",
    ].join("\n"),
  );
});

test("an answer that starts again after a failover says so, and is never joined to the first attempt", () => {
  const { plays, printed } = scene();
  plays(
    started(),
    block(1, "text"),
    delta(1, 0, "Take 3"),
    numbered("block_reset", next(), { block_id: uuid(1), attempt: 1, reason: "failover" }, inTurn),
    block(1, "text", 2),
    delta(1, 0, "Take 2"),
    numbered("turn_failed", next(), {
      turn_id: TURN,
      code: "interrupted",
      message: "The server stopped.",
      retryable: true,
    }),
  );
  expect(printed()).toEqual({
    out: "Take 3\nTake 2\n",
    err: "  (the answer starts again)\nfailed: The server stopped.\n",
  });
});

test("a resync in the middle prints only what is missing", () => {
  const { plays, printed } = scene();
  plays(started(), block(1, "text"), delta(1, 0, "Take 2 "));
  const held = { block_id: uuid(1), idx: 1, type: "text", content: { text: "Take 2 capsules" }, attempt: 1 };
  const turns = [{ turn_id: TURN, n: 1, cause: "message" as const, input: { text: "hi" }, blocks: [held] }];
  const state = { status: "turning" as const, pending_interaction: null, queue: [] };
  plays(plain("resync", { from_turn: 1, turns, state, seq: next() }), delta(1, 15, " daily."));
  expect(printed()).toEqual({ out: "Take 2 capsules daily.", err: "" });
});

test("text of the model can't steer the terminal", () => {
  const { plays, printed } = scene();
  plays(started(), block(1, "text"), delta(1, 0, "a\u001b[2Jb\u0007\n\tc\u009b0m"));
  expect(printed().out).toBe("a[2Jb\n\tc0m");
});

test("a stored draft and a question are cards; a question that was printed as a card is not printed again", () => {
  const { talk, plays, printed } = scene();
  const { prompt, kind, options = [] } = question;
  const asked = { interaction_id: uuid(9), revision: 1, kind, prompt, options };
  plays(started(), finished(1, "treatment_plan", plan), finished(2, "interaction_request", asked));
  const pending = { id: uuid(9), revision: 1, kind, prompt, options: [...options], schema: {} };
  talk.ask(pending, ["answer it with:"]);
  talk.ask({ ...pending, revision: 2, prompt: "Which one then?" }, []);
  const listed = ["  1. Glycinate: gentle on the gut", "  2. Citrate", ""];
  expect(printed()).toEqual({
    out: [
      "",
      "Draft plan created: Magnesium for sleep for Gideon Saltmarsh",
      "  - Alderquill Nutritionals Magnesium Glycinate 200 mg",
      "    dosing: 1 capsule with the evening meal",
      "",
      "Which form does the patient prefer?",
      ...listed,
      "Which one then?",
      ...listed,
    ].join("\n"),
    err: "answer it with:\n",
  });
});

test("on a terminal a card's title is painted, and only by us", () => {
  const { plays, printed } = scene(true);
  plays(started(), finished(1, "recommend_lifestyle", { recommendations: [{ title: "a\u001b[2J", detail: "b" }] }));
  expect(printed().out).toBe("\n\u001b[1mLifestyle\u001b[0m\n  - a[2J\n    b\n");
});
