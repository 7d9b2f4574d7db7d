/** What stops a start: said in one line a person can act on, with nothing secret in it and nothing left behind. */
import { once } from "node:events";
import { type AddressInfo, createServer, type Server as TcpServer } from "node:net";
import { afterAll, expect, test } from "vitest";
import { testDatabase } from "../persistence/testing/database.ts";
import { databaseIn, type Environment, processScene } from "./testing/process.ts";

const scene = processScene();
afterAll(() => scene.clean());

/** How a start that must fail ended. */
async function failed(env: Environment, dataDir?: string) {
  const launched = scene.launch(env, dataDir);
  const { code } = await launched.exit;
  const lines = launched
    .stderr()
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("{"));
  return { code, lines, all: launched.stdout() + launched.stderr(), dataDir: launched.dataDir };
}

async function listener(): Promise<{ readonly server: TcpServer; readonly port: number }> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  return { server, port: (server.address() as AddressInfo).port };
}

test("a wrong environment: exit 2, one line a variable, all at once, no secret", async () => {
  const { code, lines, all } = await failed({
    PORT: "seventy",
    DATABASE_URL: "mysql://user:hunter2@db/x",
    ENCRYPTION_KEYS: "k1:hunter2hunter2",
    LOG_LEVEL: "loud",
    OPERATOR_TOKEN: "hunter2 with a space",
  });
  expect(code).toBe(2);
  expect(lines.map((line) => line.split(":")[0]).sort()).toEqual([
    "DATABASE_URL",
    "ENCRYPTION_KEYS",
    "LOG_LEVEL",
    "OPERATOR_TOKEN",
    "PORT",
  ]);
  expect(lines.find((line) => line.startsWith("PORT"))).toContain('"seventy"');
  expect(lines.find((line) => line.startsWith("OPERATOR_TOKEN"))).toContain("set, 20 characters");
  expect(all).not.toContain("hunter2");
});

test("NODE_ENV=production without settings: exit 2, and it says what is missing", async () => {
  const { code, lines } = await failed({ NODE_ENV: "production" });
  expect([code, lines.map((line) => line.split(":")[0]).sort()]).toEqual([
    2,
    ["ENCRYPTION_KEYS", "GEMINI_API_KEY", "PLATFORM_URL"],
  ]);
});

test("a port that is in use: exit 1, one line, no database left", async () => {
  const { server, port } = await listener();
  const { code, lines, dataDir } = await failed({ PORT: String(port) });
  server.close();
  expect([code, lines.length]).toEqual([1, 1]);
  expect(lines[0]).toMatch(new RegExp(`${port}.*PORT`));
  expect(databaseIn(dataDir)).toBeUndefined();
});

test("DATABASE_URL that nothing listens on: exit 1, one line, without the password", async () => {
  const { server, port } = await listener();
  server.close();
  await once(server, "close");
  const { code, lines, all } = await failed({ DATABASE_URL: `postgres://someone:hunter2@127.0.0.1:${port}/x` });
  expect([code, lines.length]).toEqual([1, 1]);
  expect(lines[0]).toMatch(/database/i);
  expect(all).not.toContain("hunter2");
});

test("DATABASE_URL with a wrong password: exit 1, one line, without the password", async () => {
  const database = await testDatabase();
  const url = new URL(database.url);
  url.password = "hunter2hunter2";
  const { code, lines, all } = await failed({ DATABASE_URL: url.href });
  await database.drop();
  expect([code, lines.length]).toEqual([1, 1]);
  expect(all).not.toContain("hunter2");
});

test("a second start in a data folder that is in use: exit 1, and it says who holds it", async () => {
  const first = await scene.start();
  const { code, lines } = await failed({}, first.dataDir);
  expect([code, lines.length]).toEqual([1, 1]);
  expect(lines[0]).toContain(`process ${first.pid}`);
  expect((await first.get("/readyz")).status).toBe(200);
  await first.kill("SIGKILL");
});
