import { describe, expect, test } from "vitest";
import { eventReader } from "./gemini-transport.ts";

/** All events of `raw`, fed in two pieces cut at `at`, or byte by byte. */
function readCut(raw: Uint8Array, ...cuts: readonly number[]): unknown[] {
  const reader = eventReader();
  const read: string[] = [];
  let from = 0;
  for (const at of [...cuts, raw.length]) {
    read.push(...reader.feed(raw.subarray(from, at)));
    from = at;
  }
  return [...read, ...reader.end()].map((event) => JSON.parse(event));
}

const long = {
  candidates: [{ content: { parts: [{ text: "x".repeat(10_000), thoughtSignature: "s".repeat(60_000) }] } }],
};
const first = { text: "naïve 妊娠 👩‍⚕️ ½" };
const last = { done: true };

describe("event stream", () => {
  test.each([
    ["LF", "\n"],
    ["CRLF", "\r\n"],
    ["CR", "\r"],
  ])(
    "[A-15] %s: the same events for every cut, comments, names and ids between, no blank line at the end",
    (_, eol) => {
      const lines = [
        ": keep-alive",
        "",
        `data: ${JSON.stringify(first)}`,
        "",
        ": keep-alive",
        "event: message",
        "id: 7",
        "retry: 10",
        `data:${JSON.stringify(long)}`,
        "",
        "",
        "data: [DONE]",
        "",
        `data: ${JSON.stringify(last)}`,
      ];
      const raw = Buffer.from(lines.join(eol));
      const whole = [first, long, last];
      expect(readCut(raw)).toEqual(whole);
      for (let at = 1; at < raw.length; at += 97) expect(readCut(raw, at)).toEqual(whole);
      for (let at = 1; at < 150; at++) expect(readCut(raw, at)).toEqual(whole);
      for (let at = raw.length - 60; at < raw.length; at++) expect(readCut(raw, at)).toEqual(whole);
      expect(readCut(raw, ...Array.from({ length: Math.floor(raw.length / 97) }, (__, n) => (n + 1) * 97))).toEqual(
        whole,
      );
    },
  );

  test("[A-15] data over several lines is one event", () => {
    expect(readCut(Buffer.from('data: {"a":\ndata: [1,\ndata: 2]}\n\n'))).toEqual([{ a: [1, 2] }]);
  });

  test("[E-08] text that arrives byte by byte is whole", () => {
    const raw = Buffer.from(`data: ${JSON.stringify(first)}\n\n`);
    const cuts = Array.from({ length: raw.length - 1 }, (_, n) => n + 1);
    expect(readCut(raw, ...cuts)).toEqual([first]);
  });

  test("[A-15] an event that was cut off is no event", () => {
    expect(() => readCut(Buffer.from('data: {"text":"ha'))).toThrow(
      expect.objectContaining({ code: "truncated_stream" }),
    );
    expect(() => readCut(Buffer.from('data: {"text":"ha\n\ndata: {}\n\n'))).toThrow(
      expect.objectContaining({ code: "stream_error" }),
    );
  });
});
