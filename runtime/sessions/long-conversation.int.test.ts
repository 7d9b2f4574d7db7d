import { afterAll, beforeAll, expect, test } from "vitest";
import { summaryCap } from "../../machines/compaction/summary.rules.ts";
import { words } from "../../machines/conversation/testing/turns.ts";
import { entryTokens } from "../../machines/conversation/tokens.ts";
import { compacting } from "./testing/compacting-scene.ts";
import { database } from "./testing/scene.ts";
import { type Answer, strictModel } from "./testing/strict-model.ts";

/** 300 for the whole show (`LONG_TURNS=300`); fewer say the same sooner. */
const TURNS = Number(process.env["LONG_TURNS"] ?? 60);
const WINDOW = 32_000;

let db: Awaited<ReturnType<typeof database>>;
beforeAll(async () => {
  db = await database();
});
afterAll(() => db.end());

test(`[Show 2] ${TURNS} turns of two calls each in a window of 32k: never over it, all answered, one summary per four turns at most`, {
  timeout: 600_000,
}, async () => {
  const model = strictModel(WINDOW, (request, count): Answer => {
    const said = request.entries.findLast((entry) => entry.kind === "user");
    if (said?.kind !== "user") return "Nothing was asked.";
    const made = request.entries.filter((entry) => entry.kind === "assistant" && entry.turnId === said.turnId).length;
    if (made < 2) return [{ tool: "lookup", args: { made, count } }];
    return `For pat-001: ${count} mg. ${words(150, count)}`;
  });
  let results = 0;
  const scene = await compacting(db.store, {
    model,
    ahead: true,
    tools: [
      {
        name: "lookup",
        run: async () => {
          results += 1;
          return { kind: "ok", text: `result ${results}: ${words(450, results)}` };
        },
      },
    ],
    summary: async ({ text }) => {
      const names = /exactly as it is written here: (.*)\.$/m.exec(text)?.[1] ?? "";
      return `So far ${text.length} characters about ${names}. ${words(700)}`;
    },
  });
  const bytes: number[] = [];
  const outcomes: string[] = [];
  for (let n = 1; n <= TURNS; n++) {
    outcomes.push(await scene.ask(`question ${n}: ${words(120, n)}`));
    bytes.push(await written());
  }
  expect(outcomes.filter((outcome) => outcome !== "completed")).toEqual([]);
  expect(scene.faults).toEqual([]);
  expect(Math.max(...model.sizes) + 1_000).toBeLessThanOrEqual(WINDOW);
  expect(scene.asked.length).toBeLessThanOrEqual(TURNS / 4);
  expect(scene.of("compaction.finished").length).toBeGreaterThan(TURNS / 20);

  const history = await db.store.histories.load(scene.id, 0);
  const summaries = history.flatMap(({ entry }) => (entry.kind === "summary" ? [entry] : []));
  for (const summary of summaries) expect(entryTokens(summary)).toBeLessThanOrEqual(summaryCap(WINDOW, WINDOW) + 4);
  // Each stands where the one before ended: nothing was left out between two.
  expect(summaries.map(({ from }) => from)).toEqual([0, ...summaries.slice(0, -1).map(({ to }) => to)]);

  expect(await scene.ask("why that dose, and not the one before?")).toBe("completed");
  const sent = model.requests.at(-1)?.entries ?? [];
  const doses = sent.flatMap((entry) =>
    entry.kind === "assistant" ? entry.parts.flatMap((part) => (part.kind === "text" ? [part.text] : [])) : [],
  );
  const stored = history.flatMap(({ entry }) =>
    entry.kind === "assistant" ? entry.parts.flatMap((part) => (part.kind === "text" ? [part.text] : [])) : [],
  );
  expect(doses.slice(-2)).toEqual(stored.slice(-2));

  const cost = (end: number) => median(bytes.slice(end - 5, end));
  expect(cost(TURNS) / cost(10)).toBeLessThan(1.2);
  await scene.end();

  /** Bytes that the newest turn left in the tables, its snapshot included. */
  async function written(): Promise<number> {
    const [row] = await db.sql<{ bytes: number }[]>`
        with t as (select turn_id from blocks where session_id = ${scene.id} order by n desc limit 1)
        select (select coalesce(sum(octet_length(body)), 0)::int from entries
                where session_id = ${scene.id} and turn_id = (select turn_id from t) and kind not like '%summary%')
             + (select octet_length(body) from blocks where session_id = ${scene.id} and turn_id = (select turn_id from t))
             + (select octet_length(snapshot) from sessions where id = ${scene.id}) as bytes`;
    return row?.bytes ?? 0;
  }
});

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
