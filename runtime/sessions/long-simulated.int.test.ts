import { afterAll, beforeAll, expect, test } from "vitest";
import { type Simulator, startSimulator } from "../../evals/simulator/simulator.ts";
import { words } from "../../machines/conversation/testing/turns.ts";
import { callId } from "../../machines/ids.ts";
import { realChance } from "../effects.ts";
import { geminiModel } from "../models/gemini.ts";
import { compacting } from "./testing/compacting-scene.ts";
import { database } from "./testing/scene.ts";

/** 300 for the whole show (`LONG_TURNS=300`); fewer say the same sooner. */
const TURNS = Number(process.env["LONG_TURNS"] ?? 40);
const WINDOW = 32_000;

let db: Awaited<ReturnType<typeof database>>;
let simulator: Simulator;
beforeAll(async () => {
  [db, simulator] = await Promise.all([database(), startSimulator()]);
});
afterAll(async () => {
  await Promise.all([db.end(), simulator.close()]);
});

test(`[Show 2] ${TURNS} turns through the real SDK: the simulator never counts more than the window`, {
  timeout: 600_000,
}, async () => {
  const model = geminiModel({
    name: "gemini",
    issuer: "gemini-api",
    baseUrl: simulator.url,
    apiKey: "test",
    headers: {},
    model: "gemini-2.5-pro",
    window: WINDOW,
    stallMs: 10_000,
    newCallId: () => callId(realChance.uuid()),
  });
  let found = 0;
  const check = async (args: unknown) => {
    found += 1;
    const [a, b] = (args as { items: string[] }).items;
    const notRecorded = [{ a, b, note: words(900, found), remark: "No record here is not proof of safety." }];
    return { kind: "ok" as const, text: JSON.stringify({ findings: [], notRecorded, matched: [], unknown: [] }) };
  };
  const scene = await compacting(db.store, {
    model,
    ahead: true,
    tools: [{ name: "interaction_check", run: check }],
    settings: { maxOutputTokens: 2_000 },
  });
  const outcomes: string[] = [];
  for (let n = 1; n <= TURNS; n++) {
    outcomes.push(await scene.ask(`Does herb${n} interact with drug${n}?`));
  }
  const entries = (await db.store.histories.load(scene.id, 0)).map(({ entry }) => entry);
  const counted = entries.flatMap((entry) => (entry.kind === "assistant" ? [entry.measured?.input ?? 0] : []));
  expect([outcomes.filter((outcome) => outcome !== "completed"), scene.faults]).toEqual([[], []]);
  expect(found).toBeGreaterThanOrEqual(TURNS);
  expect(Math.max(...counted)).toBeLessThanOrEqual(WINDOW);
  expect(scene.of("compaction.finished").length).toBeGreaterThan(0);
  expect(scene.asked.length).toBeLessThanOrEqual(TURNS / 4);
  process.stdout.write(`${TURNS} turns, ${counted.length} calls, largest ${Math.max(...counted)} of ${WINDOW}\n`);
  await scene.end();
});
