import { createHash } from "node:crypto";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { loadDataset } from "./catalog/dataset.ts";
import { callTool, type TestPlatform, testPlatform } from "./testing/platform.ts";

let scene: TestPlatform;
let url: string;
beforeAll(async () => {
  scene = await testPlatform();
  url = (await scene.start()).url;
});
afterAll(() => scene.close());

const session = (cookie: string, at = url) => fetch(`${at}/session`, { headers: { cookie } });
const post = (cookie: string, body: unknown, headers: Record<string, string> = {}) =>
  fetch(`${url}/mcp`, {
    method: "POST",
    headers: {
      cookie,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...headers,
    },
    body: JSON.stringify(body),
  });
const initialize = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "raw", version: "0" } },
};
const ping = { jsonrpc: "2.0", id: 2, method: "ping" };

describe("logins", () => {
  test("[PF-50] a login is a cookie that scripts cannot read, and gives the principal", async () => {
    const response = await fetch(`${url}/login?user=dr-rivera`, { redirect: "manual" });
    const [cookie = ""] = response.headers.getSetCookie();
    expect([response.status, response.headers.get("location")]).toEqual([302, "/"]);
    expect(cookie).toMatch(/^platform_session=[\w-]{43}; Max-Age=43200; Path=\/; HttpOnly; SameSite=Lax$/);
    const answer = await session(`other=1; ${cookie.split(";")[0]}`);
    expect(await answer.json()).toEqual({
      user_id: "dr-rivera",
      name: "Dr. Elena Rivera",
      flags: ["plan_builder", "research", "interactions", "labs"],
      preferences: expect.objectContaining({ preferred_brands: ["Sorrelwick Clinical", "Quillfen Labs"] }),
      expires_at: scene.clock.now + 12 * 3_600_000,
    });
  });

  test("[PF-50] no login, a made-up one and an unknown user", async () => {
    const statuses = [
      (await fetch(`${url}/session`)).status,
      (await session("platform_session=made-up")).status,
      (await session(`platform_session=${"x".repeat(5000)}`)).status,
      (await fetch(`${url}/login?user=dr-none%00`, { redirect: "manual" })).status,
      (await post("", initialize)).status,
      (await fetch(`${url}/nothing`)).status,
    ];
    expect(statuses).toEqual([401, 401, 401, 404, 401, 404]);
  });

  test("[PF-51] a login outlives the process that made it, and only its hash is stored", async () => {
    const first = await scene.start();
    const cookie = await scene.login(first.url, "dr-chen");
    await first.close();
    const second = await scene.start();
    expect((await session(cookie, second.url)).status).toBe(200);
    const sql = postgres(scene.databaseUrl, { max: 1 });
    const rows = await sql<{ token_hash: Buffer }[]>`select token_hash from platform.logins where user_id = 'dr-chen'`;
    await sql.end();
    const hash = createHash("sha256").update(cookie.replace("platform_session=", "")).digest("hex");
    expect(rows.map((row) => row.token_hash.toString("hex"))).toEqual([hash]);
  });

  test("[PF-52] a login ends by itself and by log-out", async () => {
    const [left, expired] = [await scene.login(url, "dr-chen"), await scene.login(url, "dr-chen")];
    const logout = await fetch(`${url}/logout`, { method: "POST", headers: { cookie: left } });
    expect([logout.status, (await session(left)).status, (await session(expired)).status]).toEqual([204, 401, 200]);
    scene.clock.now += 12 * 3_600_000;
    expect((await session(expired)).status).toBe(401);
  });

  test("[PF-53] a page of another origin may not use the browser's cookie", async () => {
    const cookie = await scene.login(url, "dr-chen");
    const status = async (origin: string) => (await post(cookie, initialize, { origin })).status;
    expect([await status("https://evil.example"), await status("null"), await status(url)]).toEqual([403, 403, 200]);
  });
});

