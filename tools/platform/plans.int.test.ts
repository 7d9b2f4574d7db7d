import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import postgres, { type Sql } from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { loadDataset } from "./catalog/dataset.ts";
import type { Plan } from "./store/plans.ts";
import { callTool, type TestPlatform, testPlatform } from "./testing/platform.ts";

const [first, second] = loadDataset().products;
const item = (product = first, dosing = "1 capsule with dinner") => ({
  productId: product?.id ?? "",
  variantId: product?.availableOrMasterVariant.id ?? "",
  dosing,
});

let scene: TestPlatform;
let rivera: Client;
let okafor: Client;
let sql: Sql;
beforeAll(async () => {
  scene = await testPlatform();
  const { url } = await scene.start();
  rivera = await scene.clientFor(url, "dr-rivera");
  okafor = await scene.clientFor(url, "dr-okafor");
  sql = postgres(scene.databaseUrl, { max: 1 });
});
afterAll(async () => {
  await sql.end();
  await scene.close();
});

const create = async (client: Client, args: Record<string, unknown>, key?: string) =>
  (await callTool(client, "treatment_plan_create", { patientId: "pat-001", items: [item()], ...args }, key))[
    "plan"
  ] as Plan;
const update = async (client: Client, args: Record<string, unknown>, key?: string) =>
  (await callTool(client, "treatment_plan_update", args, key))["plan"] as Plan;
const get = async (client: Client, by: Record<string, unknown>) =>
  (await callTool(client, "treatment_plan_get", by))["plans"] as Plan[];
const stored = async () => Number((await sql`select count(*) from platform.plans`)[0]?.["count"]);

test("[PF-70] a plan is created, read and changed", async () => {
  const created = await create(rivera, {
    lifestyle: [{ title: "Walk", detail: "30 minutes a day" }, { title: "Sleep" }],
    labs: ["ferritin"],
    notes: "Review in 8 weeks.",
  });
  const expected = {
    id: expect.stringMatching(/^plan-/),
    patientId: "pat-001",
    patientName: "Marisol Vantreight",
    status: "draft",
    title: "Plan for Marisol Vantreight",
    items: [{ id: expect.stringMatching(/^item-/), ...item(), name: first?.name, brand: first?.brand }],
    lifestyle: [
      { title: "Walk", detail: "30 minutes a day" },
      { title: "Sleep", detail: null },
    ],
    labs: [{ id: "ferritin", name: "Ferritin" }],
    notes: "Review in 8 weeks.",
    revision: 1,
    createdBy: "dr-rivera",
    createdAt: "2026-07-01T09:00:00.000Z",
    updatedAt: "2026-07-01T09:00:00.000Z",
  };
  expect(created).toEqual(expected);
  expect(await get(rivera, { id: created.id })).toEqual([created]);

  scene.clock.now += 60_000;
  const changed = await update(rivera, {
    id: created.id,
    addItems: [item(second, "at night")],
    removeItemIds: [created.items[0]?.id],
    title: "Energy",
    labs: [],
  });
  expect(changed).toEqual({
    ...created,
    title: "Energy",
    items: [
      { id: expect.stringMatching(/^item-/), ...item(second, "at night"), name: second?.name, brand: second?.brand },
    ],
    labs: [],
    revision: 2,
    updatedAt: "2026-07-01T09:01:00.000Z",
  });
  expect(await get(rivera, { id: created.id })).toEqual([changed]);
});

test("[PF-71] plans belong to who made them", async () => {
  const mine = await create(rivera, { patientId: "pat-004" });
  const hers = await create(okafor, { patientId: "pat-004" });
  expect(await get(rivera, { patientId: "pat-004" })).toEqual([mine]);
  expect(await get(okafor, { patientId: "pat-004" })).toEqual([hers]);
  expect(await get(okafor, { id: mine.id })).toEqual([]);
  await expect(update(okafor, { id: mine.id, title: "x" })).rejects.toThrow("There is no plan with this id");
});

test("[PF-72] twenty concurrent calls with one key make one plan and get one answer", async () => {
  const before = await stored();
  const calls = Array.from({ length: 20 }, () => create(rivera, { title: "Once" }, "s1.t1.c1"));
  const answers = await Promise.all(calls);
  expect(new Set(answers.map((plan) => JSON.stringify(plan))).size).toBe(1);
  expect(await stored()).toBe(before + 1);

  const [plan] = answers;
  const updates = Array.from({ length: 20 }, () => update(rivera, { id: plan?.id, addItems: [item()] }, "s1.t2.c1"));
  expect(new Set((await Promise.all(updates)).map(({ revision }) => revision))).toEqual(new Set([2]));
  expect((await get(rivera, { id: plan?.id }))[0]?.items).toHaveLength(2);
});

