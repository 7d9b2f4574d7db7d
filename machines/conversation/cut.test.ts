import { describe, expect, test } from "vitest";
import { cutPoint, fitted, turnsOf } from "./cut.ts";
import { callsOf, type PlacedEntry, type SummaryEntry } from "./entries.ts";
import { Ledger } from "./ledger.ts";
import { projectBedrock } from "./project-bedrock.ts";
import { projectGemini } from "./project-gemini.ts";
import { sent, shortenedAt } from "./sent.ts";
import { shortText, shortValue } from "./shorten.ts";
import { converseProblems } from "./testing/bedrock-rules.ts";
import { request } from "./testing/build.ts";
import { contentProblems } from "./testing/gemini-rules.ts";
import { placed, turn, turnN, words } from "./testing/turns.ts";

const total = (entries: readonly PlacedEntry[]) => entries.reduce((sum, { tokens }) => sum + tokens, 0);
const FIXED = { system: 0, skills: 0, tools: 0 };

/** Twelve turns; the last two full ones hold four calls each, and a thirteenth runs. */
const history = placed([
  ...Array.from({ length: 10 }, (_, at) =>
    turn(at + 1, { says: words(40, at), steps: [[words(60, at)]], answer: words(50, at) }),
  ).flat(),
  ...[11, 12].flatMap((n) =>
    turn(n, {
      says: words(30, n),
      steps: [
        [words(50, n), words(50, n + 1)],
        [words(40, n), words(40, n)],
      ],
      answer: "Done.",
    }),
  ),
  ...turn(13, { says: "and iron?" }),
]);
const running = turnN(13);

describe("cut point", () => {
  test("C-01 for every threshold the tail begins with a user's message and holds the last two full turns", () => {
    const summary = (to: number): SummaryEntry => ({ kind: "summary", turnId: running, text: "So far.", from: 0, to });
    const all = total(history);
    for (let threshold = 1; threshold <= all; threshold++) {
      // What is compacted at this threshold, when it is passed while the turns come one by one.
      const at = history.findIndex((_, index) => total(history.slice(0, index + 1)) > threshold);
      const now = history.slice(0, Math.max(1, at));
      const runs = now.at(-1)?.entry.turnId ?? running;
      const to = cutPoint(now, runs);
      if (to === undefined) continue;
      const ledger = new Ledger(now, 0);
      ledger.add([summary(to)]);
      const tail = now.filter(({ pos }) => pos >= to);
      const kept = turnsOf(tail).filter(({ turnId }) => turnId !== runs);
      expect([tail[0]?.entry.kind, kept.length]).toEqual(["user", 2]);
      expect(ledger.entries.filter(({ kind }) => kind !== "summary")).toEqual(tail.map(({ entry }) => entry));
      const calls = tail.flatMap(({ entry }) => callsOf(entry).map((call) => call.callId));
      const results = tail.flatMap(({ entry }) => (entry.kind === "tool_result" ? [entry.callId] : []));
      const open = runs === tail.at(-1)?.entry.turnId ? calls.filter((id) => !results.includes(id)) : [];
      expect([...results, ...open].sort()).toEqual([...calls].sort());
      const asked = request(ledger.entries);
      expect(contentProblems(projectGemini(asked, "gemini-api").contents)).toEqual([]);
      expect(converseProblems(projectBedrock(asked, "bedrock-claude"))).toEqual([]);
    }
  });

  test("C-01 nothing is cut while there are two full turns or fewer; without a running turn the last counts as full", () => {
    const three = placed([1, 2, 3].flatMap((n) => turn(n, { says: "a", answer: "b" })));
    expect([cutPoint(three, turnN(3)), cutPoint(three, undefined), cutPoint([], undefined)]).toEqual([
      undefined,
      2,
      undefined,
    ]);
  });

  test("C-07 the request being answered and the two turns before stay word for word; the summary stands first, once", () => {
    const ledger = new Ledger(
      placed([
        ...Array.from({ length: 20 }, (_, at) => turn(at + 1, { says: `plan A, ${at}`, answer: "Finished." })).flat(),
        ...turn(21, { says: "How much magnesium?", steps: [["400 mg"]], answer: "400 mg at night." }),
        ...turn(22, { says: "Why 400 mg and not 200?" }),
      ]),
      0,
    );
    const to = cutPoint(ledger.history, turnN(22)) ?? 0;
    ledger.add([
      { kind: "summary", turnId: turnN(22), text: "Plan A is finished. Remaining work: none.", from: 0, to },
    ]);
    const { contents, systemInstruction } = projectGemini(request(ledger.entries), "gemini-api");
    expect(contents.map(({ role, parts }) => [role, ...(parts ?? []).map((part) => part.text ?? "call")])).toEqual([
      ["user", "[Summary of earlier conversation: Plan A is finished. Remaining work: none.]", "plan A, 19"],
      ["model", "Finished."],
      ["user", "How much magnesium?"],
      ["model", "call"],
      ["user", "call"],
      ["model", "400 mg at night."],
      ["user", "Why 400 mg and not 200?"],
    ]);
    expect(JSON.stringify(systemInstruction).match(/be brief/g)?.length).toBe(1);
  });
});