describe("MCP sessions", () => {
  test("[F-06] a session id of one user is unknown for another, and so is one that never was", async () => {
    const [rivera, chen] = [await scene.login(url, "dr-rivera"), await scene.login(url, "dr-chen")];
    const id = (await post(rivera, initialize)).headers.get("mcp-session-id") ?? "";
    const status = async (cookie: string, session: string) =>
      (await post(cookie, ping, { "mcp-session-id": session })).status;
    expect([await status(rivera, id), await status(chen, id), await status(rivera, "never-was")]).toEqual([
      200, 404, 404,
    ]);
    expect((await post(rivera, ping)).status).toBe(400);
  });

  test("[F-10] a login that ended gives 401 in the middle of a session", async () => {
    const cookie = await scene.login(url, "dr-rivera");
    const client = await scene.connect(url, cookie);
    await fetch(`${url}/logout`, { method: "POST", headers: { cookie } });
    await expect(client.listTools()).rejects.toMatchObject({ code: 401 });
  });

  test("[F-01] a session that was ended is unknown", async () => {
    const cookie = await scene.login(url, "dr-rivera");
    const id = (await post(cookie, initialize)).headers.get("mcp-session-id") ?? "";
    const headers = { cookie, "mcp-session-id": id };
    expect((await fetch(`${url}/mcp`, { method: "DELETE", headers })).status).toBe(200);
    expect((await post(cookie, ping, { "mcp-session-id": id })).status).toBe(404);
  });

  test("[PF-54] a body beyond 1 MiB is refused", async () => {
    const cookie = await scene.login(url, "dr-rivera");
    expect((await post(cookie, { ...ping, params: { x: "x".repeat(1_100_000) } })).status).toBe(413);
  });

  test("[PF-55] close ends open streams and may be called twice", async () => {
    const other = await scene.start();
    await scene.clientFor(other.url, "dr-rivera");
    await Promise.all([other.close(), other.close()]);
    await expect(fetch(`${other.url}/session`)).rejects.toThrow();
  });
});

