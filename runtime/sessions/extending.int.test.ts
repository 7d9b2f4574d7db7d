import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { Resolution } from "../../machines/protocol/commands.ts";
import type { Proposal } from "../../machines/protocol/interactions.ts";
import type { Store } from "../../persistence/store.ts";
import type { ToolResult } from "../../tools/tool.ts";
import { entriesOf, opened, PROPOSAL, platform, resolve, turnsOf } from "./testing/asking-scene.ts";
import { gate } from "./testing/held.ts";
import { kill, takeOver } from "./testing/looks.ts";
import { press, recommend, shownOn, told } from "./testing/pressing-scene.ts";
import { database, node, type ToolScript } from "./testing/scene.ts";
import { sweep } from "./upkeep.ts";

let db: Awaited<ReturnType<typeof database>>;
beforeAll(async () => {
  db = await database();
});
afterAll(() => db.end());

const accept: Resolution = { kind: "accepted" };
const EXTENSION: Proposal = { ...PROPOSAL, plan_id: "plan_1", title: "Draft", notes: "New." };
const propose = (proposal = EXTENSION): ToolScript => ({
  name: "propose",
  run: async (): Promise<ToolResult> => ({
    kind: "pause",
    asked: { kind: "plan_proposal", prompt: "More for the draft", proposal },
  }),
});
const draft = (...items: readonly object[]) => ({
  ...{ id: "plan_1", patientId: "pat_1", status: "draft", title: "Draft", notes: "Old." },
  items,
});
const held = (id: string, dosing: string) => ({
  ...{ id: `item_${id}`, name: `Supplement var_${id}`, brand: null },
  ...{ productId: `prod_${id}`, variantId: `var_${id}`, dosing },
});
const input = (id: string, dosing: string) => ({ productId: `prod_${id}`, variantId: `var_${id}`, dosing });

/** A card with buttons, and an open proposal for the draft `plan_1`, which holds nothing yet. */
async function extending(tools: readonly ToolScript[], store: Store = db.store) {
  const one = await shownOn(store, [propose(), ...tools]);
  await one.client.say("propose");
  const pending = await opened(one.client);
  one.client.clear();
  return { ...one, pending };
}
const toldIn = async (id: Parameters<typeof entriesOf>[1]) =>
  (await entriesOf(db.store, id)).flatMap((entry) => (entry.kind === "action" ? [entry.text] : []));

/** `tools` of which `name` does its work and then never answers, or waits for `go` before it. */
function stopping(tools: readonly ToolScript[], name: string, when: "before" | "after" | "never") {
  const arrived = gate();
  const go = gate();
  const sent: unknown[] = [];
  const slow = tools.map((tool) =>
    tool.name !== name
      ? tool
      : {
          ...tool,
          run: async (...asked: Parameters<ToolScript["run"]>) => {
            sent.push(asked[0]);
            if (when === "after") await tool.run(...asked);
            arrived.open();
            await (when === "before" ? go.opened : new Promise<never>(() => {}));
            return await tool.run(...asked);
          },
        },
  );
  return { tools: slow, arrived: arrived.opened, go: go.open, sent };
}

