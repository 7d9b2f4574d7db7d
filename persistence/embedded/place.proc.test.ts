import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { accountCan, serverAccount } from "./account.ts";
import { binariesFor, platformPackage } from "./binaries.ts";
import { createCluster } from "./cluster.ts";
import { ask, isRoot, serverOf, startScene } from "./testing/scene.ts";

const NOBODY = { uid: 65_534, gid: 65_534 };
const scene = startScene();
afterEach(() => scene.clean());

/** Tests of two users need root; tests of an ordinary user run as that user anyway. */
function needs(condition: boolean, reason: string): boolean {
  if (!condition) console.log(`not run: ${reason}`);
  return condition;
}

const sees = isRoot && accountCan(NOBODY, 'cd -- "$1" && test -r package.json', process.cwd());

test("root: the server runs as an unprivileged user", async () => {
  if (!needs(isRoot, "only root can show this")) return;
  const dataDir = scene.dataDir();
  const child = await scene.started(dataDir);
  const { uid } = statSync(join(dataDir, "postgres", "data"));
  expect([uid, uid === 0]).toEqual([serverAccount()?.uid, false]);
  await child.order("stop");
});

test("root: a folder that the server's user cannot enter gets a shelter, named in one line, the same at each start", async () => {
  if (!needs(isRoot, "only root can be in a folder that its server cannot enter")) return;
  const dataDir = scene.dataDir(0o700);
  const shelter = join(scene.dataDir(0o711), "shelter");

  const first = await scene.started(dataDir, [shelter]);
  const [home = ""] = readdirSync(shelter).map((name) => join(shelter, name));
  expect(first.notes).toEqual([`PostgreSQL's user cannot enter ${dataDir}; the database is in ${home}`]);
  await ask(first.url, "create table kept as select 9 as n");
  await first.kill();

  const second = await scene.started(dataDir, [shelter]);
  expect([second.adopted, second.notes, await ask(second.url, "select n from kept")]).toEqual([
    true,
    first.notes,
    [{ n: 9 }],
  ]);
  await second.order("stop");

  const third = await scene.started(dataDir, [shelter]);
  expect([third.adopted, third.notes, await ask(third.url, "select n from kept")]).toEqual([
    false,
    first.notes,
    [{ n: 9 }],
  ]);
  await third.order("stop");
});

test("root: a data folder that was removed and made again does not get the sheltered data of the old one", async () => {
  if (!needs(isRoot, "shelters are for root")) return;
  const dataDir = scene.dataDir(0o700);
  const shelter = join(scene.dataDir(0o711), "shelter");
  const first = await scene.started(dataDir, [shelter]);
  await ask(first.url, "create table kept as select 1 as n");
  await first.order("stop");
  rmSync(dataDir, { recursive: true });

  const second = await scene.started(dataDir, [shelter]);
  expect(await ask(second.url, "select to_regclass('kept') as found")).toEqual([{ found: null }]);
  // A checkout that the server's user can't enter has its programs copied beside them.
  expect(readdirSync(shelter).filter((name) => !name.startsWith("postgresql-")).length).toBe(2);
  await second.order("stop");
});

test("root: a shelter that another user could write to is not used", async () => {
  if (!needs(isRoot, "shelters are for root")) return;
  const dataDir = scene.dataDir(0o700);
  const open = scene.dataDir(0o711);
  mkdirSync(open);
  chownSync(open, NOBODY.uid, NOBODY.gid);
  const child = await scene.child(dataDir, [open]);
  expect(await child.go()).toEqual({
    kind: "failed",
    code: "embedded_postgres_failed",
    message: `no folder can be reached by the user that runs PostgreSQL (tried ${open}): set DATA_DIR to one that every user may enter`,
  });
});

