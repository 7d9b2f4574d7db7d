import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { protocolSchema } from "../../machines/protocol/json-schema.ts";
import { Refused } from "../sessions/conversations.ts";
import { CannotListen } from "./gateway.ts";
import type { GatewayServices } from "./services.ts";
import { type Stage, startStage } from "./testing/stage.ts";

let stage: Stage;
afterEach(() => stage.gateway.close());

const open = async (changes: Partial<GatewayServices> = {}) => {
  stage = await startStage(changes);
};

type Init = { method?: string; cookie?: string; origin?: string; headers?: Record<string, string> };

async function ask(path: string, { method = "GET", cookie, origin, headers = {} }: Init = {}) {
  const response = await fetch(`${stage.gateway.url}${path}`, {
    method,
    redirect: "manual",
    headers: { ...(cookie && { cookie }), ...(origin && { origin }), ...headers },
  });
  const text = await response.text();
  const isJson = response.headers.get("content-type")?.startsWith("application/json") ?? false;
  return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
}

const brief = async (path: string, init?: Init) => {
  const { status, body } = await ask(path, init);
  return [status, body.error?.code ?? body];
};

const RIVERA = { cookie: "user=rivera" };

test("health is always there, readiness follows the runtime", async () => {
  let ready = false;
  await open({ ready: () => ({ ready, parts: { database: ready ? "ok" : "starting" } }) });
  expect(await brief("/healthz")).toEqual([200, { alive: true, agent: "assist", simulated: true, demo_login: false }]);
  expect(await brief("/readyz")).toEqual([503, { ready: false, parts: { database: "starting" } }]);
  ready = true;
  expect(await brief("/readyz")).toEqual([200, { ready: true, parts: { database: "ok" } }]);
});

test("the schema of the protocol is published", async () => {
  await open();
  expect(await brief("/v1/protocol.json")).toEqual([200, JSON.parse(JSON.stringify(protocolSchema()))]);
});

test("operator routes are not there without the operator's token", async () => {
  await open({ operatorToken: "op-token" });
  expect(await brief("/metrics")).toEqual([404, "not_found"]);
  expect(await brief("/metrics", { headers: { authorization: "Bearer op-tokem" } })).toEqual([404, "not_found"]);
  expect(await brief("/metrics", { headers: { authorization: "Bearer op-token" } })).toEqual([200, "metric 1\n"]);
  stage.gateway.close();
  await open();
  expect(await brief("/metrics", { headers: { authorization: "Bearer undefined" } })).toEqual([404, "not_found"]);
});

test("sessions are made, listed, read and erased by their owner", async () => {
  await open();
  const own = { ...RIVERA, origin: stage.origin };
  const made = await ask("/v1/sessions", { ...own, method: "POST" });
  expect(made.status).toBe(201);
  const id: string = made.body.session_id;
  const path = `/v1/sessions/${id}`;
  const summary = { session_id: id, title: null, status: "resting", updated_at: expect.any(String) };
  expect(await brief("/v1/sessions", RIVERA)).toEqual([
    200,
    { sessions: [{ ...summary, pending_interaction: false }] },
  ]);
  const state = { status: "resting", pending_interaction: null, queue: [] };
  expect(await brief(path, RIVERA)).toEqual([200, { session_id: id, turns: [], state, seq: 0 }]);
  expect(await brief(`${path}?before=3`, RIVERA)).toEqual([
    200,
    { session_id: id, turns: [], state, seq: 0, before: 2 },
  ]);
  expect(await brief(`${path}?before=x`, RIVERA)).toEqual([400, "invalid_request"]);
  expect(await brief(path, { ...own, method: "DELETE" })).toEqual([204, ""]);
  expect(await brief(path, RIVERA)).toEqual([404, "not_found"]);
});

test("[E-09] a foreign session answers like one that never was", async () => {
  await open();
  const { body } = await ask("/v1/sessions", { ...RIVERA, method: "POST", origin: stage.origin });
  const chen = { cookie: "user=chen", origin: stage.origin };
  const unknown = "00000000-0000-4000-8000-000000000009";
  const answers = [];
  for (const id of [body.session_id, unknown, "no-uuid"])
    for (const method of ["GET", "DELETE"]) answers.push(await brief(`/v1/sessions/${id}`, { ...chen, method }));
  expect(answers).toEqual(Array(6).fill([404, "not_found"]));
  expect((await brief(`/v1/sessions/${body.session_id}`, RIVERA))[0]).toBe(200);
});

test("without a login 401, without a platform 503", async () => {
  await open();
  expect(await brief("/v1/sessions")).toEqual([401, "auth_required"]);
  expect(await brief("/v1/sessions", { cookie: "stale" })).toEqual([401, "auth_required"]);
  stage.platform = () => ({ kind: "unreachable" });
  expect(await brief("/v1/sessions", RIVERA)).toEqual([503, "unavailable"]);
});

