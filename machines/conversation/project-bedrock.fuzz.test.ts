import fc from "fast-check";
import { expect, test } from "vitest";
import type { AssistantPart, Entry, Issuer } from "./entries.ts";
import { projectBedrock } from "./project-bedrock.ts";
import { converseProblems } from "./testing/bedrock-rules.ts";
import { assistant, call, calling, reasoning, request, result, summary, text, user } from "./testing/build.ts";

const words = fc.oneof(
  fc.constantFrom("", " ", "\n", "\u001d", "\ud800", "yes", "naïve 妊娠 👩‍⚕️"),
  fc.string({ unit: "binary", maxLength: 12 }),
);
const id = fc.constantFrom("c1", "c2", "fc.7:ü", `call_${"a".repeat(90)}`);
const name = fc.constantFrom("find", "clinic.find", "näme", "", "x".repeat(80));
const signature = fc.option(fc.constantFrom("s1", "s2", ""), { nil: undefined });
const issuer = fc.constantFrom<Issuer>("gemini-api", "bedrock-claude", "bedrock-claude");

const part: fc.Arbitrary<AssistantPart> = fc.oneof(
  fc.tuple(words, signature).map(([said, signed]) => text(said, signed)),
  fc.tuple(words, signature).map(([said, signed]) => reasoning(said, signed)),
  fc.constantFrom("AAH/", "", "%").map((redacted): AssistantPart => ({ kind: "reasoning", text: "", redacted })),
  fc
    .tuple(
      id,
      name,
      fc.oneof(
        fc.json().map((json) => JSON.parse(json) as unknown),
        fc.constant({ "\udc00": "\ud800" }),
      ),
    )
    .chain(([callId, tool, args]) =>
      fc
        .option(fc.constantFrom("tooluse_1", "tooluse_2", "odd id"), { nil: undefined })
        .map((given) => calling(call(callId, tool, args, given === undefined ? {} : { providerId: given }))),
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
const find = { name: "find", description: "Finds.", inputSchema: { type: "object" } };
const requested = fc
  .record({ entries: history, tools: fc.constantFrom([], [find]), thinking: fc.boolean(), system: words })
  .map(({ entries, tools, ...more }) => request(entries, tools, { maxOutputTokens: 4_000, ...more }));

test("[B-03] any history becomes a request that Converse takes, the same each time, and is not touched", () => {
  fc.assert(
    fc.property(requested, (asked) => {
      const before = JSON.stringify(asked);
      const made = projectBedrock(asked, "bedrock-claude");
      expect(converseProblems(made)).toEqual([]);
      expect(JSON.stringify(projectBedrock(asked, "bedrock-claude"))).toBe(JSON.stringify(made));
      expect(JSON.stringify(asked)).toBe(before);
    }),
    { numRuns: 1_500 },
  );
});

test("[B-08] each piece of this issuer's reasoning is either sent, in order, or told as dropped; no other is sent", () => {
  fc.assert(
    fc.property(requested, (asked) => {
      const own = asked.entries.flatMap((each) =>
        each.kind === "assistant" && each.issuer === "bedrock-claude"
          ? each.parts.filter((piece) => piece.kind === "reasoning")
          : [],
      );
      const { messages, warnings } = projectBedrock(asked, "bedrock-claude");
      const sent = messages.flatMap(({ content = [] }) =>
        content.flatMap(({ reasoningContent }) => reasoningContent ?? []),
      );
      const dropped = warnings.filter(({ kind }) => kind === "reasoning_dropped");
      expect(sent.length + dropped.length).toBe(own.length);
      const genuine = own.map((each) => (each.redacted !== undefined ? "redacted" : `${each.text} ${each.signature}`));
      let from = 0;
      for (const { reasoningText } of sent) {
        const wanted = reasoningText === undefined ? "redacted" : `${reasoningText.text} ${reasoningText.signature}`;
        const at = genuine.indexOf(wanted, from);
        expect(at).toBeGreaterThanOrEqual(from);
        from = at + 1;
      }
    }),
    { numRuns: 700 },
  );
});
