/** SIGTERM and Ctrl-C: what runs is finished or left in order, what was acknowledged is kept, nothing stays behind. */
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { type Simulator, startSimulator } from "../evals/simulator/simulator.ts";
import { connect } from "../persistence/postgres.ts";
import { testDatabase } from "../persistence/testing/database.ts";
import { type PlatformFront, platformFront } from "./testing/platform-front.ts";
import { databaseIn, processScene, type Server } from "./testing/process.ts";
import { textOf, turnsOf } from "./testing/stored.ts";
import { UpgradeRefused } from "./testing/talk.ts";

const QUESTION = "Does ginkgo interact with warfarin?";
const LEAD_MS = 1_000;
const scene = processScene();
let simulator: Simulator;
let front: PlatformFront;
let env: Record<string, string>;
let cookie: string;
let dataDir: string;

beforeAll(async () => {
  [simulator, front] = await Promise.all([startSimulator(), platformFront()]);
  env = { GEMINI_BASE_URL: simulator.url, PLATFORM_URL: front.url };
  cookie = await front.cookieOf("dr-rivera");
  dataDir = scene.dataDir();
});
afterEach(async () => {
  await scene.killAll();
  simulator.setKnobs({ tokenMs: 0, faults: [] });
  front.intercept = () => undefined;
});
afterAll(async () => {
  await scene.clean();
  await Promise.all([simulator?.close(), front?.close()]);
});

const status = async (server: Server, path: string): Promise<number> => (await server.get(path)).status;

/** Ends a server that has nothing to do; gives how it ended and how long that took. */
async function endIdle(signal: NodeJS.Signals) {
  const server = await scene.start({ ...env, DRAIN_LEAD_MS: String(LEAD_MS) }, dataDir);
  const began = performance.now();
  const exit = await server.kill(signal);
  const ms = performance.now() - began;
  return { exit, database: databaseIn(server.dataDir), inTime: ms > LEAD_MS - 50 && ms < LEAD_MS + 3_000 };
}

test("[I-01] SIGTERM during answers: they are finished, shown and stored; then 1012, exit 0, no database left", async () => {
  const server = await scene.start({ ...env, DRAIN_LEAD_MS: String(LEAD_MS) }, dataDir);
  const idle = await server.talk({ cookie });
  await idle.say(QUESTION);
  const streaming = await server.talk({ cookie });
  const waiting = await server.talk({ cookie });

  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  front.intercept = ({ tool }, pass) => (tool === "interaction_check" ? held.then(pass) : undefined);
  waiting.post(QUESTION);
  await waiting.until("tool_call_started", ({ data }) => data.name === "interaction_check");
  simulator.setKnobs({ tokenMs: 40 });
  streaming.post("What can you do?");
  await streaming.until("llm_delta");

  const asked = performance.now();
  const exit = server.kill("SIGTERM");
  await vi.waitFor(async () => expect(await status(server, "/readyz")).toBe(503), { timeout: 900, interval: 10 });
  // Not ready at once, and still serving for the lead time.
  expect(performance.now() - asked).toBeLessThan(LEAD_MS);
  expect(await status(server, "/healthz")).toBe(200);
  const late = await server.talk({ cookie });

  await idle.until("server_draining");
  const drainedAt = streaming.frames.length;
  const refused = await server.talk({ cookie }).catch((error: unknown) => error);
  expect(refused).toEqual(new UpgradeRefused(503));
  const told = late.post("One more thing");
  expect(await late.until("error", ({ data }) => data.id === told)).toMatchObject({ data: { code: "draining" } });

  release();
  const ends = await Promise.all([streaming, waiting].map((talk) => talk.until("turn_completed")));
  expect(streaming.frames.slice(drainedAt).some(({ kind }) => kind === "llm_delta")).toBe(true);
  const closes = await Promise.all([idle, streaming, waiting, late].map((talk) => talk.closed));
  expect(closes.map(({ code }) => code)).toEqual([1012, 1012, 1012, 1012]);
  expect([streaming, waiting].map((talk) => talk.frames.some(({ kind }) => kind === "server_draining"))).toEqual([
    true,
    true,
  ]);
  expect(await exit).toEqual({ code: 0, signal: null });
  expect(databaseIn(dataDir)).toBeUndefined();

  const shown = await Promise.all(
    [streaming, waiting].map((talk, at) => talk.ended(ends[at]?.data.turn_id ?? "").then(({ text }) => text)),
  );
  const next = await scene.start(env, dataDir);
  const stored = await Promise.all([streaming, waiting].map(({ session }) => turnsOf(next, cookie, session)));
  expect(stored.map((turns) => turns.map((turn) => [turn.outcome, textOf(turn)]))).toEqual(
    shown.map((text) => [["completed", text]]),
  );
  expect((await turnsOf(next, cookie, late.session)).length).toBe(0);
  // Nothing was left over to take up.
  expect(await next.kill("SIGTERM")).toEqual({ code: 0, signal: null });
});