describe("a proposal for a draft, against what the draft holds by then", () => {
  test("[AP10] what was pressed while it was open is not added again; notes are put behind those of now", async () => {
    const { tools, writes, change } = platform();
    change(() => [draft()]);
    const { id, client, block_id, pending } = await extending(tools);
    expect(told(await press(client, block_id, "a", { dosing: "9 hourly" }))).toEqual({
      result: "done",
      plan: { plan_id: "plan_1", title: "Draft" },
    });
    change((plans) => plans.map((plan) => ({ ...plan, notes: "Older.\n\nOld." })));
    await resolve(client, pending, accept);
    await client.until("turn_completed");
    expect(writes.slice(1)).toEqual([
      {
        tool: "plan_update",
        key: `${pending.id}.1`,
        args: {
          ...{ id: "plan_1", addItems: [input("b", "2 with food")] },
          ...{ title: "Draft", notes: "Older.\n\nOld.\n\nNew." },
        },
      },
    ]);
    expect((await toldIn(id)).slice(-1)).toEqual([
      '[The system updated draft plan plan_1 "Draft" for pat_1: Supplement var_a, 9 hourly; Supplement var_b, 2 with food. Not added, as the draft held it already: Supplement var_a, 9 hourly.]',
    ]);
    expect((await turnsOf(db.store, id)).at(-1)?.blocks[0]).toBe("treatment_plan");
  });

  test("[AP11] with nothing left to add, or no draft any more, nothing is written, and the model is told", async () => {
    const all = draft(held("a", "9 hourly"), held("b", "2 with food"));
    const gone = "Nothing was saved. You may propose it again.]";
    const cases = [
      [
        all,
        '[The system changed nothing: draft plan plan_1 "Draft" for pat_1 holds all of that already: Supplement var_a, 9 hourly; Supplement var_b, 2 with food.]',
      ],
      [
        { ...draft(), status: "sent" },
        `[The system could not store the plan: plan plan_1 is no draft of this patient any more. ${gone}`,
      ],
      [
        { ...draft(), patientId: "pat_2" },
        `[The system could not store the plan: plan plan_1 is no draft of this patient any more. ${gone}`,
      ],
    ] as const;
    for (const [plan, text] of cases) {
      const { tools, writes, change } = platform();
      change(() => [draft()]);
      const { id, client, pending } = await extending(tools);
      change(() => [plan]);
      await resolve(client, pending, accept);
      await client.asleep();
      expect([writes, await toldIn(id)]).toEqual([[], [text]]);
    }
  });

  test("[AP12] a press that is under way when it is accepted ends first: the draft gets the item once", async () => {
    const { tools, plans, change } = platform();
    change(() => [draft()]);
    const slow = stopping(tools, "plan_update", "before");
    const { client, block_id, pending, id } = await extending(slow.tools);
    const pressed = press(client, block_id, "a");
    await slow.arrived;
    await resolve(client, pending, accept);
    await client.until("turn_started");
    await vi.waitFor(async () =>
      expect((await entriesOf(db.store, id)).some(({ kind }) => kind === "resolution")).toBe(true),
    );
    slow.go();
    expect(told(await pressed)).toEqual({ result: "done", plan: { plan_id: "plan_1", title: "Draft" } });
    await client.until("turn_completed");
    expect(plans().map(({ items }) => items.map((item) => (item as { variantId: string }).variantId))).toEqual([
      ["var_a", "var_b"],
    ]);
  });

  test("[AP13] a press that comes while it is stored waits for it, and finds the item", async () => {
    const { tools, plans, change } = platform();
    change(() => [draft()]);
    const slow = stopping(tools, "plan_update", "before");
    const { client, block_id, pending, id } = await extending(slow.tools);
    await resolve(client, pending, accept);
    await slow.arrived;
    const pressed = press(client, block_id, "a");
    await vi.waitFor(async () => expect(await db.sql`select 1 from actions where session_id = ${id}`).toHaveLength(1));
    await new Promise((resolve) => setImmediate(resolve));
    slow.go();
    expect(told(await pressed)).toEqual({
      result: "duplicate",
      plan: { plan_id: "plan_1", title: "Draft" },
      message: "It was in the plan already, as “1 at night”. Nothing was changed.",
    });
    await client.until("turn_completed");
    expect(plans().map(({ items }) => items.length)).toEqual([2]);
  });

  test("D-07 [AP14] killed before or after the write: the same call is sent again under its key, or found to be done", async () => {
    for (const when of ["never", "after"] as const) {
      const { tools, writes, plans, change } = platform();
      change(() => [draft(held("a", "9 hourly"))]);
      const dying = stopping(tools, "plan_update", when);
      const first = await extending(dying.tools);
      const { id, pending } = first;
      void resolve(first.client, pending, accept);
      await dying.arrived;
      kill(first);
      const next = node(db.store, { ...first.options, tools: [recommend("pat_1"), propose(), ...tools] });
      await takeOver(next);
      await sweep(next.directory, next.world, () => undefined);
      await next.directory.whenEmpty();
      const args = {
        ...{ id: "plan_1", addItems: [input("b", "2 with food")] },
        ...{ title: "Draft", notes: "Old.\n\nNew." },
      };
      expect(dying.sent).toEqual([args]);
      expect([when, writes]).toEqual([when, [{ tool: "plan_update", key: `${pending.id}.1`, args }]]);
      expect([when, plans().map(({ items, notes }) => [items.length, notes]), await toldIn(id)]).toEqual([
        when,
        [[2, "Old.\n\nNew."]],
        [
          '[The system updated draft plan plan_1 "Draft" for pat_1: Supplement var_a, 9 hourly; Supplement var_b, 2 with food. Not added, as the draft held it already: Supplement var_a, 9 hourly.]',
        ],
      ]);
      expect((await turnsOf(db.store, id)).at(-1)?.blocks[0]).toBe("treatment_plan");
    }
  });

  test("[AP15] a draft that can't be read is not written to; an ended login is told and fails the turn in words that help", async () => {
    for (const reason of ["unavailable", "auth"] as const) {
      const { tools, writes, change } = platform();
      change(() => [draft()]);
      const blind = tools.map((tool) =>
        tool.name === "plan_get"
          ? { ...tool, run: async (): Promise<ToolResult> => ({ kind: "error", reason, text: "It is away." }) }
          : tool,
      );
      const { id, client, pending } = await extending(blind);
      await resolve(client, pending, accept);
      await client.until("state_changed", ({ data }) => data.status === "resting");
      expect([reason, writes, await toldIn(id), client.of("turn_failed").map(({ message }) => message)]).toEqual([
        reason,
        [],
        ["[The system could not store the plan: It is away. Nothing was saved. You may propose it again.]"],
        reason === "auth"
          ? [
              "Your login ended. Your answer was kept, but the plan was not stored. Log in again and write a message to have it proposed again.",
            ]
          : [],
      ]);
      const again = await resolve(client, pending, accept);
      expect(again.kind === "interaction_receipt" && [again.data.result, again.data.message]).toEqual([
        "duplicate",
        "This was accepted before, but its plan may not have been stored. Look at the patient's plans, or write a message to have it proposed again.",
      ]);
    }
  });
});
