import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { gone, signal } from "./postmaster.ts";
import { isRunning } from "./process-mark.ts";
import { ask, serverOf, startScene } from "./testing/scene.ts";

const scene = startScene();
afterEach(() => scene.clean());

test("a first start makes a UTF-8 database behind a password, on 127.0.0.1 alone, and keeps it over a restart", async () => {
  const dataDir = scene.dataDir();
  const first = await scene.started(dataDir);
  expect([first.adopted, first.notes]).toEqual([false, []]);
  expect(new URL(first.url).hostname).toBe("127.0.0.1");
  expect(
    await ask(
      first.url,
      `select current_database() as name, pg_encoding_to_char(encoding) as encoding, datlocale as locale,
              current_setting('listen_addresses') as listens, current_setting('unix_socket_directories') as sockets,
              current_setting('fsync') as fsync
       from pg_database where datname = current_database()`,
    ),
  ).toEqual([
    { name: "dormouse", encoding: "UTF8", locale: "C.UTF-8", listens: "127.0.0.1", sockets: "", fsync: "on" },
  ]);
  await ask(first.url, "create table kept as select 'älter' as word");
  const server = serverOf(dataDir);
  expect(await first.order("stop")).toBe(0);
  expect([server && isRunning(server.mark), existsSync(join(dataDir, "owner.json"))]).toEqual([false, false]);

  const second = await scene.started(dataDir);
  expect(await ask(second.url, "select word from kept")).toEqual([{ word: "älter" }]);
  expect(await second.order("stop")).toBe(0);
});

