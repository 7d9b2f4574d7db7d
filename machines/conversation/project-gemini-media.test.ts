import fc from "fast-check";
import { expect, test } from "vitest";
import { blobId } from "../ids.ts";
import { MEDIA_TYPES } from "../protocol/uploads.ts";
import type { Entry } from "./entries.ts";
import type { Media } from "./media.ts";
import { projectGemini } from "./project-gemini.ts";
import { assistant, call, calling, request, result, summary, text, user } from "./testing/build.ts";
import { contentProblems } from "./testing/gemini-rules.ts";

const blob = (n: number) => blobId(`00000000-0000-4000-8000-00000000000${n}`);
const attachment = (n: number, mime = "image/png") => ({ blobId: blob(n), mime, bytes: 3 });
const media = (...files: (readonly [number, string, string])[]) =>
  new Map(
    files.map(([n, mime, bytes]): [ReturnType<typeof blob>, Media] => [blob(n), { mime, bytes: Buffer.from(bytes) }]),
  );
const projected = (entries: readonly Entry[], files = media()) =>
  projectGemini(request(entries, [], { media: files }), "gemini-api").contents;
const inline = (mimeType: string, bytes: string) => ({
  inlineData: { mimeType, data: Buffer.from(bytes).toString("base64") },
});

test("bytes stand where their marker stood, next to the words they came with", () => {
  const history = [
    user("look at these", {
      context: { patient: { id: "p" } },
      attachments: [attachment(1), attachment(2, "application/pdf")],
    }),
    assistant([text("I see.")]),
    user("", { attachments: [attachment(3, "text/plain")] }),
  ];
  expect(
    projected(history, media([1, "image/png", "png"], [2, "application/pdf", "pdf"], [3, "text/plain", "txt"])),
  ).toEqual([
    {
      role: "user",
      parts: [
        { text: '<context><patient id="p"/></context>' },
        { text: "look at these" },
        inline("image/png", "png"),
        inline("application/pdf", "pdf"),
      ],
    },
    { role: "model", parts: [{ text: "I see." }] },
    { role: "user", parts: [inline("text/plain", "txt")] },
  ]);
});

test("a file that was not fetched, or that Gemini does not take, is its marker's text", () => {
  const history = [user("look", { attachments: [attachment(1), attachment(2, "image/gif"), attachment(3)] })];
  expect(projected(history, media([2, "image/gif", "gif"], [3, "image/png", "png"]))[0]?.parts).toEqual([
    { text: "look" },
    { text: "[Attachment: image/png, 3 bytes]" },
    { text: "[Attachment: image/gif, 3 bytes]" },
    inline("image/png", "png"),
  ]);
});

test("[C-02] without media, as for a summary, there are markers only", () => {
  const history = [user("look", { attachments: [attachment(1)] }), assistant([text("Yes.")]), user("and?")];
  expect(JSON.stringify(projectGemini(request(history), "gemini-api").contents)).not.toContain("inlineData");
});

test("files of messages that become one content stay in their order, behind the results", () => {
  const history = [
    user("one", { attachments: [attachment(1)] }),
    user("two", { attachments: [attachment(2)] }),
    assistant([calling(call("a", "A"), "s")]),
    user("three", { attachments: [attachment(3)] }),
    result("a", "A", "done"),
  ];
  const [first, , last] = projected(
    history,
    media([1, "image/png", "1"], [2, "image/png", "2"], [3, "image/png", "3"]),
  );
  expect(first?.parts).toEqual([{ text: "one" }, inline("image/png", "1"), { text: "two" }, inline("image/png", "2")]);
  expect(last?.parts).toEqual([
    { functionResponse: { name: "A", response: { output: "done" } } },
    { text: "three" },
    inline("image/png", "3"),
  ]);
});

test("[A-12] any history with files becomes contents that Gemini takes; each file that was fetched is there once a marker", () => {
  const files = media([1, "image/png", "1"], [2, "application/pdf", "2"], [3, "image/gif", "3"]);
  const file = fc
    .tuple(fc.integer({ min: 1, max: 5 }), fc.constantFrom(...MEDIA_TYPES))
    .map(([n, mime]) => attachment(n, mime));
  const entry: fc.Arbitrary<Entry> = fc.oneof(
    fc
      .tuple(fc.constantFrom("", " ", "words", "\ud800"), fc.array(file, { maxLength: 3 }))
      .map(([said, attachments]) => user(said, { attachments })),
    fc.constantFrom("a", "b").map((id) => assistant([calling(call(id, "find"), "s")])),
    fc.constantFrom("a", "b").map((id) => result(id, "find", "found")),
    fc.constant(assistant([text("said")])),
    fc.constant(summary("earlier")),
  );
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 12 }), (entries) => {
      const contents = projected(entries, files);
      expect(contentProblems(contents)).toEqual([]);
      const wanted = entries.flatMap((each) => (each.kind === "user" ? (each.attachments ?? []) : []));
      const sent = contents.flatMap(({ parts = [] }) => parts.flatMap(({ inlineData }) => inlineData ?? []));
      // The type is the one that was fetched, whatever a marker claims.
      expect(sent.length).toBe(wanted.filter(({ blobId }) => blobId === blob(1) || blobId === blob(2)).length);
      const marks = contents.flatMap(({ parts = [] }) =>
        parts.filter((part) => part.text?.startsWith("[Attachment: ")),
      );
      expect(sent.length + marks.length).toBe(wanted.length);
    }),
    { numRuns: 500 },
  );
});
