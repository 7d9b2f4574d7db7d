import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { realChance } from "../effects.ts";
import { calls, hangs, says, scriptedModel } from "../models/scripted.ts";
import { entriesOf, platform } from "./testing/asking-scene.ts";
import { gate, holding } from "./testing/held.ts";
import { kill, takeOver } from "./testing/looks.ts";
import { press, recommend, shownOn, told } from "./testing/pressing-scene.ts";
import { Client, database, node, rivera, type ToolScript } from "./testing/scene.ts";
import { sweep } from "./upkeep.ts";

let db: Awaited<ReturnType<typeof database>>;
beforeAll(async () => {
  db = await database();
});
afterAll(() => db.end());

const plan = { plan_id: "plan_1", title: "Draft" };
const toldIn = async (id: Parameters<typeof entriesOf>[1]) =>
  (await entriesOf(db.store, id)).flatMap((one) => (one.kind === "action" ? [one.text] : []));
const variantsIn = (plans: ReturnType<ReturnType<typeof platform>["plans"]>) =>
  plans.map(({ items }) => items.map((item) => (item as { variantId: string }).variantId));

/** `tools` whose first write stops before or after its effect, until `go`. */
function stopping(tools: readonly ToolScript[], when: "before" | "after", forEver = false) {
  const arrived = gate();
  const go = gate();
  let isFirst = true;
  const slow = tools.map((tool) =>
    tool.name !== "plan_create" && tool.name !== "plan_update"
      ? tool
      : {
          ...tool,
          run: async (...input: Parameters<ToolScript["run"]>) => {
            const stops = isFirst;
            isFirst = false;
            const done = !stops || when === "after" ? await tool.run(...input) : undefined;
            if (stops) arrived.open();
            if (stops) await (forEver ? new Promise<never>(() => {}) : go.opened);
            return done ?? (await tool.run(...input));
          },
        },
  );
  return { tools: slow, arrived: arrived.opened, go: go.open };
}

