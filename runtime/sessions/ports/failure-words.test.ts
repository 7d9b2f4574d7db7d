import { expect, test } from "vitest";
import { turnFailureCode } from "../../../machines/protocol/signals.ts";
import { failureWords } from "./failure-words.ts";

test("what failed before anything was answered can be sent again", () => {
  expect(failureWords("auth_required", undefined)).toBe("Your login ended. Log in again and resend the message.");
  expect(failureWords("session_unavailable", undefined)).toBe("This conversation can't be read right now.");
  expect(failureWords("interrupted", undefined)).toBe("The turn was interrupted by a fault. Please try again.");
});

test("an answer can't be given again, and nobody is told to: what became of it, and what helps", () => {
  expect(failureWords("unavailable", "not_stored")).toBe(
    "The service could not store this turn for a while. Your answer was kept, but the plan was not stored. Write a message to have it proposed again.",
  );
  expect(failureWords("recovery_exhausted", "unknown")).toBe(
    "This turn was interrupted several times and was given up. Your answer was kept, and the plan may have been stored. Look at the patient's plans before you go on.",
  );
  expect(failureWords("auth_required", "stored")).toBe(
    "Your login ended. Your answer was kept, and the plan is stored. Log in again and write a message to go on.",
  );
  expect(failureWords("model_unavailable", "answered")).toBe(
    "The model can't be reached right now. Your answer was kept. Write a message to go on.",
  );
  for (const code of turnFailureCode.options)
    for (const answered of ["answered", "stored", "not_stored", "unknown"] as const)
      expect(failureWords(code, answered)).not.toMatch(/resend|send the message|try again/i);
});
