import fc from "fast-check";
import { expect, test } from "vitest";
import { bounded, excerpt } from "./bounds.ts";
import { safeText } from "./safe-text.ts";

test("[F-09] whatever the text and the limit: never longer, always valid Unicode, the marker's numbers are right", () => {
  const text = fc
    .array(fc.constantFrom("a", "\n", "½", "👩‍⚕️", "\u{1f600}"), { minLength: 0, maxLength: 2_000 })
    .map((all) => all.join(""));
  fc.assert(
    fc.property(text, fc.integer({ min: 200, max: 1_500 }), (input, max) => {
      const result = bounded(input, max);
      expect(result.isWellFormed()).toBe(true);
      expect(result.length).toBeLessThanOrEqual(Math.max(max, 0));
      if (input.length <= max) {
        expect(result).toBe(input);
        return;
      }
      const [marker, missing, total] = /\n\[… ([\d,]+) of ([\d,]+) characters.*…\]\n/.exec(result) ?? [];
      const number = (digits = "") => Number(digits.replaceAll(",", ""));
      expect(number(total)).toBe(input.length);
      expect(result.length - (marker?.length ?? 0) + number(missing)).toBe(input.length);
    }),
  );
});

test("an excerpt ends at a word, lone surrogates do not survive", () => {
  expect(excerpt("one two three", 9)).toBe("one two…");
  expect(excerpt("one", 9)).toBe("one");
  expect(bounded("a\ud83d")).toBe("a\u{fffd}");
});

test("[F-02] texts of other systems lose stacks, addresses, hosts and files, and keep what helps", () => {
  const text = [
    "TypeError: dose 1.5 mg/day of vitamin-b12.5 at 10:30 is wrong",
    "    at run (/srv/app/tools.js:12:3)",
    "see https://platform.example.com/a?cookie=1, db.internal, 10.0.0.7, api.example.com:8080 or /etc/app/secret.json",
  ].join("\n");
  expect(safeText(text, 500)).toBe(
    "TypeError: dose 1.5 mg/day of vitamin-b12.5 at 10:30 is wrong\nsee [address] [host], [host], [host] or [file]",
  );
});
