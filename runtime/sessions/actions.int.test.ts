import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ToolResult } from "../../tools/tool.ts";
import { realChance } from "../effects.ts";
import { entriesOf, platform } from "./testing/asking-scene.ts";
import { gate, losing } from "./testing/held.ts";
import { kill, takeOver } from "./testing/looks.ts";
import { press, recommend, recommender, shownOn, told } from "./testing/pressing-scene.ts";
import { Client, database, node, rivera, type ToolScript } from "./testing/scene.ts";

let db: Awaited<ReturnType<typeof database>>;
beforeAll(async () => {
  db = await database();
});
afterAll(() => db.end());

const plan = { plan_id: "plan_1", title: "Draft" };

describe("actions", () => {
  test("[AN1] a card's button writes as the user without the model, shows it to all, and the next turn knows", async () => {
    const { tools, writes, plans } = platform();
    const { id, client, conversations, block_id, scripted, directory } = await shownOn(db.store, tools);
    const asked = scripted.requests.length;
    const command = realChance.uuid();
    const receipt = await press(client, block_id, "a", { id: command, dosing: "2 daily" });
    expect(told(receipt)).toEqual({ result: "done", plan });
    expect(writes).toEqual([
      {
        tool: "plan_create",
        key: `${id}.${command}`,
        args: { patientId: "pat_1", items: [{ productId: "prod_a", variantId: "var_a", dosing: "2 daily" }] },
      },
    ]);
    const done = {
      block_id,
      action: "add_to_plan",
      item: { product_id: "prod_a", variant_id: "var_a", dosing: "2 daily", name: "Supplement a", brand: "Brand" },
      result: "done",
      plan,
    };
    expect([client.of("action_done"), scripted.requests.length - asked]).toEqual([[done], 0]);
    await client.asleep();
    await directory.whenEmpty();
    const page = await conversations.page(id, rivera);
    expect(page.turns.map((turn) => turn.actions)).toEqual([[done]]);
    client.clear();
    await client.say("what did I add?");
    await client.asleep();
    const text =
      '[The user pressed "add to plan" on a card: Supplement a, 2 daily. The system added it to draft plan plan_1 (Draft).]';
    expect(client.text).toBe(`${text}\nwhat did I add?`);
    client.clear();
    await client.say("and now?");
    await client.asleep();
    expect([client.text, plans().length]).toEqual(["and now?", 1]);
  });

  test("[AN2] once however often it is pressed: twice at once, again under the same id, again after a reload, for a plan by name", async () => {
    const { tools, writes, plans } = platform();
    const { id, client, conversations, block_id } = await shownOn(db.store, tools);
    const first = realChance.uuid();
    const both = await Promise.all([press(client, block_id, "a", { id: first }), press(client, block_id, "a")]);
    expect(both.map(told)).toEqual([
      { result: "done", plan },
      { result: "duplicate", plan },
    ]);
    const tab = await Client.open(conversations, id);
    const again = [
      await press(client, block_id, "a", { id: first }),
      await press(tab, block_id, "a"),
      await press(tab, block_id, "a", { plan_id: "plan_1" }),
    ];
    expect(again.map(told)).toEqual([
      { result: "done", plan, duplicate: true },
      { result: "duplicate", plan },
      { result: "duplicate", plan },
    ]);
    expect(told(await press(tab, block_id, "b", { id: first }))).toEqual({ code: "conflict" });
    expect(told(await press(tab, block_id, "b"))).toEqual({ result: "done", plan });
    expect([writes.map(({ tool }) => tool), plans().map(({ items }) => items.length)]).toEqual([
      ["plan_create", "plan_update"],
      [2],
    ]);
  });

  test("[AN3] what is on no card, has no patient, or names no draft is refused and nothing is written", async () => {
    const { tools, writes } = platform();
    const { client, block_id } = await shownOn(db.store, tools);
    const homeless = await shownOn(db.store, tools, null);
    expect(told(await press(homeless.client, homeless.block_id))).toEqual({
      result: "invalid",
      message: "Choose a patient or a plan first.",
    });
    expect(told(await press(client, realChance.uuid()))).toEqual({
      result: "invalid",
      message: "That item is on no card of this conversation.",
    });
    expect(told(await press(client, block_id, "z"))).toEqual({
      result: "invalid",
      message: "That item is on no card of this conversation.",
    });
    expect(told(await press(client, block_id, "a", { plan_id: "plan_99" }))).toEqual({
      result: "failed",
      message: "That plan is not a draft any more.",
    });
    expect(writes).toEqual([]);
  });

  test("[AN4] a failed write is told and may be pressed again; a slow one holds up neither messages nor Stop", async () => {
    const { tools } = platform();
    const slow = gate();
    const began = gate();
    let fails = true;
    const flaky = tools.map((tool) =>
      tool.name !== "plan_create"
        ? tool
        : {
            ...tool,
            run: async (...input: Parameters<ToolScript["run"]>): Promise<ToolResult> => {
              if (fails) return { kind: "error", reason: "unavailable", text: "the platform is down" };
              began.open();
              await slow.opened;
              return await tool.run(...input);
            },
          },
    );
    const { client, block_id } = await shownOn(db.store, flaky);
    expect(told(await press(client, block_id))).toEqual({
      result: "failed",
      message: "The plan could not be changed. Please try again.",
    });
    fails = false;
    const pressed = press(client, block_id);
    await began.opened;
    await client.say("hang");
    await client.until("llm_delta");
    const stopped = await client.stop();
    await client.until("turn_cancelled");
    slow.open();
    expect([stopped.kind === "cancel_receipt" && stopped.data.cancelled.length, told(await pressed)]).toEqual([
      1,
      { result: "done", plan },
    ]);
    client.clear();
    await client.say("so?");
    await client.until("turn_completed");
    const pressing = '[The user pressed "add to plan" on a card: Supplement a, 1 daily.';
    expect(client.text).toBe(`${pressing} The system added it to draft plan plan_1 (Draft).]\nso?`);
  });

  test("[AN5] killed between the write and its end: the next turn ends it under the same key, and so does the same command", async () => {
    for (const how of ["turn", "command"] as const) {
      const { tools, writes, plans } = platform();
      const acted = gate();
      const dying = tools.map((tool) =>
        tool.name !== "plan_create"
          ? tool
          : {
              ...tool,
              run: async (...input: Parameters<ToolScript["run"]>) => {
                await tool.run(...input);
                acted.open();
                return await new Promise<never>(() => {});
              },
            },
      );
      const first = await shownOn(db.store, dying);
      const command = realChance.uuid();
      void press(first.client, first.block_id, "a", { id: command });
      await acted.opened;
      kill(first);
      const next = node(db.store, { ...first.options, tools: [recommend("pat_1"), ...tools] });
      await takeOver(next);
      const client = await Client.open(next.conversations, first.id);
      if (how === "command") {
        // The draft of the first try is there and holds the item.
        expect(told(await press(client, first.block_id, "a", { id: command }))).toEqual({
          result: "duplicate",
          plan,
          duplicate: true,
        });
      }
      client.clear();
      await client.say("what did I add?");
      await client.asleep();
      const texts = (await entriesOf(db.store, first.id)).flatMap((one) => (one.kind === "action" ? [one.text] : []));
      expect([
        texts.length,
        plans().map(({ items }) => items.length),
        new Set(writes.map(({ key }) => key)).size,
      ]).toEqual([1, [1], 1]);
    }
  });

  test("[AN6] a lost answer of the database to the intent changes nothing for the user", async () => {
    const { tools, writes } = platform();
    const lossy = losing(db.store, "actions.intend");
    const scripted = recommender();
    const scene = { model: scripted, tools: [recommend("pat_1"), ...tools] };
    const one = node(lossy.store, scene);
    const id = await one.conversations.create(rivera);
    const client = await Client.open(one.conversations, id);
    await client.say("recommend");
    await client.asleep();
    const { block_id } = client.of("recommend_supplements")[0] ?? { block_id: "" };
    lossy.arm();
    const command = realChance.uuid();
    const first = told(await press(client, block_id, "a", { id: command }));
    const second = told(await press(client, block_id, "a", { id: command }));
    expect([first, second, writes.length]).toEqual([
      { code: "unavailable" },
      { result: "done", plan, duplicate: true },
      1,
    ]);
  });
});