describe("cut to fit", () => {
  const cutTo = (target: number, of = history, who = running) => fitted(of, who, { target, limit: target });

  test("C-05 the oldest whole turns go first, as few as it takes", () => {
    const all = total(history);
    const first = total(history.filter(({ entry }) => entry.turnId === turnN(1)));
    expect([cutTo(all - 1), cutTo(all - first - 1)]).toEqual([
      { to: 4, turns: 1 },
      { to: 8, turns: 2 },
    ]);
  });

  test("C-14 then the oldest results of the running turn are shortened; its last step and the kept turns stay", () => {
    const long = placed([
      ...[1, 2, 3].flatMap((n) => turn(n, { says: words(50, n), answer: words(50, n) })),
      ...turn(4, { says: "go", steps: [[words(2_000, 1)], [words(2_000, 2)], [words(2_000, 3)]] }),
    ]);
    const one = cutTo(total(long) - 1_200, long, turnN(4));
    expect(one).toEqual({ to: 2, turns: 1, shortened: { from: 6, before: 9, characters: 4_000, args: false } });
    const all = cutTo(3_000, long, turnN(4));
    expect(all).toEqual({ to: 2, turns: 1, shortened: { from: 6, before: 11, characters: 1_000, args: false } });
    if (all?.shortened === undefined) throw new Error("nothing was shortened");
    const rule = all.shortened;
    const kept = long.filter(({ pos }) => pos >= all.to).map((entry) => shortenedAt(entry, [rule]));
    expect(total(kept)).toBeLessThanOrEqual(3_000);
    expect(kept.at(-1)).toEqual(long.at(-1));
    expect(contentProblems(projectGemini(request(kept.map(({ entry }) => entry)), "gemini-api").contents)).toEqual([]);
  });

  test("C-12 when nothing else is left the kept turns go and the last step is shortened too", () => {
    const huge = placed([
      ...[1, 2].flatMap((n) => turn(n, { says: words(500, n), answer: words(500, n) })),
      ...turn(3, { says: "go", steps: [[words(9_000), words(9_000)]] }),
    ]);
    expect(cutTo(300, huge, turnN(3))).toEqual({
      to: 4,
      turns: 2,
      shortened: { from: 4, before: 8, characters: 300, args: true },
    });
    expect(cutTo(1, placed(turn(1, { says: "hello" })), turnN(1))).toEqual(undefined);
  });

  test("C-13 shortened arguments keep keys, types and order, and no surrogate pair is split", () => {
    const content = `"quoted"\n😀${'\\"x"\n👩‍⚕️'.repeat(800)}`;
    const args = { path: "n.md", content, n: 3, deep: { list: ["short", content], yes: true, none: null } };
    const short = shortValue(args, 500) as typeof args;
    expect(JSON.parse(JSON.stringify(short))).toEqual(short);
    expect(Object.keys(short)).toEqual(Object.keys(args));
    expect([short.path, short.n, short.deep.list[0], short.deep.yes, short.deep.none]).toEqual([
      "n.md",
      3,
      "short",
      true,
      null,
    ]);
    for (const text of [short.content, short.deep.list[1] ?? ""]) {
      expect([
        text.length <= 500,
        text.isWellFormed(),
        /\[… \d+ of \d+ characters were left out …\]/.test(text),
      ]).toEqual([true, true, true]);
    }
    for (let max = 120; max < 260; max++) expect(shortText("😀".repeat(300), max).isWellFormed()).toBe(true);
  });

  test("C-13 a call with shortened arguments keeps name and id and loses the signature of what it was", () => {
    const [, call] = placed(turn(1, { says: "go", steps: [["ok"]] }));
    if (call?.entry.kind !== "assistant") throw new Error("no call");
    const made = { callId: callsOf(call.entry)[0]?.callId ?? ("" as never), name: "write", args: { text: words(900) } };
    const entry = { ...call.entry, parts: [{ kind: "tool_call" as const, call: made, signature: "sig" }] };
    const rule = { from: 0, before: 9, characters: 200, args: true };
    const { entry: short } = shortenedAt({ ...call, entry }, [rule]);
    expect(callsOf(short).map(({ callId, name, args }) => [callId, name, Object.keys(args as object)])).toEqual([
      [made.callId, "write", ["text"]],
    ]);
    expect(short.kind === "assistant" && short.parts.map((part) => Object.keys(part))).toEqual([["kind", "call"]]);
    expect(shortenedAt({ ...call, pos: 9, entry }, [rule]).entry).toBe(entry);
  });
});

describe("what is sent", () => {
  test("[SN1] a summary brings its shortenings along; the text of a skill is left whole", () => {
    const skill = {
      ...turn(2, { says: "x", steps: [[words(900)]] })[2],
      skill: "propose-plan",
    } as PlacedEntry["entry"];
    const entries = placed([...turn(2, { says: "go", steps: [[words(900)]] }), skill]);
    const summary: SummaryEntry = {
      kind: "summary",
      turnId: turnN(2),
      text: "",
      from: 0,
      to: 0,
      omitted: 3,
      shortened: [{ from: 0, before: 4, characters: 300, args: false }],
    };
    const told = sent([...entries, ...placed([summary], 4)]).map(({ entry }) =>
      entry.kind === "tool_result" ? entry.text.length <= 300 : entry.kind,
    );
    expect(told).toEqual(["user", "assistant", true, false, "summary"]);
  });

  test("[SN2] the ledger says the same whether it grew or was read again", () => {
    const grown = new Ledger([], 0);
    for (const { entry } of history) grown.add([entry]);
    const to = cutPoint(grown.history, running) ?? 0;
    grown.add([{ kind: "summary", turnId: running, text: words(100), from: 0, to }]);
    grown.add(turn(13, { says: "x", answer: "More." }).slice(1));
    const again = new Ledger(grown.history, grown.anchor);
    const limits = { window: 10_000, reserve: 100 };
    expect([again.entries, again.parts(FIXED), again.room(FIXED, limits, running)]).toEqual([
      grown.entries,
      grown.parts(FIXED),
      grown.room(FIXED, limits, running),
    ]);
    expect(again.parts(FIXED).tail).toBe(total(grown.history.filter(({ entry }) => entry.kind !== "summary")));
  });
});
