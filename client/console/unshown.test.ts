import { expect, test } from "vitest";
import { uuid } from "../testing/signals.ts";
import { emptyView, type View } from "../view.ts";
import { unshown } from "./unshown.ts";

const card = { interaction_id: uuid(9), revision: 2, kind: "single_choice" as const, prompt: "Which?" };
const view = (content?: Record<string, unknown>): View => ({
  ...emptyView,
  status: "awaiting",
  pending: { id: uuid(9), revision: 2, kind: "single_choice", prompt: "Which?", schema: { type: "array" } },
  turns: [
    {
      turn_id: uuid(2),
      n: 1,
      cause: "message",
      input: { text: "?" },
      blocks: content
        ? [{ block_id: uuid(3), idx: 0, type: "interaction_request", content, attempt: 1, finished: true }]
        : [],
      activity: [],
      skills: [],
      actions: [],
      ending: { kind: "awaiting" },
    },
  ],
});

test("what waits is shown from the state of the session when no turn has its card in that revision", () => {
  expect(unshown(view())).toEqual(card);
  expect(unshown(view({ ...card, revision: 1 }))).toEqual(card);
  expect(unshown(view({ interaction_id: uuid(9), revision: 2 }))).toEqual(card);
});

test("a card that is there is not shown twice, and nothing when nothing waits", () => {
  expect(unshown(view(card))).toBeUndefined();
  expect(unshown({ ...view(), pending: null })).toBeUndefined();
});
