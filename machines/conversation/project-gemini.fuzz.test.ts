import fc from "fast-check";
import { expect, test } from "vitest";
import type { AssistantPart, Entry, Issuer } from "./entries.ts";
import { projectGemini, SKIP_SIGNATURE } from "./project-gemini.ts";
import { assistant, call, calling, reasoning, request, result, summary, text, user } from "./testing/build.ts";
import { contentProblems } from "./testing/gemini-rules.ts";

const words = fc.oneof(
  fc.constantFrom("", " ", "\n", "\ud800", "yes", "naïve 妊娠 👩‍⚕️"),
  fc.string({ unit: "binary", maxLength: 12 }),
);
const id = fc.constantFrom("c1", "c2", "c3", "c4");
const name = fc.constantFrom("find", "clinic.find", "näme", "", "x".repeat(80));
const signature = fc.option(fc.constantFrom("s1", "s2", "s3"), { nil: undefined });
const issuer = fc.constantFrom<Issuer>("gemini-api", "vertex", "bedrock-claude", "scripted");

const part: fc.Arbitrary<AssistantPart> = fc.oneof(
  fc.tuple(words, signature).map(([said, signed]) => text(said, signed)),
  fc.tuple(words, signature).map(([said, signed]) => reasoning(said, signed)),
  fc.constant<AssistantPart>({ kind: "reasoning", text: "", redacted: "r" }),
  fc
    .tuple(
      id,
      name,
      fc.oneof(
        fc.json().map((json) => JSON.parse(json) as unknown),
        fc.constant({ "\udc00": "\ud800" }),
      ),
      signature,
      fc.option(fc.constant("fc-1"), { nil: undefined }),
    )
    .map(([callId, tool, args, signed, providerId]) =>
      calling(call(callId, tool, args, providerId === undefined ? {} : { providerId }), signed),
    ),
);
const entry: fc.Arbitrary<Entry> = fc.oneof(
  words.map((said) => user(said)),
  fc.tuple(fc.array(part, { maxLength: 5 }), issuer).map(([parts, by]) => assistant(parts, by)),
  fc
    .tuple(id, name, words, fc.constantFrom("ok" as const, "error" as const, "cancelled" as const, "unknown" as const))
    .map(([callId, tool, said, outcome]) => result(callId, tool, said, outcome)),
  words.map(summary),
);
const history = fc.array(entry, { maxLength: 14 });

test("[A-12] any history becomes contents that Gemini takes, the same each time, and is not touched", () => {
  fc.assert(
    fc.property(history, (entries) => {
      const before = JSON.stringify(entries);
      const { contents } = projectGemini(request(entries), "gemini-api");
      expect(contentProblems(contents)).toEqual([]);
      expect(projectGemini(request(entries), "gemini-api").contents).toEqual(contents);
      expect(JSON.stringify(entries)).toBe(before);
    }),
    { numRuns: 1_000 },
  );
});

test("[A-05] only what this issuer signed is signed, on a part of the same kind; the placeholder stands on calls only", () => {
  fc.assert(
    fc.property(history, (entries) => {
      const own = entries.flatMap((each) =>
        each.kind === "assistant" && each.issuer === "gemini-api" ? each.parts : [],
      );
      const sent = projectGemini(request(entries), "gemini-api").contents.flatMap(({ parts = [] }) => parts);
      for (const { thoughtSignature: signed, functionCall, thought } of sent) {
        if (signed === undefined) continue;
        const kind = functionCall !== undefined ? "tool_call" : thought === true ? "reasoning" : "text";
        const genuine = own.some((each) => each.kind === kind && each.signature === signed);
        expect(genuine || (signed === SKIP_SIGNATURE && kind === "tool_call")).toBe(true);
      }
      const ownSignatures = own.filter(
        (each) => each.signature !== undefined && !(each.kind === "reasoning" && each.redacted !== undefined),
      );
      const sentSignatures = sent.filter(
        (each) => each.thoughtSignature !== undefined && each.thoughtSignature !== SKIP_SIGNATURE,
      );
      expect(sentSignatures.map((each) => each.thoughtSignature)).toEqual(ownSignatures.map((each) => each.signature));
    }),
    { numRuns: 500 },
  );
});