test("[I-01] idle: SIGTERM ends it within the lead time and 3 s, exit 0, no database left", async () => {
  expect(await endIdle("SIGTERM")).toEqual({
    exit: { code: 0, signal: null },
    database: undefined,
    inTime: true,
  });
});

test("[I-01] idle: Ctrl-C does the same", async () => {
  expect(await endIdle("SIGINT")).toEqual({
    exit: { code: 0, signal: null },
    database: undefined,
    inTime: true,
  });
});

test("[I-01] a turn longer than the grace is parked: exit 0, and the next start finishes it by itself", async () => {
  const server = await scene.start({ ...env, DRAIN_GRACE_MS: "300" }, dataDir);
  simulator.setKnobs({ tokenMs: 20, faults: [{ kind: "hang", afterEvents: 1 }] });
  const talk = await server.talk({ cookie });
  talk.post("What can you do?");
  await talk.until("block_started");
  const began = performance.now();
  expect(await server.kill("SIGTERM")).toEqual({ code: 0, signal: null });
  expect(performance.now() - began).toBeLessThan(300 + 4_000);
  expect(await talk.closed).toMatchObject({ code: 1012 });
  expect(talk.frames.filter(({ kind }) => /^turn_(completed|failed|cancelled)$/.test(kind))).toEqual([]);
  expect(databaseIn(dataDir)).toBeUndefined();

  simulator.setKnobs({ tokenMs: 0, faults: [] });
  const next = await scene.start(env, dataDir);
  await vi.waitFor(
    async () => {
      const turns = await turnsOf(next, cookie, talk.session);
      expect(turns.map(({ n, outcome }) => [n, outcome])).toEqual([[1, "completed"]]);
    },
    { timeout: 20_000, interval: 100 },
  );
});

test("a second signal does not wait for the grace", async () => {
  const server = await scene.start({ ...env, DRAIN_GRACE_MS: "60000" }, dataDir);
  simulator.setKnobs({ tokenMs: 20, faults: [{ kind: "hang", afterEvents: 1 }] });
  const talk = await server.talk({ cookie });
  talk.post("What can you do?");
  await talk.until("block_started");
  const exit = server.kill("SIGINT");
  await talk.until("server_draining");
  // A signal within a second of the first is taken for the same one, so it is sent until it is heard.
  const again = setInterval(() => process.kill(server.pid, "SIGINT"), 200);
  void exit.finally(() => clearInterval(again));
  expect(await exit).toEqual({ code: 0, signal: null });
  expect(databaseIn(dataDir)).toBeUndefined();
});

test("a signal while it starts: what had begun to start is stopped too", async () => {
  const launched = scene.launch(env);
  await vi.waitFor(() => expect(databaseIn(launched.dataDir)).toBeDefined(), { timeout: 30_000, interval: 5 });
  expect(await launched.kill("SIGTERM")).toEqual({ code: 0, signal: null });
  expect(launched.stdout()).not.toContain("ready");
  expect(databaseIn(launched.dataDir)).toBeUndefined();
});

test("a node is heard until its workers and queues are closed and its audit rows are stored; then its row goes", async () => {
  const database = await testDatabase();
  const sql = connect(database.url, { max: 2 });
  const count = async (rows: Promise<readonly unknown[]>) => (await rows).length;
  try {
    const server = await scene.start({ ...env, DATABASE_URL: database.url });
    const talk = await server.talk({ cookie });
    // The driver reserves only a connection that is open already.
    await sql`select`;
    const holder = await sql.reserve();
    await holder`begin`;
    await holder`lock table model_calls`;
    await talk.say("What can you do?");
    const exit = server.kill("SIGTERM");
    // All connections of its queues are closed, and the rows of its calls wait for the table.
    const queues = () =>
      count(sql`select from pg_stat_activity where application_name like 'dormouse-jobs%'
      and datname = current_database()`);
    await expect.poll(queues, { timeout: 30_000, interval: 20 }).toBe(0);
    const writes = () => count(sql`select from pg_locks where relation = 'model_calls'::regclass and not granted`);
    await expect.poll(writes, { interval: 20 }).toBe(1);
    expect(await count(sql`select from nodes`)).toBe(1);
    await holder`rollback`;
    holder.release();
    expect(await exit).toEqual({ code: 0, signal: null });
    expect([await count(sql`select from nodes`), await count(sql`select from model_calls`)]).toEqual([0, 1]);
  } finally {
    await sql.end({ timeout: 1 });
    await scene.killAll();
    await database.drop();
  }
});