describe("tools", () => {
  let client: Client;
  beforeAll(async () => {
    client = await scene.clientFor(url, "dr-rivera");
    // Without this list the client does not check results against the output schemas.
    await client.listTools();
  });

  test("[PF-60] flags decide which tools exist", async () => {
    const names = async (user: string) => {
      const { tools } = await (await scene.clientFor(url, user)).listTools();
      return tools.map(({ name }) => name);
    };
    const all = await names("dr-rivera");
    expect(all).toEqual([
      "patient_search",
      "patient_get",
      "visit_notes",
      "product_search",
      "evidence_search",
      "interaction_check",
      "depletion_check",
      "lab_tests",
      "knowledge_base_search",
      "treatment_plan_get",
      "treatment_plan_create",
      "treatment_plan_update",
    ]);
    expect(await names("dr-chen")).toEqual(all.filter((name) => !/plan_(create|update)/.test(name)));
    expect(await names("dr-okafor")).toEqual(all.filter((name) => name !== "evidence_search"));
    const okafor = await scene.clientFor(url, "dr-okafor");
    const refused = async (name: string) =>
      okafor.callTool({ name, arguments: { query: "iron" } }).catch((error: { code: number; message: string }) => ({
        code: error.code,
        message: error.message,
      }));
    expect(await refused("evidence_search")).toEqual(await refused("no_such_tool"));
  });

  test("[PF-61] annotations tell reading from writing; writers honour a key", async () => {
    const { tools } = await client.listTools();
    for (const { name, annotations, _meta, inputSchema, outputSchema } of tools) {
      const writes = /plan_(create|update)/.test(name);
      expect([annotations?.readOnlyHint, annotations?.idempotentHint, annotations?.destructiveHint]).toEqual([
        !writes,
        !writes,
        false,
      ]);
      expect(_meta).toEqual(writes ? { "dormouse/idempotency-key": true } : undefined);
      expect([inputSchema["additionalProperties"], outputSchema?.["additionalProperties"]]).toEqual([false, false]);
    }
  });

  test.each([
    ["patient_search", { query: "Marisol" }, "patients"],
    ["patient_get", { id: "pat-001" }, "patient"],
    ["patient_get", { id: "pat-none" }, "patient"],
    ["visit_notes", { patientId: "pat-001" }, "visitNotes"],
    ["product_search", { query: "magnesium glycinate", inStock: true }, "products"],
    ["evidence_search", { query: "magnesium sleep" }, "evidence"],
    ["interaction_check", { items: ["warfarin", "vitamin K2", "coq10"] }, "findings"],
    ["depletion_check", { medications: ["metformin", "the pill"] }, "depletions"],
    ["lab_tests", { supplementId: "iron" }, "labs"],
    ["knowledge_base_search", { query: "return a product" }, "articles"],
    ["treatment_plan_get", { patientId: "pat-001" }, "plans"],
  ])("[PF-62] %s %j answers in its output schema", async (name, args, field) => {
    const result = await callTool(client, name, args);
    expect(Object.keys(result)[0]).toBe(field);
  });

  test("[PF-62] every product, study, lab, patient and article fits the output schema", async () => {
    const data = loadDataset();
    const seen = new Set<string>();
    const see = async (name: string, args: Record<string, unknown>, field: string) => {
      const found = (await callTool(client, name, args))[field] as { id: string }[];
      for (const { id } of found) seen.add(`${field} ${id}`);
    };
    for (const { id } of data.supplements) {
      await see("product_search", { supplementId: id, limit: 50 }, "products");
      await see("evidence_search", { query: id, limit: 50 }, "evidence");
    }
    for (const { title } of data.articles) await see("knowledge_base_search", { query: title }, "articles");
    await see("lab_tests", { limit: 50 }, "labs");
    await see("patient_search", { query: "", limit: 50 }, "patients");
    const { products, evidence, articles, labs, patients } = data;
    const all = Object.entries({ products, evidence, articles, labs, patients }).flatMap(([field, records]) =>
      records.map(({ id }) => `${field} ${id}`),
    );
    expect(all.filter((id) => !seen.has(id))).toEqual([]);
  });

  test("[PF-63] whole answers: a product and an interaction", async () => {
    expect(await callTool(client, "product_search", { query: "magnesium citrate powder", limit: 1 })).toEqual({
      products: [
        {
          id: "prd-thistlemarch-magnesium-citrate-powder-300-mg",
          brand: "Thistlemarch Naturals",
          name: "Magnesium Citrate Powder 300 mg",
          form: "powder",
          supplements: [{ id: "magnesium", name: "Magnesium" }],
          ingredients: [{ supplementId: "magnesium", formId: "magnesium--citrate", amount: 300, unit: "mg elemental" }],
          servingsPerContainer: expect.any(Number),
          price: { amount: expect.any(Number), currency: "USD" },
          inStock: true,
          dietFlags: expect.any(Array),
          allergens: [],
          exceedsUpperLimit: [],
          note: null,
          availableOrMasterVariant: { id: expect.stringMatching(/^var-/), sku: expect.stringMatching(/^DEMO-/) },
          typicalAdultDose: { min: 250, max: 500, unit: "mg elemental", basis: expect.any(String) },
          upperLimit: { value: 350, unit: "mg", authority: expect.any(String) },
          cautions: expect.any(Array),
        },
      ],
      total: expect.any(Number),
    });
    const check = await callTool(client, "interaction_check", { items: ["warfarin", "K2"] });
    expect(check).toEqual({
      findings: [expect.objectContaining({ a: "warfarin", b: "Vitamin K", severity: "major" })],
      notRecorded: [],
      matched: [
        { input: "warfarin", kind: "drug", id: "warfarin", name: "warfarin" },
        { input: "K2", kind: "supplement", id: "vitamin-k", name: "Vitamin K" },
      ],
      unknown: [],
    });
  });

  test.each([
    ["interaction_check", { items: ["iron"] }, "Wrong arguments: items must NOT have fewer than 2 items."],
    ["patient_get", {}, "Wrong arguments: arguments must have required property 'id'."],
    ["patient_get", { id: 5 }, "Wrong arguments: id must be string."],
    ["lab_tests", { limit: 900 }, "Wrong arguments: limit must be <= 50."],
    ["lab_tests", { q: "x" }, "Wrong arguments: arguments must NOT have additional properties (q)."],
    ["treatment_plan_get", {}, "Pass either id or patientId."],
  ])("[F-02] %s %j is an error that the model can act on", async (name, args, text) => {
    await expect(callTool(client, name, args)).rejects.toThrow(new TypeError(text));
  });

  test("[F-02] a fault of ours is a short text for the model and a code in the log", async () => {
    const broken = await scene.start();
    const user = await scene.clientFor(broken.url, "dr-rivera");
    const sql = postgres(scene.databaseUrl, { max: 1 });
    await sql`alter table platform.plans rename to plans_away`;
    const answer = callTool(user, "treatment_plan_get", { patientId: "pat-001" });
    await expect(answer).rejects.toThrow(new TypeError("The platform could not do this just now."));
    await sql`alter table platform.plans_away rename to plans`;
    await sql.end();
    expect(scene.events.at(-1)).toEqual({
      event: "platform_tool_failed",
      fields: { tool: "treatment_plan_get", code: "internal", error: "PostgresError" },
    });
  });
});
