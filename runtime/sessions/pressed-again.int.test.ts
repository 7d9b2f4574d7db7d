import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { entriesOf, platform } from "./testing/asking-scene.ts";
import { press, shownOn, told } from "./testing/pressing-scene.ts";
import { database } from "./testing/scene.ts";

let db: Awaited<ReturnType<typeof database>>;
beforeAll(async () => {
  db = await database();
});
afterAll(() => db.end());

const plan = { plan_id: "plan_1", title: "Draft" };
const item = (id: string, dosing: string) => ({
  ...{ id: `item_${id}`, name: `Supplement ${id}`, brand: null },
  ...{ productId: `prod_${id}`, variantId: `var_${id}`, dosing },
});
const draft = (id: string, ...items: readonly object[]) => ({
  ...{ id, patientId: "pat_1", status: "draft", title: "Draft", items },
});
const variantsIn = (plans: readonly { readonly items: readonly unknown[] }[]) =>
  plans.map(({ items }) => items.map((one) => (one as { variantId: string }).variantId));

describe("a button whose item the draft holds, or held", () => {
  test("[AN16] what the draft holds in another dosing is told as the draft has it, and not as an addition", async () => {
    const { tools, writes, change } = platform();
    change(() => [draft("plan_1", item("a", "1 capsule at night"))]);
    const { id, client, block_id } = await shownOn(db.store, tools);
    const message = "It was in the plan already, as “1 capsule at night”. Nothing was changed.";
    expect(told(await press(client, block_id, "a", { dosing: "9 capsules hourly" }))).toEqual({
      result: "duplicate",
      plan,
      message,
    });
    expect(client.of("action_done")).toEqual([
      {
        ...{ block_id, action: "add_to_plan", result: "duplicate", plan, message },
        item: {
          ...{ product_id: "prod_a", variant_id: "var_a", dosing: "1 capsule at night" },
          ...{ name: "Supplement a", brand: "Brand" },
        },
      },
    ]);
    await client.say("what did I add?");
    await client.until("turn_completed");
    const texts = (await entriesOf(db.store, id)).flatMap((one) => (one.kind === "action" ? [one.text] : []));
    expect([texts, writes]).toEqual([
      [
        '[The user pressed "add to plan" on a card: Supplement a. It was in draft plan plan_1 (Draft) already, as 1 capsule at night; nothing was changed.]',
      ],
      [],
    ]);
  });

  test("[AN17] an item that was taken out of the draft can be put in again from its card, also from a plan by name", async () => {
    const { tools, plans, change } = platform();
    const { client, block_id } = await shownOn(db.store, tools);
    for (const more of [{}, { plan_id: "plan_1" }]) {
      expect(told(await press(client, block_id, "a", more))).toEqual({ result: "done", plan });
      expect(told(await press(client, block_id, "a", more))).toEqual({ result: "duplicate", plan });
      change((all) => all.map((one) => ({ ...one, items: [] })));
      expect(told(await press(client, block_id, "a", more))).toEqual({ result: "done", plan });
      expect(variantsIn(plans())).toEqual([["var_a"]]);
      change((all) => all.map((one) => ({ ...one, items: [] })));
    }
  });

  test("[AN18] pressed again after a newer draft came, it is where it was put before", async () => {
    const { tools, plans, change } = platform();
    const { client, block_id } = await shownOn(db.store, tools);
    await press(client, block_id, "a");
    change((all) => [draft("plan_2"), ...all]);
    expect([told(await press(client, block_id, "a")), told(await press(client, block_id, "b"))]).toEqual([
      { result: "duplicate", plan },
      { result: "done", plan: { ...plan, plan_id: "plan_2" } },
    ]);
    expect(variantsIn(plans())).toEqual([["var_b"], ["var_a"]]);
  });

  test("[AN19] whoever has no tools to write plans with is told that it is the account, however often", async () => {
    for (const lacking of ["plan_create", "plan_update", "plan_get"]) {
      const { tools, writes } = platform();
      const { client, block_id } = await shownOn(
        db.store,
        tools.filter(({ name }) => name !== lacking),
      );
      const message = "Plans can't be changed with your account.";
      const twice = [told(await press(client, block_id)), told(await press(client, block_id))];
      expect([lacking, twice, writes]).toEqual([
        lacking,
        [
          { result: "invalid", message },
          { result: "invalid", message },
        ],
        [],
      ]);
    }
  });

  test("[AN20] with a plan by name only that plan is written to, whatever else the platform gives", async () => {
    const { tools, plans, change } = platform();
    change(() => [draft("plan_2", item("a", "1")), draft("plan_1")]);
    const generous = tools.map((tool) =>
      tool.name === "plan_get"
        ? { ...tool, run: async () => ({ kind: "ok" as const, text: "", data: { plans: plans() } }) }
        : tool,
    );
    const { client, block_id } = await shownOn(db.store, generous);
    expect([
      told(await press(client, block_id, "a", { plan_id: "plan_1" })),
      told(await press(client, block_id, "a", { plan_id: "plan_9" })),
    ]).toEqual([
      { result: "done", plan },
      { result: "failed", message: "That plan is not a draft any more." },
    ]);
    expect(variantsIn(plans())).toEqual([["var_a"], ["var_a"]]);
  });

  test("[AN21] two sessions may use the same command id: each writes under a key of its own", async () => {
    const { tools, writes } = platform();
    const id = "0c000000-0000-4000-8000-000000000000";
    const [one, two] = [await shownOn(db.store, tools), await shownOn(db.store, tools, "pat_2")];
    for (const { client, block_id } of [one, two])
      expect(told(await press(client, block_id, "a", { id }))).toHaveProperty("result", "done");
    expect(writes.map(({ key }) => key)).toEqual([`${one.id}.${id}`, `${two.id}.${id}`]);
  });
});
