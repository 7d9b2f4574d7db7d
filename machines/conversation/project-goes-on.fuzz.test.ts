import fc from "fast-check";
import { expect, test } from "vitest";
import { blobId } from "../ids.ts";
import type { AssistantPart, Entry, Issuer } from "./entries.ts";
import { projectBedrock } from "./project-bedrock.ts";
import { projectGemini } from "./project-gemini.ts";
import { assistant, call, calling, reasoning, request, result, summary, text, user } from "./testing/build.ts";

const id = fc.constantFrom("c1", "c2", "c3");
const words = fc.constantFrom("", "yes", "naïve 妊娠", "\ud800");
const issuer = fc.constantFrom<Issuer>("gemini-api", "bedrock-claude");
const file = { blobId: blobId("00000000-0000-4000-8000-00000000000b"), mime: "image/png", bytes: 8 };
const media = new Map([[file.blobId, { mime: "image/png", bytes: Uint8Array.of(1, 2, 3) }]]);

const part: fc.Arbitrary<AssistantPart> = fc.oneof(
  words.map((said) => text(said)),
  fc.constantFrom(reasoning("thought", "s1"), reasoning("unsigned"), {
    kind: "reasoning" as const,
    text: "",
    redacted: "AAEC",
  }),
  id.map((callId) => calling(call(callId, "find", { q: 1 }))),
);
const entry: fc.Arbitrary<Entry> = fc.oneof(
  words.map((said) => user(said)),
  words.map((said) => user(said, { attachments: [file] })),
  fc.tuple(fc.array(part, { maxLength: 4 }), issuer).map(([parts, by]) => assistant(parts, by)),
  { arbitrary: fc.tuple(id, words).map(([callId, said]) => result(callId, "find", said)), weight: 3 },
);

/** What happens to a session's history between two requests. */
type Change = (history: readonly Entry[]) => readonly Entry[];

const goesOn: fc.Arbitrary<Change> = fc.array(entry, { maxLength: 4 }).map(
  (more): Change =>
    (history) => [...history, ...more],
);
const anew: fc.Arbitrary<Change> = fc.oneof(
  // A summary replaces the first entries, or only stands before them.
  fc.tuple(fc.nat(6), words).map(
    ([gone, said]): Change =>
      (history) => [...history.slice(gone), summary(said)],
  ),
  // Something in the middle is shortened.
  fc.nat(6).map(
    (at): Change =>
      (history) =>
        history.map((each, place) => (place === at ? { ...each } : each)),
  ),
  fc.nat(6).map(
    (at): Change =>
      (history) =>
        history.length === 0 ? history : history.with(at % history.length, user("another")),
  ),
  // A history that ends earlier.
  fc.nat(3).map(
    (gone): Change =>
      (history) =>
        history.slice(0, history.length - gone),
  ),
);
const changes = fc.array(fc.oneof({ arbitrary: goesOn, weight: 4 }, anew), { minLength: 1, maxLength: 10 });

const ROUTES = [
  (entries: readonly Entry[]) => projectGemini(request(entries), "gemini-api"),
  (entries: readonly Entry[]) => projectGemini(request(entries, [], { media }), "gemini-api"),
  (entries: readonly Entry[]) => projectGemini(request(entries), "vertex"),
  (entries: readonly Entry[]) => projectBedrock(request(entries, [], { thinking: true }), "bedrock-claude"),
  (entries: readonly Entry[]) => projectBedrock(request(entries, [], { media }), "bedrock-claude"),
];

test("[A-12] [B-03] a history that goes on is sent as if it had never been sent before, and what was sent stays", () => {
  fc.assert(
    fc.property(changes, (all) => {
      let history: readonly Entry[] = [];
      const sent: { readonly projection: unknown; readonly json: string }[] = [];
      for (const change of all) {
        history = change(history);
        for (const project of ROUTES) {
          const projection = project(history);
          const json = JSON.stringify(projection);
          // Entries that nobody has seen: nothing is known of them.
          expect(json).toBe(JSON.stringify(project(structuredClone(history))));
          sent.push({ projection, json });
        }
      }
      for (const { projection, json } of sent) expect(JSON.stringify(projection)).toBe(json);
    }),
    { numRuns: 1_000 },
  );
});

test("[A-12] of a history that goes on, what was complete is sent as the very same objects", () => {
  const history = [
    user("hi"),
    assistant([calling(call("c1", "find"))]),
    result("c1", "find", "found"),
    assistant([text("here")]),
    user("and?"),
  ];
  const before = projectGemini(request(history.slice(0, 4)), "gemini-api").contents;
  const after = projectGemini(request(history), "gemini-api").contents;
  expect(before.length).toBe(5);
  expect(after.slice(0, 4).map((content, at) => content === before[at])).toEqual([true, true, true, true]);
});