test("[PF-73] a key answers for its arguments and its user only", async () => {
  const plan = await create(rivera, { title: "A" }, "k1");
  await update(rivera, { id: plan.id, title: "B" });
  expect(await create(rivera, { title: "A" }, "k1")).toEqual(plan);
  const message = "This idempotency key was already used with other arguments.";
  await expect(create(rivera, { title: "C" }, "k1")).rejects.toThrow(message);
  await expect(update(rivera, { id: plan.id, title: "A" }, "k1")).rejects.toThrow(message);
  expect((await create(okafor, { title: "A" }, "k1")).id).not.toBe(plan.id);
});

test("[PF-74] a refused write leaves neither plan nor key", async () => {
  const before = await stored();
  await expect(create(rivera, { patientId: "pat-none" }, "k2")).rejects.toThrow("There is no patient with this id");
  expect(await stored()).toBe(before);
  expect((await create(rivera, {}, "k2")).revision).toBe(1);
});

test("[PF-75] concurrent changes of one plan are all kept", async () => {
  const plan = await create(rivera, {});
  await Promise.all(Array.from({ length: 8 }, () => update(rivera, { id: plan.id, addItems: [item(second)] })));
  const [after] = await get(rivera, { id: plan.id });
  expect([after?.revision, after?.items.length]).toEqual([9, 9]);
});

test.each([
  [{ items: [{ ...item(), productId: "prd-none" }] }, "There is no product with this productId"],
  [{ items: [{ ...item(), variantId: "var-none" }] }, "variantId is not a variant of"],
  [{ items: [{ ...item(), variantId: second?.availableOrMasterVariant.id }] }, "variantId is not a variant of"],
  [{ labs: ["lab-none"] }, "There is no lab test with one of these ids"],
  [{ items: [{ productId: first?.id }] }, "Wrong arguments: items.0 must have required property 'variantId'."],
])("[PF-76] what the platform does not know is refused: %j", async (args, message) => {
  await expect(create(rivera, args)).rejects.toThrow(message);
});

test("[PF-76] items that are not in the plan cannot be removed", async () => {
  const plan = await create(rivera, {});
  const message = "The plan has no item with one of the removeItemIds.";
  await expect(update(rivera, { id: plan.id, removeItemIds: ["item-none"] })).rejects.toThrow(message);
});

test("[H-01] NUL, control characters and literal escapes come back as they were", async () => {
  const text = `a\u0000b \\u0000 ${String.fromCharCode(...Array.from({ length: 31 }, (_, at) => at + 1))} ½ 妊娠`;
  const plan = await create(rivera, { title: text, notes: text, items: [item(first, text)] }, "k\u0000ey");
  expect([plan.title, plan.notes, plan.items[0]?.dosing]).toEqual([text, text, text]);
  expect(await get(rivera, { id: plan.id })).toEqual([plan]);
  expect(await get(rivera, { id: "a\u0000b" })).toEqual([]);
  expect(await get(rivera, { patientId: "a\u0000b" })).toEqual([]);
});

test("[PF-77] nothing of a plan is stored in clear", async () => {
  await create(rivera, { title: "MARK-91 title", notes: "MARK-91 notes", items: [item(first, "MARK-91")] }, "k3");
  const rows = await sql<{ payload: Buffer; rest: string }[]>`
    select payload, to_jsonb(p) - 'payload' as rest from platform.plans p
    union all select payload, to_jsonb(k) - 'payload' from platform.idempotency_keys k`;
  const texts = rows.map(({ payload, rest }) => payload.toString("latin1") + JSON.stringify(rest));
  expect(texts.filter((text) => text.includes("MARK-91") || text.includes("Vantreight"))).toEqual([]);
  expect(rows.length).toBeGreaterThan(2);
});

test("[PF-78] several processes may start on an empty database at once", async () => {
  const empty = await testPlatform();
  try {
    const started = await Promise.all(Array.from({ length: 4 }, () => empty.start()));
    expect(new Set(started.map(({ url }) => url)).size).toBe(4);
  } finally {
    await empty.close();
  }
});