test("[E-03] writing needs an allowed origin, and before that nobody is asked about the cookie", async () => {
  await open();
  const id = "00000000-0000-4000-8000-000000000009";
  for (const origin of [undefined, "null", "https://evil.example", `${stage.origin}.evil`, stage.origin.toUpperCase()])
    for (const [method, path] of [
      ["POST", "/v1/sessions"],
      ["DELETE", `/v1/sessions/${id}`],
    ] as const)
      expect(await brief(path, { ...RIVERA, method, ...(origin && { origin }) })).toEqual([403, "origin_not_allowed"]);
  expect(stage.asked).toEqual([]);
});

test("errors are JSON with a code, never a stack", async () => {
  await open({ login: () => Promise.reject(new Error("secret detail")) });
  stage.conversations.list = () => Promise.reject(new Refused("unavailable", "the database does not answer"));
  stage.conversations.create = () => Promise.reject(new TypeError("secret detail"));
  const refused = { error: { code: "unavailable", message: "the database does not answer" } };
  expect(await ask("/v1/sessions", RIVERA)).toMatchObject({ status: 503, body: refused });
  const broken = await ask("/v1/sessions", { ...RIVERA, method: "POST", origin: stage.origin });
  expect(broken.status).toBe(500);
  expect(JSON.stringify(broken.body)).not.toContain("secret");
  expect(stage.errors).toEqual(["request failed secret detail"]);
  expect(await brief("/v1/sessions", { method: "PUT" })).toEqual([405, "method_not_allowed"]);
  expect((await ask("/v1/sessions", { method: "PUT" })).headers.get("allow")).toBe("GET, HEAD, POST");
  expect(await brief("/v1/nothing")).toEqual([404, "not_found"]);
  expect(await brief("/nothing", { method: "POST" })).toEqual([404, "not_found"]);
  expect(await brief("/v1/socket")).toEqual([400, "invalid_request"]);
});

test("in demo mode /login sets the platform's cookie and leads to the console", async () => {
  const setCookie = ["platform_session=abc; Path=/; HttpOnly; SameSite=Lax"];
  await open({ login: async (user) => (user === "dr-rivera" ? { setCookie } : undefined) });
  const { status, headers } = await ask("/login?user=dr-rivera");
  expect([status, headers.get("location"), headers.getSetCookie()]).toEqual([303, "/", setCookie]);
  expect(await brief("/login?user=nobody")).toEqual([404, "not_found"]);
  expect(await brief("/login")).toEqual([400, "invalid_request"]);
  stage.gateway.close();
  await open();
  expect(await brief("/login?user=dr-rivera")).toEqual([404, "not_found"]);
});

test("the console is served with types, validators and a policy; without a build the page says how", async () => {
  const folder = await mkdtemp(join(tmpdir(), "console-"));
  try {
    await open({ consoleDir: join(folder, "dist") });
    const missing = await ask("/");
    expect([missing.status, missing.body]).toEqual([404, expect.stringContaining("npm run build")]);
    await mkdir(join(folder, "dist", "assets"), { recursive: true });
    await writeFile(join(folder, "secret.txt"), "secret");
    await writeFile(join(folder, "dist", "index.html"), "<p>hi");
    await writeFile(join(folder, "dist", "assets", "app-1a2b.js"), "go()");
    const index = await ask("/");
    expect([index.status, index.body, index.headers.get("content-type"), index.headers.get("cache-control")]).toEqual([
      200,
      "<p>hi",
      "text/html; charset=utf-8",
      "no-cache",
    ]);
    expect(index.headers.get("content-security-policy")).toContain("default-src 'none'");
    const etag = index.headers.get("etag") ?? "";
    expect((await ask("/", { headers: { "if-none-match": etag } })).status).toBe(304);
    const script = await ask("/assets/app-1a2b.js");
    expect([script.body, script.headers.get("content-type"), script.headers.get("cache-control")]).toEqual([
      "go()",
      "text/javascript; charset=utf-8",
      "public, max-age=31536000, immutable",
    ]);
    expect(await brief("/%2e%2e/secret.txt")).toEqual([404, "not_found"]);
    const head = await ask("/", { method: "HEAD" });
    expect([head.status, head.headers.get("content-length"), head.body]).toEqual([200, "5", ""]);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("a taken port is one clear failure, never a shared one", async () => {
  await open();
  const second = startStage({ port: stage.gateway.port });
  await expect(second).rejects.toThrow(CannotListen);
  await expect(second).rejects.toThrow(`can't listen on 127.0.0.1, port ${stage.gateway.port}`);
});