describe("buttons against what happens meanwhile", () => {
  test("[AN7] two buttons at once fill one draft; one button in two ways fills it once", async () => {
    const { tools, plans } = platform();
    const slow = stopping(tools, "before");
    const { client, block_id, id } = await shownOn(db.store, slow.tools);
    const pressed = [press(client, block_id, "a"), press(client, block_id, "b")];
    await slow.arrived;
    await vi.waitFor(async () => expect(await db.sql`select 1 from actions where session_id = ${id}`).toHaveLength(2));
    slow.go();
    const both = await Promise.all(pressed);
    const ways = [
      press(client, block_id, "a", { plan_id: "plan_1" }),
      press(client, block_id, "b", { plan_id: "plan_1" }),
    ];
    const again = await Promise.all(ways);
    expect([both.map(told), again.map(told), variantsIn(plans())]).toEqual([
      [
        { result: "done", plan },
        { result: "done", plan },
      ],
      [
        { result: "duplicate", plan },
        { result: "duplicate", plan },
      ],
      [["var_a", "var_b"]],
    ]);
  });

  test("[AN8] a card keeps its buttons, and what was done with them, when its turn changes owners", async () => {
    const { tools, plans } = platform();
    const model = scriptedModel(calls("recommend"), hangs("thinking"), says("done"));
    const options = { model, tools: [recommend("pat_1"), ...tools] };
    const first = node(db.store, options);
    const id = await first.conversations.create(rivera);
    const before = await Client.open(first.conversations, id);
    await before.say("recommend");
    await before.until("llm_delta");
    const { block_id } = before.of("recommend_supplements")[0] ?? { block_id: "" };
    const done = told(await press(before, block_id, "a"));
    kill(first);

    const next = node(db.store, options);
    await takeOver(next);
    const client = await Client.open(next.conversations, id);
    expect(told(await press(client, block_id, "b"))).toEqual({ code: "unavailable" });
    await sweep(next.directory, next.world, () => undefined);
    await client.asleep();
    const turns = client.of("resync").at(-1)?.turns ?? [];
    expect([done, turns.map((turn) => turn.actions?.map(({ result }) => result))]).toEqual([
      { result: "done", plan },
      [["done"]],
    ]);
    expect(turns[0]?.blocks.map((block) => block.block_id)).toEqual([block_id]);
    expect([told(await press(client, block_id, "a")), told(await press(client, block_id, "b"))]).toEqual([
      { result: "duplicate", plan },
      { result: "done", plan },
    ]);
    expect(variantsIn(plans())).toEqual([["var_a", "var_b"]]);
  });

  test("[AN9] a drain waits for the button that was pressed, to the end of its grace; the next owner ends it", async () => {
    for (const parks of [false, true]) {
      const { tools, plans } = platform();
      const slow = stopping(tools, "after");
      const one = await shownOn(db.store, slow.tools);
      const pressed = press(one.client, one.block_id, "a");
      await slow.arrived;
      one.directory.beginDrain();
      const states = () => one.directory.resident(one.id)?.actor.getSnapshot().value;
      await vi.waitFor(() => expect(states()).toBe("hibernating"));
      if (parks) expect(await one.directory.park()).toEqual([]);
      slow.go();
      const receipt = told(await pressed);
      await one.directory.whenEmpty();
      expect([parks, receipt]).toEqual([parks, parks ? { code: "unavailable" } : { result: "done", plan }]);
      const next = node(db.store, { ...one.options, tools: [recommend("pat_1"), ...tools] });
      const client = await Client.open(next.conversations, one.id);
      await client.say("so?");
      await client.asleep();
      expect([parks, await toldIn(one.id), variantsIn(plans())]).toEqual([
        parks,
        [
          '[The user pressed "add to plan" on a card: Supplement a, 1 daily. The system added it to draft plan plan_1 (Draft).]',
        ],
        [["var_a"]],
      ]);
    }
  });

  test("D-07 [AN10] killed in the middle of a write that does not know its key: it is never sent again, and all are told", async () => {
    for (const when of ["before", "after"] as const) {
      const { tools, writes, plans } = platform({ repeatable: false });
      const dying = stopping(tools, when, true);
      const first = await shownOn(db.store, dying.tools);
      const command = realChance.uuid();
      void press(first.client, first.block_id, "a", { id: command });
      await dying.arrived;
      kill(first);
      const next = node(db.store, { ...first.options, tools: [recommend("pat_1"), ...tools] });
      await takeOver(next);
      const client = await Client.open(next.conversations, first.id);
      const receipt = told(await press(client, first.block_id, "a", { id: command }));
      const wasWritten = when === "after";
      expect([when, receipt]).toEqual([
        when,
        wasWritten
          ? { result: "duplicate", plan, duplicate: true }
          : {
              result: "failed",
              message: "It is not known whether this was added. Look at the plan before you try again.",
              duplicate: true,
            },
      ]);
      expect([when, writes.length, plans().length]).toEqual([when, wasWritten ? 1 : 0, wasWritten ? 1 : 0]);
      await client.say("so?");
      await client.asleep();
      expect([when, await toldIn(first.id)]).toEqual([
        when,
        [
          wasWritten
            ? '[The user pressed "add to plan" on a card: Supplement a, 1 daily. The system added it to draft plan plan_1 (Draft).]'
            : '[The user pressed "add to plan" on a card: Supplement a, 1 daily. The system could not add it: its answer was lost. It may have been added all the same.]',
        ],
      ]);
    }
  });

  test("[AN11] a button that is pressed while the next turn reads what was pressed is told by the turn after", async () => {
    const held = holding(db.store, "actions.unrecorded", "after");
    const { tools } = platform();
    const { id, client, block_id } = await shownOn(held.store, tools);
    await press(client, block_id, "a");
    held.arm();
    await client.say("and now?");
    await held.arrived;
    expect(told(await press(client, block_id, "b"))).toEqual({ result: "done", plan });
    // It follows at once, without a sleep that would count them anew.
    await client.say("and then?");
    held.go();
    await client.until("turn_completed", ({ data }) => data.turn_id !== client.of("turn_started")[0]?.turn_id);
    const said = (await entriesOf(db.store, id)).slice(4);
    expect(said.map((one) => (one.kind === "action" ? /Supplement \w/.exec(one.text)?.[0] : one.kind))).toEqual([
      "Supplement a",
      "user",
      "assistant",
      "Supplement b",
      "user",
      "assistant",
    ]);
  });

  test("[AN12] the same command again, found as under way and over by the time it is looked at, is not done again", async () => {
    const held = holding(db.store, "actions.intend", "after");
    const { tools, writes } = platform();
    const slow = stopping(tools, "after");
    const { client, block_id } = await shownOn(held.store, slow.tools);
    const command = realChance.uuid();
    const first = press(client, block_id, "a", { id: command });
    await slow.arrived;
    held.arm();
    const second = press(client, block_id, "a", { id: command });
    await held.arrived;
    slow.go();
    const done = told(await first);
    held.go();
    expect([done, told(await second), writes.length, client.of("action_done").length]).toEqual([
      { result: "done", plan },
      { result: "done", plan, duplicate: true },
      1,
      1,
    ]);
  });

  test("[AN15] what could not be begun is over: it is not made up for later, and may be pressed again", async () => {
    let isDown = false;
    const opening = async () => {
      if (isDown) throw new TypeError("the platform is down");
    };
    const { tools, writes } = platform();
    const { client, block_id, id } = await shownOn(db.store, tools, "pat_1", { opening });
    const command = realChance.uuid();
    isDown = true;
    const first = told(await press(client, block_id, "a", { id: command }));
    isDown = false;
    const again = told(await press(client, block_id, "a", { id: command }));
    await client.say("so?");
    await client.until("turn_completed");
    const failed = { result: "failed", message: "The plan could not be changed. Please try again." };
    expect([first, again, writes, await toldIn(id)]).toEqual([
      { code: "unavailable" },
      { ...failed, duplicate: true },
      [],
      [
        '[The user pressed "add to plan" on a card: Supplement a, 1 daily. The system could not add it: the platform can\'t be reached. Nothing was added.]',
      ],
    ]);
    expect(told(await press(client, block_id, "a"))).toEqual({ result: "done", plan });
  });

  test("[AN14] who attaches between the statement that ends an action and its answer sees it once", async () => {
    const held = holding(db.store, "actions.finish", "after");
    const read = holding(held.store, "actions.shown", "after");
    const { tools } = platform();
    const { client, block_id, conversations, id } = await shownOn(read.store, tools);
    held.arm();
    const pressed = press(client, block_id, "a");
    await held.arrived;
    read.arm();
    const attaching = Client.open(conversations, id);
    await read.arrived;
    read.go();
    await new Promise((resolve) => setImmediate(resolve));
    held.go();
    const [late] = await Promise.all([attaching, pressed]);
    const stored = late.of("resync").flatMap(({ turns }) => turns.flatMap(({ actions = [] }) => actions));
    expect([...stored, ...late.of("action_done")].map(({ result }) => result)).toEqual(["done"]);
  });

  test("[AN13] erasing the conversation while a button's call is under way leaves nothing of it behind", async () => {
    const { tools } = platform();
    const slow = stopping(tools, "before");
    const { client, block_id, conversations, directory, id } = await shownOn(db.store, slow.tools);
    const pressed = press(client, block_id, "a");
    await slow.arrived;
    await conversations.erase(id, rivera);
    slow.go();
    expect([told(await pressed), client.closed]).toEqual([
      { code: "unavailable" },
      { code: 1000, reason: "the session was erased" },
    ]);
    await vi.waitFor(() => expect(directory.isEmpty).toBe(true));
    expect(await db.sql`select 1 from actions where session_id = ${id}`).toHaveLength(0);
  });
});
