/** What is said and who says it is found nowhere in clear: not in a row, not in a file, not in a log, whatever fails. */
import { randomBytes } from "node:crypto";
import { deflateRawSync } from "node:zlib";
import postgres from "postgres";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type Simulator, startSimulator } from "../evals/simulator/simulator.ts";
import { testDatabase } from "../persistence/testing/database.ts";
import { embeddedUrl } from "./testing/embedded-url.ts";
import { type PlatformFront, platformFront } from "./testing/platform-front.ts";
import { processScene, type Server } from "./testing/process.ts";
import { findInDatabase, findInFiles, type Words, wordsIn } from "./testing/remains.ts";
import { turnsOf } from "./testing/stored.ts";

/** A word that looks like a name, so that it becomes a tool's argument too. */
const marker = (): string => `Zq${randomBytes(12).toString("hex")}`;
const API_KEY = `api-${randomBytes(12).toString("hex")}`;
const scene = processScene();
let simulator: Simulator;
let front: PlatformFront;
let database: Awaited<ReturnType<typeof testDatabase>>;

beforeAll(async () => {
  [simulator, front, database] = await Promise.all([startSimulator(), platformFront(), testDatabase()]);
});
afterAll(async () => {
  await scene.clean();
  await Promise.all([simulator?.close(), front?.close()]);
  await database?.drop();
});

async function searched(server: Server, url: string, words: Words) {
  const rows = await findInDatabase(url, words);
  const files = findInFiles(server.dataDir, words);
  const log = Buffer.from(server.stdout() + server.stderr());
  return {
    found: [...rows.found, ...files.found, ...wordsIn(log, words).map((word) => `${word} in the log`)],
    looked: { rows: rows.rows > 0, files: files.files > 0, log: log.length > 0 },
  };
}
const rolledBack = async (sql: postgres.Sql): Promise<number> => {
  const [row] = await sql`select xact_rollback::int as count from pg_stat_database where datname = current_database()`;
  return row?.["count"];
};
const NOTHING = { found: [], looked: { rows: true, files: true, log: true } };

test("[Show 3] all in one folder: message, title, plan, cookie and keys, after model and database failures", async () => {
  const server = await scene.start({
    GEMINI_BASE_URL: simulator.url,
    GEMINI_API_KEY: API_KEY,
    OPERATOR_TOKEN: `operator-${API_KEY}`,
    LOG_LEVEL: "trace",
  });
  const url = embeddedUrl(server.dataDir);
  const cookie = await server.login("dr-rivera");
  const word = marker();
  const words: Words = { marker: word, cookie: cookie.split("=")[1] ?? "", "API key": API_KEY, patient: "Vantreight" };
  const talk = await server.talk({ cookie });
  await talk.say(`Does ${word} interact with warfarin?`);
  await talk.say(`Recommend a magnesium product for Marisol Vantreight, says ${word}`);
  expect((await talk.say("Add it to a draft plan for Marisol Vantreight")).tools).toContain("treatment_plan_create ok");
  const listed = await server.get("/v1/sessions", { cookie });
  expect(await listed.text()).toContain(word);
  expect(await searched(server, url, words)).toEqual(NOTHING);

  simulator.setKnobs({ faults: [{ kind: "status", status: 500 }] });
  expect(await talk.say(`Does ${word} interact with aspirin?`)).toMatchObject({ code: "model_unavailable" });
  simulator.setKnobs({ faults: [{ kind: "cut", afterEvents: 1, how: "error_event" }] });
  expect(await talk.say(`Does ${word} interact with metformin?`)).toMatchObject({ ending: "turn_failed" });
  simulator.setKnobs({ faults: [] });

  // The database refuses a statement: the turn can't be stored before it takes it again.
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  await sql`alter table blocks add constraint refused check (false) not valid`;
  const before = await rolledBack(sql);
  const refused = await server.talk({ cookie });
  refused.post(`Does ${word} interact with lisinopril?`);
  await vi.waitFor(async () => expect(await rolledBack(sql)).toBeGreaterThan(before), { timeout: 20_000 });
  await sql`alter table blocks drop constraint refused`;
  await sql.end();
  expect(await talk.say("What did I ask first?")).toMatchObject({ ending: "turn_completed" });
  await vi.waitFor(
    async () => {
      const turns = await turnsOf(server, cookie, refused.session);
      expect(turns.map(({ outcome }) => outcome !== undefined)).toEqual([true]);
    },
    { timeout: 30_000, interval: 200 },
  );
  expect(await searched(server, url, words)).toEqual(NOTHING);

  expect(await server.kill("SIGTERM")).toEqual({ code: 0, signal: null });
  expect(findInFiles(server.dataDir, words).found).toEqual([]);
});

