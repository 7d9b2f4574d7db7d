import { expect, test } from "vitest";
import { endingText, receiptProblem } from "./words.ts";

const receipt = { id: "0a000000-0000-4000-8000-000000000000", interaction_id: "0b000000-0000-4000-8000-000000000000" };

test("an answer that was given before is no problem, unless there is something to say of what came of it", () => {
  const again = { ...receipt, result: "duplicate", open: null } as const;
  expect(receiptProblem(again)).toBe(undefined);
  expect(receiptProblem({ ...again, message: "Its plan may not have been stored." })).toBe(
    "Its plan may not have been stored.",
  );
});

test("a turn whose login ended, read again later, tells nobody to send an answer once more", () => {
  expect(endingText({ kind: "failed", code: "auth_required" })).toBe(
    "Your login has ended. Log in again, then write again; an answer that you gave was kept.",
  );
});