test("other users of the machine read neither files nor data, and the server knows none of our environment", async () => {
  const dataDir = scene.dataDir();
  const { url, ...child } = await scene.started(dataDir, [], {
    env: { DORMOUSE_TEST_SECRET: "marker-in-environment" },
  });
  const home = join(dataDir, "postgres");
  const mode = (path: string) => statSync(path).mode & 0o777;
  expect([home, join(home, "password"), join(home, "server.log"), join(home, "data")].map(mode)).toEqual([
    0o700, 0o600, 0o600, 0o700,
  ]);
  const wrong = new URL(url);
  wrong.password = "guess";
  await expect(ask(wrong.href, "select 1")).rejects.toThrow(/password authentication failed/);
  const rules = readFileSync(join(home, "data", "pg_hba.conf"), "utf8");
  expect(rules.split("\n").filter((line) => /^\s*(local|host)/.test(line) && !line.includes("scram-sha-256"))).toEqual(
    [],
  );
  if (process.platform === "linux") {
    const pid = serverOf(dataDir)?.mark.pid;
    const seen = ["environ", "cmdline"].map((name) => readFileSync(`/proc/${pid}/${name}`, "utf8")).join();
    expect([seen.includes("marker-in-environment"), seen.includes(new URL(url).password)]).toEqual([false, false]);
    // A process group of its own: Ctrl-C in the terminal must reach us alone.
    expect(readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ")[2]).toBe(String(pid));
  }
  await child.order("stop");
});

test("no statement and no value reaches the server's log, also when statements fail", async () => {
  const dataDir = scene.dataDir();
  const { url, ...child } = await scene.started(dataDir);
  await ask(url, "create table t (word text primary key, n int check (n > 0))");
  await ask(url, "insert into t values ('MARKER-1', 1)");
  const failing = [
    "insert into t values ('MARKER-1', 1)",
    "insert into t values ('MARKER-2', -1)",
    "select 'MARKER-3'::int",
    "selectt 'MARKER-4'",
    "do $$ begin raise exception 'MARKER-5'; end $$",
    "select pg_terminate_backend(pg_backend_pid()) /* MARKER-6 */",
  ];
  for (const statement of failing) await expect(ask(url, statement)).rejects.toThrow();
  await child.order("stop");
  const log = readFileSync(join(dataDir, "postgres", "server.log"), "utf8");
  expect([log.includes("database system is shut down"), log.includes("MARKER")]).toEqual([true, false]);
});

test("a server that a killed process left running is adopted, with its data, and ends with the new owner", async () => {
  const dataDir = scene.dataDir();
  const killed = await scene.started(dataDir);
  await ask(killed.url, "create table kept as select 7 as n");
  await killed.kill();
  const left = serverOf(dataDir);
  expect(left && isRunning(left.mark)).toBe(true);

  const next = await scene.started(dataDir);
  expect([next.adopted, next.url, serverOf(dataDir)]).toEqual([true, killed.url, left]);
  expect(await ask(next.url, "select n from kept")).toEqual([{ n: 7 }]);
  expect(await next.order("stop")).toBe(0);
  expect(left && isRunning(left.mark)).toBe(false);
});

test("a start gets over the pid file of a server that was killed too", async () => {
  const dataDir = scene.dataDir();
  const killed = await scene.started(dataDir);
  await ask(killed.url, "create table kept as select 8 as n");
  await killed.kill();
  const left = serverOf(dataDir);
  if (!left) throw new Error("the server should have been left running");
  signal(left.mark, "SIGKILL");
  await gone(left.mark, 10_000);
  expect(existsSync(join(dataDir, "postgres", "data", "postmaster.pid"))).toBe(true);

  const next = await scene.started(dataDir);
  expect([next.adopted, await ask(next.url, "select n from kept")]).toEqual([false, [{ n: 8 }]]);
  await next.order("stop");
});

test("a pid file whose number another program has by now neither stops the start nor that program", async () => {
  const dataDir = scene.dataDir();
  const first = await scene.started(dataDir);
  const pidFile = join(dataDir, "postgres", "data", "postmaster.pid");
  const text = readFileSync(pidFile, "utf8");
  await first.order("stop");
  // The stranger runs as the server's own user: PostgreSQL ignores numbers of other users by itself.
  const { uid, gid } = statSync(join(dataDir, "postgres"));
  const stranger = await scene.sleeper({ uid, gid });
  writeFileSync(pidFile, text.replace(/^\d+/, String(stranger.pid)));

  const next = await scene.started(dataDir);
  expect([next.adopted, isRunning(stranger)]).toEqual([false, true]);
  await next.order("stop");
  expect(isRunning(stranger)).toBe(true);
});

test("a second start in the same folder fails and names the holder; another folder is free", async () => {
  const dataDir = scene.dataDir();
  const first = await scene.started(dataDir);
  const second = await scene.child(dataDir);
  expect(await second.go()).toEqual({
    kind: "failed",
    code: "data_dir_in_use",
    message: `${dataDir} is in use by process ${first.pid}: stop that one, or give this one another DATA_DIR`,
  });
  const elsewhere = await scene.started(scene.dataDir());
  expect(await ask(elsewhere.url, "select 1 as n")).toEqual([{ n: 1 }]);
  expect(await ask(first.url, "select 2 as n")).toEqual([{ n: 2 }]);
  expect(await Promise.all([first.order("stop"), elsewhere.order("stop")])).toEqual([0, 0]);
});

test("of four that start in one folder at the same moment exactly one wins, also over a killed one", async () => {
  const dataDir = scene.dataDir();
  for (const round of ["fresh", "over a killed one"]) {
    const four = await Promise.all(Array.from({ length: 4 }, () => scene.child(dataDir)));
    const reports = await Promise.all(four.map((child) => child.go()));
    const outcomes = reports.map((report) => (report.kind === "failed" ? report.code : report.kind)).sort();
    expect([round, outcomes]).toEqual([round, [...Array(3).fill("data_dir_in_use"), "started"]]);
    await four[reports.findIndex(({ kind }) => kind === "started")]?.kill();
  }
});

test("a process that exits without stopping takes the server with it and leaves the folder free", async () => {
  const dataDir = scene.dataDir();
  const careless = await scene.started(dataDir);
  const server = serverOf(dataDir);
  if (!server) throw new Error("no server");
  expect(await careless.order("exit")).toBe(3);
  expect([await gone(server.mark, 10_000), existsSync(join(dataDir, "owner.json"))]).toEqual([true, false]);
});

test("a start right after such an exit waits for the old server to end", async () => {
  const dataDir = scene.dataDir();
  const [careless, waiting] = [await scene.started(dataDir), await scene.child(dataDir)];
  await careless.order("exit");
  expect((await waiting.go()).kind).toBe("started");
  expect(await waiting.order("stop")).toBe(0);
});