test("[Show 3] parts of their own: tool arguments that fail, a platform that goes away, a login that ends", async () => {
  const key = randomBytes(32).toString("base64");
  const server = await scene.start({
    DATABASE_URL: database.url,
    PLATFORM_URL: front.url,
    ENCRYPTION_KEYS: `k1:${key}`,
    LOG_LEVEL: "trace",
  });
  const cookie = await front.cookieOf("dr-rivera");
  const word = marker();
  const words: Words = {
    marker: word,
    cookie: cookie.split("=")[1] ?? "",
    "encryption key": key,
    "database password": new URL(database.url).password,
  };
  const talk = await server.talk({ cookie });
  const ask = () => talk.say(`Does ${word} interact with warfarin?`);
  const answers = (status: number, type: string, body: (asked: string) => string) => {
    front.intercept = ({ tool, body: asked }) =>
      tool === "interaction_check"
        ? Promise.resolve({ status, headers: { "content-type": type }, body: body(asked) })
        : undefined;
  };

  // Each of these quotes the arguments back at us.
  answers(500, "text/plain", (asked) => asked);
  expect((await ask()).tools).toContain("interaction_check error");
  answers(200, "application/json", (asked) =>
    JSON.stringify({ jsonrpc: "2.0", id: JSON.parse(asked).id, error: { code: -32602, message: `bad: ${asked}` } }),
  );
  expect((await ask()).tools).toContain("interaction_check error");
  answers(200, "application/json", (asked) => `{not json ${asked}`);
  expect((await ask()).tools).toContain("interaction_check error");
  front.intercept = ({ tool }) => {
    if (tool !== "interaction_check") return undefined;
    front.intercept = () => undefined;
    return front.down().then(() => "silence" as const);
  };
  expect((await ask()).tools).toContain("interaction_check error");
  await front.up();
  answers(401, "text/plain", (asked) => asked);
  expect(await ask()).toMatchObject({ code: "auth_required" });

  // With a database and keys of its own it needs no folder at all.
  expect(await searched(server, database.url, words)).toEqual({
    ...NOTHING,
    looked: { ...NOTHING.looked, files: false },
  });
  expect(await server.kill("SIGTERM")).toEqual({ code: 0, signal: null });
});

test("[Show 3] the search itself finds what is there: text, bytes, deflated, base64, and in a running folder's files", async () => {
  const server = await scene.start();
  const url = embeddedUrl(server.dataDir);
  const word = marker();
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  await sql`create schema other`;
  for (const [name, value] of Object.entries({
    plain: Buffer.from(`a ${word} b`),
    deflated: deflateRawSync(`a ${word} b`),
    base64: Buffer.from(Buffer.from(`ab ${word} b`).toString("base64")),
  })) {
    await sql.unsafe(`create table other.${name} (hidden bytea)`);
    await sql.unsafe(`insert into other.${name} values ($1)`, [value]);
  }
  await sql.end();
  const rows = await findInDatabase(url, { word });
  expect(rows.found.sort()).toEqual(["word in other.base64", "word in other.deflated", "word in other.plain"]);
  expect(findInFiles(server.dataDir, { word }).found.some((place) => place.includes("pg_wal"))).toBe(true);
  await server.kill("SIGKILL");
});