test("root: programs that the server's user cannot run are copied once, whole, with their links", () => {
  if (!needs(isRoot, "only root has a server user that sees less than itself")) return;
  const account = serverAccount();
  const installed = { ...platformPackage(), root: join(scene.dataDir(0o700), "..", "package") };
  execFileSync("cp", ["-a", platformPackage().root, installed.root]);
  for (const { target } of JSON.parse(readFileSync(join(installed.root, "native", "pg-symlinks.json"), "utf8"))) {
    rmSync(join(installed.root, target));
  }
  const shelter = join(scene.dataDir(0o711), "..");
  const bin = binariesFor(account, () => shelter, installed);
  expect([bin.startsWith(shelter), accountCan(account, '"$1/postgres" --version', bin)]).toEqual([true, true]);
  const { ino } = statSync(join(bin, "postgres"));
  expect(binariesFor(account, () => shelter, installed)).toBe(bin);
  expect(statSync(join(bin, "postgres")).ino).toBe(ino);
  expect(readdirSync(shelter).filter((name) => name.includes("draft"))).toEqual([]);
});

test("an ordinary user starts, adopts and stops; root goes on with that user's data as that user", async () => {
  if (!needs(!isRoot || sees, "user 65534 cannot read this checkout")) return;
  const as = isRoot ? NOBODY : {};
  const dataDir = scene.dataDir(0o755, isRoot ? NOBODY.uid : undefined);
  const first = await scene.started(dataDir, [], as);
  await ask(first.url, "create table kept as select 3 as n");
  expect(statSync(join(dataDir, "postgres", "data")).uid).toBe(isRoot ? NOBODY.uid : process.getuid?.());
  await first.kill();
  const second = await scene.started(dataDir, [], as);
  expect(second.adopted).toBe(true);
  expect(await second.order("stop")).toBe(0);

  const third = await scene.started(dataDir);
  expect(await ask(third.url, "select n from kept")).toEqual([{ n: 3 }]);
  expect(await third.order("stop")).toBe(0);
});

test("an ordinary user in a folder of another one is told so", async () => {
  if (!needs(sees, "needs root, and a checkout that user 65534 can read")) return;
  const dataDir = scene.dataDir(0o711);
  const root = await scene.started(dataDir);
  await root.order("stop");
  chmodSync(dataDir, 0o777);
  const nobody = await scene.child(dataDir, [], NOBODY);
  expect(await nobody.go()).toEqual({
    kind: "failed",
    code: "embedded_postgres_failed",
    message: `${dataDir}/postgres belongs to another user: run as that user, or set DATA_DIR to a folder of your own`,
  });

  const closed = await scene.child(scene.dataDir(0o711), [], NOBODY);
  expect(await closed.go()).toMatchObject({ kind: "failed", code: "embedded_postgres_failed", message: /EACCES/ });
});

test("a server that cannot start says why and where its log is; nothing is left running or locked", async () => {
  const dataDir = scene.dataDir();
  await (await scene.started(dataDir)).order("stop");
  appendFileSync(join(dataDir, "postgres", "data", "postgresql.conf"), "\nmax_connections = 'many'\n");
  const child = await scene.child(dataDir);
  const report = await child.go();
  expect(report.kind === "failed" && [report.code, report.message.replace(/^.*?: /, "")]).toEqual([
    "embedded_postgres_failed",
    expect.stringMatching(/invalid value for parameter "max_connections".*\(log: .*\/data\/postgres\/server\.log\)$/),
  ]);
  expect([serverOf(dataDir), existsSync(join(dataDir, "owner.json"))]).toEqual([undefined, false]);
});

test("a database that cannot be made says why and leaves nothing that looks like one", async () => {
  const home = scene.dataDir();
  const bin = scene.dataDir();
  for (const folder of [home, bin]) mkdirSync(folder);
  writeFileSync(join(bin, "initdb"), "#!/bin/sh\necho 'could not write file: No space left on device' >&2\nexit 1\n");
  chmodSync(join(bin, "initdb"), 0o755);
  await expect(createCluster({ bin, home, account: undefined })).rejects.toThrow(
    `the database could not be made in ${home}: could not write file: No space left on device`,
  );
  expect(readdirSync(home)).toEqual(["password"]);
});
