/** Workers in a process of their own: sub-agents are worked on there, and it leaves in order. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connect } from "../persistence/postgres.ts";
import { testDatabase } from "../persistence/testing/database.ts";
import { type Launched, processScene, type Server } from "./testing/process.ts";
import { hasRedis, TEST_REDIS_URL } from "./testing/redis.ts";

const QUESTION = "What does the evidence say about magnesium glycinate for sleep?";
const scene = processScene();
afterAll(() => scene.clean());

const backends: readonly { readonly name: string; readonly isThere: boolean; env(): Record<string, string> }[] = [
  { name: "PostgreSQL", isThere: true, env: () => ({}) },
  {
    name: "Redis",
    isThere: await hasRedis("runtime/worker.proc.test.ts"),
    env: () => ({ REDIS_URL: new URL("/7", TEST_REDIS_URL).href }),
  },
];

for (const { name, isThere, env } of backends) {
  describe.runIf(isThere)(`workers alone, queued in ${name}`, () => {
    let server: Server;
    let worker: Launched;

    beforeAll(async () => {
      server = await scene.start({ ...env(), EMBEDDED_WORKERS: "0" });
      worker = await scene.startWorker(env(), server.dataDir);
    });

    test("a question to the evidence is researched there: progress, a panel, one small result", async () => {
      const talk = await server.talk({ cookie: await server.login("dr-rivera") });
      talk.post(QUESTION);
      await talk.until("turn_completed");
      const kinds = talk.frames.map(({ kind }) => kind).filter((kind) => kind.startsWith("subagent_"));
      expect([kinds[0], kinds.includes("subagent_progress"), kinds.at(-1)]).toEqual([
        "subagent_started",
        true,
        "subagent_finished",
      ]);
      const { data } = await talk.until("citations");
      expect([data.bundle_id === undefined, data.sources.length > 0 && data.sources.length <= 8]).toEqual([
        false,
        true,
      ]);
      await talk.close();
    });

    test("G-02 SIGTERM ends the worker in order, then the node", async () => {
      expect(await worker.kill("SIGTERM")).toEqual({ code: 0, signal: null });
      expect(await server.kill("SIGTERM")).toEqual({ code: 0, signal: null });
      expect(server.stderr()).not.toMatch(/unhandled|internal/);
    });
  });
}

test("without a node in its folder a worker says what to do and exits with 1", async () => {
  const worker = scene.launchWorker({}, scene.dataDir());
  expect(await worker.exit).toEqual({ code: 1, signal: null });
  expect(worker.stderr()).toMatch(/no node runs in .*: start one first \(npm start\), or set DATABASE_URL/);
});

test("a worker that starts before its node waits and says so; told to stop it ends in order, and has made no table", async () => {
  const database = await testDatabase();
  try {
    const env = { DATABASE_URL: database.url, PLATFORM_URL: "http://127.0.0.1:9" };
    const worker = scene.launchWorker(env, scene.dataDir());
    await expect.poll(() => worker.stderr(), { timeout: 30_000 }).toContain("this worker waits for a node");
    expect(await worker.kill("SIGTERM")).toEqual({ code: 0, signal: null });
    expect(worker.stderr()).not.toContain("could not go on");
    const sql = connect(database.url, { max: 1 });
    try {
      expect((await sql`select from pg_tables where schemaname = 'public'`).length).toBe(0);
    } finally {
      await sql.end();
    }
  } finally {
    await scene.killAll();
    await database.drop();
  }
});
