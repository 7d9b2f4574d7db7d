import { expect, test } from "vitest";
import { decide } from "./brain.ts";
import type { UserPart } from "./conversation.ts";
import { kinds } from "./testing.ts";

const png: UserPart = { kind: "file", mime: "image/png", bytes: 3_277, sent: true };
const text = (words: string): UserPart => ({ kind: "text", text: words });
const CONTEXT = '<context><patient id="pat-001"/></context>';
const told = (...parts: UserPart[]) =>
  decide({ system: "", tools: ["interaction_check"], messages: [{ from: "user", parts }] });

test("a file alone is acknowledged by kind and size, and nothing is said of its content", () => {
  expect(told(text(CONTEXT), png).text).toBe(
    "I received a PNG image of 3.2 KB. I am a simulated model and can't look inside files, so I say nothing about the content. What would you like to know?",
  );
});

test("a file beside a question is named in front of the answer, after the tools have run", () => {
  const question = text("Does ginkgo interact with zorvane?");
  const first = told(text(CONTEXT), question, png);
  expect([first.text, first.calls.map(({ tool }) => tool)]).toEqual(["", ["interaction_check"]]);
  const output = JSON.stringify(kinds(["zorvane"])({ items: ["ginkgo", "zorvane"] }));
  const { text: answer } = decide({
    system: "",
    tools: ["interaction_check"],
    messages: [
      { from: "user", parts: [text(CONTEXT), question, png] },
      { from: "model", text: "", calls: first.calls },
      { from: "user", parts: [{ kind: "result", tool: "interaction_check", output, error: null }] },
    ],
  });
  expect(answer).toMatch(/^I received a PNG image of 3\.2 KB\. [^\n]+\n\n\S/);
});

test("a marker is a file that did not come, not a question; several are listed", () => {
  const { text: answer } = told(
    png,
    { ...png, mime: "application/pdf", bytes: 2_097_152 },
    text("[Attachment: image/gif, 900 bytes]"),
  );
  expect(answer).toBe(
    "I received a PNG image of 3.2 KB and a PDF document of 2.0 MB. I am a simulated model and can't look inside files, so I say nothing about the content. " +
      "I was told of a GIF image of 900 bytes, but did not get the content. What would you like to know?",
  );
});
