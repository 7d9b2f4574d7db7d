import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { afterAll, expect, test } from "vitest";
import { platformPath } from "./package-files.ts";
import { callTool, type TestPlatform, testPlatform } from "./testing/platform.ts";

const processes: ChildProcess[] = [];
let scene: TestPlatform | undefined;
afterAll(async () => {
  for (const child of processes) child.kill("SIGKILL");
  await scene?.close();
});

const SEAL_KEY = randomBytes(32).toString("base64");

async function serve(databaseUrl: string): Promise<{ url: string; kill(): Promise<unknown> }> {
  const child = spawn(process.execPath, ["--import", "tsx", platformPath("testing/serve.ts")], {
    env: { ...process.env, DATABASE_URL: databaseUrl, SEAL_KEY },
    stdio: ["ignore", "pipe", "inherit"],
  });
  processes.push(child);
  const [url] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
  const kill = () => {
    const gone = once(child, "exit");
    child.kill("SIGKILL");
    return gone;
  };
  return { url, kill };
}

test("[PF-56] after kill -9 a login, a plan and an idempotency key are still there", async () => {
  scene = await testPlatform();
  const first = await serve(scene.databaseUrl);
  const cookie = await scene.login(first.url, "dr-rivera");
  const create = { patientId: "pat-001", items: [], notes: "before the crash" };
  const before = await scene.connect(first.url, cookie);
  const created = await callTool(before, "treatment_plan_create", create, "s.t.c");
  await first.kill();

  const second = await serve(scene.databaseUrl);
  expect((await fetch(`${second.url}/session`, { headers: { cookie } })).status).toBe(200);
  const after = await scene.connect(second.url, cookie);
  expect(await callTool(after, "treatment_plan_create", create, "s.t.c")).toEqual(created);
  expect(await callTool(after, "treatment_plan_get", { patientId: "pat-001" })).toEqual({ plans: [created["plan"]] });
});
