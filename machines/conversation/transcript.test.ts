import { describe, expect, test } from "vitest";
import type { Entry, PlacedEntry, UserEntry } from "./entries.ts";
import { requiredIdentifiers } from "./identifiers.ts";
import { assistant, call, calling, reasoning, summary, text, user } from "./testing/build.ts";
import { placed, turn, words } from "./testing/turns.ts";
import { textTokens } from "./tokens.ts";
import { transcript } from "./transcript.ts";

const whole = (entries: readonly Entry[]) =>
  transcript(entries, 100_000)
    .pieces.map((piece) => piece.text)
    .join("\n");

describe("transcript for the summariser", () => {
  test("C-02 B-04 repaired and plain: a lost result is told, signatures, thought and bytes are not there", () => {
    const file = { blobId: "00000000-0000-4000-8000-000000000001" as never, mime: "image/png", bytes: 900 };
    const history: readonly Entry[] = [
      summary("Before that."),
      { ...user("Look at this."), attachments: [file] } satisfies UserEntry,
      assistant([calling(call("a", "patient_search", { query: "R." }), "sig-1")], "gemini-api"),
      user("Are you there?"),
      assistant([reasoning("hm", "sig-2"), text("Yes.")], "bedrock-claude"),
    ];
    expect(whole(history)).toBe(
      [
        "User: Look at this.",
        "User: [Attachment: image/png, 900 bytes]",
        'Assistant called patient_search with {"query":"R."}',
        "Result of patient_search (error): no result recorded",
        "User: Are you there?",
        "Assistant: Yes.",
      ].join("\n\n"),
    );
  });

  test("C-04 a history larger than a request becomes pieces that fit; what is shortened is named, the rest is all there", () => {
    const room = 3_000;
    const history = [
      ...Array.from({ length: 20 }, (_, at) =>
        turn(at + 1, { says: `question ${at} ${words(900, at)}`, steps: [[words(500, at)]], answer: words(500, at) }),
      ).flat(),
      ...turn(30, { says: "all of it", steps: [[words(60_000)]], answer: "Done." }),
      ...turn(31, { says: `one long text ${words(9_000)} with an end` }),
    ];
    const { pieces, clipped } = transcript(history, room);
    expect(pieces.length).toBeGreaterThan(14);
    for (const piece of pieces) expect(textTokens(piece.text)).toBeLessThanOrEqual(room);
    expect(clipped).toEqual(["c30-0-0"]);
    const told = pieces.map((piece) => piece.text).join("\n\n");
    for (let at = 0; at < 20; at++) expect(told).toContain(`question ${at} ${words(900, at)}`);
    expect([told.includes("with an end"), told.includes("characters were left out")]).toEqual([true, true]);
  });
});

describe("identifiers that a summary has to name", () => {
  const of = (entries: readonly Entry[]): readonly string[] => requiredIdentifiers(placed(entries) as PlacedEntry[]);

  test("[ID1] those that user, screen, answer or calls took up in the last four turns; never a result's list", () => {
    const screen = { patient: { id: "pat-007" }, plan: { id: "plan-0b6f1d9c-1111-4222-8333-444455556666" } };
    const [asked, ...rest] = turn(5, {
      says: "And var-120?",
      steps: [["var-900 var-901"]],
      answer: "pat-007 takes var-121.",
    });
    const found = of([
      ...turn(1, { says: "old: pat-001" }),
      ...[2, 3, 4].flatMap((n) => turn(n, { says: "covid-19, b-12", answer: "prd-55" })),
      { ...(asked as UserEntry), context: screen },
      ...rest,
    ]);
    expect(found).toEqual(["var-121", "pat-007", "plan-0b6f1d9c-1111-4222-8333-444455556666", "var-120", "prd-55"]);
  });

  test("[ID2] twelve at most, the newest", () => {
    const many = Array.from({ length: 30 }, (_, at) => `var-${at + 100}`);
    expect(of(turn(1, { says: many.join(" ") }))).toEqual(many.slice(-12).reverse());
  });
});
