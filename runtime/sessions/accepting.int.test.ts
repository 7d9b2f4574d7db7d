import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Resolution } from "../../machines/protocol/commands.ts";
import type { ToolResult } from "../../tools/tool.ts";
import { askingOn, entriesOf, opened, platform, receiptOf, resolve, turnsOf } from "./testing/asking-scene.ts";
import { gate } from "./testing/held.ts";
import { kill, takeOver } from "./testing/looks.ts";
import { Client, database, node, type ToolScript } from "./testing/scene.ts";
import { sweep } from "./upkeep.ts";

let db: Awaited<ReturnType<typeof database>>;
beforeAll(async () => {
  db = await database();
});
afterAll(() => db.end());

const accept = (edits?: unknown): Resolution => ({ kind: "accepted", ...(edits !== undefined && { edits }) });

async function proposed(tools: readonly ToolScript[]) {
  const one = await askingOn(db.store, { tools });
  await one.client.say("propose a plan");
  const pending = await opened(one.client);
  one.client.clear();
  return { ...one, pending };
}

const actionsIn = async (id: Parameters<typeof entriesOf>[1]) =>
  (await entriesOf(db.store, id)).flatMap((entry) => (entry.kind === "action" ? [entry.text] : []));

describe("accepting a proposal", () => {
  test("[AP1] the system writes it as edited, once, under the interaction's key, and the model is told", async () => {
    const { tools, writes, plans } = platform();
    const { id, client, pending } = await proposed(tools);
    const edits = { title: "Better sleep", items: [{ variant_id: "var_b", dosing: "half at night", name: "ignored" }] };
    expect(receiptOf(await resolve(client, pending, accept(edits))).result).toBe("accepted");
    await client.asleep();
    const items = [{ productId: "prod_b", variantId: "var_b", dosing: "half at night" }];
    expect(writes).toEqual([
      { tool: "plan_create", key: `${pending.id}.1`, args: { patientId: "pat_1", items, title: "Better sleep" } },
    ]);
    expect(plans().map(({ title }) => title)).toEqual(["Better sleep"]);
    expect(client.of("tool_call_finished").map(({ name, outcome }) => [name, outcome])).toEqual([
      ["plan_create", "ok"],
    ]);
    expect(await turnsOf(db.store, id)).toEqual([
      { cause: "message", input: "propose a plan", outcome: "awaiting", blocks: ["interaction_request"] },
      {
        cause: "resolution",
        input: "Accepted with changes",
        outcome: "completed",
        blocks: [
          "treatment_plan",
          `[Interaction ${pending.id}, plan_proposal: "A plan for sleep". The user accepted the proposal with changes. The system stores the plan itself: do not store it again.]\n[The system created draft plan plan_1 "Better sleep" for pat_1: Supplement var_b, half at night.]`,
        ],
      },
    ]);
  });

  test("D-12 edits that name what was not proposed are invalid; the proposal stays open", async () => {
    const { tools, writes } = platform();
    const { client, pending } = await proposed(tools);
    const wrong = [
      { items: [{ variant_id: "var_z", dosing: "1" }] },
      { items: [] },
      { items: [{ variant_id: "var_a", dosing: " " }] },
      {
        items: [
          { variant_id: "var_a", dosing: "1" },
          { variant_id: "var_a", dosing: "2" },
        ],
      },
      "all of it",
    ];
    for (const edits of wrong) expect(receiptOf(await resolve(client, pending, accept(edits))).result).toBe("invalid");
    expect(receiptOf(await resolve(client, pending, { kind: "answered", selected: ["a"] })).result).toBe("invalid");
    expect(writes).toEqual([]);
    expect(receiptOf(await resolve(client, pending, accept())).result).toBe("accepted");
  });

  test("[AP2] dismissing writes nothing and tells the model why", async () => {
    const { tools, writes } = platform();
    const { id, client, pending } = await proposed(tools);
    await resolve(client, pending, { kind: "dismissed", reason: "too many pills" });
    await client.asleep();
    expect(writes).toEqual([]);
    const [, turn] = await turnsOf(db.store, id);
    expect([turn?.input, turn?.blocks]).toEqual([
      "Dismissed: too many pills",
      [
        `[Interaction ${pending.id}, plan_proposal: "A plan for sleep". The user dismissed it. Reason: "too many pills".]`,
      ],
    ]);
  });

  test("[AP3] a write that fails leaves it accepted, is told to the model, and is not tried again", async () => {
    const failing: ToolScript = {
      name: "plan_create",
      readOnly: false,
      run: async (): Promise<ToolResult> => ({ kind: "error", reason: "tool", text: "the patient is archived" }),
    };
    const { id, client, pending } = await proposed([failing]);
    await resolve(client, pending, accept());
    await client.asleep();
    expect(await actionsIn(id)).toEqual([
      "[The system could not store the plan: the patient is archived. Nothing was saved. You may propose it again.]",
    ]);
    expect((await db.store.interactions.find(id, pending.id as never))?.status).toBe("accepted");
    expect((await turnsOf(db.store, id)).map(({ outcome }) => outcome)).toEqual(["awaiting", "completed"]);
  });

  test("[AP4] a user without the plan tool gets a turn that says so", async () => {
    const { id, client, pending } = await proposed([]);
    await resolve(client, pending, accept());
    await client.asleep();
    expect(await actionsIn(id)).toEqual([
      "[The system could not store the plan: plans can't be written for this user. Nothing was saved. You may propose it again.]",
    ]);
  });

  test("D-07 [AP5] killed between the write and its outcome: a repeatable write is sent again under the same key, another one never", async () => {
    for (const repeatable of [true, false]) {
      const { tools, writes, plans } = platform({ repeatable });
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
      const first = await proposed(dying);
      const { id, pending } = first;
      void resolve(first.client, pending, accept());
      await acted.opened;
      kill(first);
      const own = first.options.tools.filter(({ name }) => name === "ask" || name === "propose");
      const next = node(db.store, { ...first.options, tools: [...own, ...tools] });
      await takeOver(next);
      const client = await Client.open(next.conversations, id);
      await sweep(next.directory, next.world, () => undefined);
      await client.asleep();
      const told = await actionsIn(id);
      expect([repeatable, writes.map(({ key }) => key), plans().length]).toEqual([
        repeatable,
        repeatable ? [`${pending.id}.1`, `${pending.id}.1`] : [`${pending.id}.1`],
        1,
      ]);
      expect(told).toEqual([
        repeatable
          ? '[The system created draft plan plan_1 "Sleep" for pat_1: Supplement var_a, 1 at night; Supplement var_b, 2 with food.]'
          : "[The system could not store the plan: its answer was lost. It may have been saved all the same: read the patient's plans before you propose it again.]",
      ]);
      expect((await turnsOf(db.store, id)).map(({ cause, outcome }) => [cause, outcome])).toEqual([
        ["message", "awaiting"],
        ["recovery", "completed"],
      ]);
    }
  });
});
