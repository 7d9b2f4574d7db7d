import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { after, calls, callsAll, hangs, type Move, says, scriptedModel } from "../models/scripted.ts";
import { gate, holding, ticking } from "./testing/held.ts";
import { cancelledOf, echo, sessionOn, turnOf, turnsOf } from "./testing/looks.ts";
import { Client, database, type ToolScript } from "./testing/scene.ts";
import { strictModel } from "./testing/strict-model.ts";

let db: Awaited<ReturnType<typeof database>>;
beforeAll(async () => {
  db = await database();
});
afterAll(() => db.end());

/** Three calls of one step: one that is done, one that runs and never listens, one that writes. */
function threeTools() {
  const running = gate();
  const late = gate();
  const written: string[] = [];
  const aborted: boolean[] = [];
  const tools: ToolScript[] = [
    { name: "t1", run: async () => ({ kind: "ok", text: "done" }) },
    {
      name: "t2",
      run: async (_args, _key, signal) => {
        running.open();
        await late.opened;
        aborted.push(signal.aborted);
        return { kind: "ok", text: "late" };
      },
    },
    {
      name: "t3",
      readOnly: false,
      run: async (_args, key) => {
        written.push(key);
        return { kind: "ok", text: "written" };
      },
    },
  ];
  return { tools, running: running.opened, late, written, aborted };
}

const THREE = [{ tool: "t1" }, { tool: "t2" }, { tool: "t3" }];

describe("Stop", () => {
  test("D-04 in the middle of tools: real results stay, the others are cancelled, what waits never starts, history stays valid", async () => {
    const { tools, running, late, written, aborted } = threeTools();
    // Strict: it refuses what either provider refuses.
    const model = strictModel(100_000, ({ entries }, count) => {
      if (count === 1) return THREE;
      const last = entries.findLast((entry) => entry.kind === "user");
      return `echo ${last?.kind === "user" ? last.text : ""}`;
    });
    const held = holding(db.store, "histories.append", "before");
    const { client, conversations, id, directory } = await sessionOn(held.store, { model, tools });
    await client.say("one");
    await client.until("turn_started");
    held.arm();
    await client.until("tool_call_finished", ({ data }) => data.name === "t1");
    await running;
    // The database is slow, so the intent of t3 is not durable, and Stop comes first.
    await held.arrived;
    const stopping = client.stop();
    held.go();
    // Acknowledged although t2 still runs.
    const [receipt, again] = [await stopping, await client.stop()];
    await client.asleep();
    late.open();
    await directory.whenEmpty();
    const turn = client.of("turn_started")[0]?.turn_id ?? "";
    expect([cancelledOf(receipt), cancelledOf(again).length < 2, written, aborted]).toEqual([[turn], true, [], [true]]);
    const results = (await db.store.histories.load(id, 0)).flatMap(({ entry }) =>
      entry.kind === "tool_result" ? [[entry.name, entry.outcome, entry.text]] : [],
    );
    expect(results.toSorted()).toEqual([
      ["t1", "ok", "done"],
      ["t2", "cancelled", "cancelled by user"],
      ["t3", "cancelled", "cancelled by user"],
    ]);
    const ended = client.of("tool_call_finished").map(({ name, outcome }) => [name, outcome]);
    expect(ended.toSorted()).toEqual([
      ["t1", "ok"],
      ["t2", "cancelled"],
      ["t3", "cancelled"],
    ]);
    client.clear();
    await client.say("never mind, show labs");
    await client.asleep();
    const outcomes = (await turnsOf(db.store, id)).map(([, said, outcome]) => [said, outcome]);
    expect([client.text, outcomes]).toEqual([
      "echo never mind, show labs",
      [
        ["one", "cancelled"],
        ["never mind, show labs", "completed"],
      ],
    ]);
    const reloaded = await Client.open(conversations, id);
    const [page] = reloaded.of("resync");
    expect([page?.turns.map(({ outcome }) => outcome), page?.state]).toEqual([
      ["cancelled", "completed"],
      { status: "hibernated", pending_interaction: null, queue: [] },
    ]);
  });

  test("D-04 while text streams: what was shown is kept, twice is as good as once, and when nothing runs it changes nothing", async () => {
    const model = scriptedModel(hangs("You could tr"), echo);
    const { client, id, directory } = await sessionOn(db.store, { model });
    const idle = await client.stop();
    await client.say("one");
    await client.until("llm_delta", ({ data }) => data.text === "tr");
    const receipts = await Promise.all([client.stop(), client.stop()]);
    await client.asleep();
    await directory.whenEmpty();
    const before = client.signals.length;
    const after = await client.stop();
    const turn = client.of("turn_started")[0]?.turn_id ?? "";
    expect([idle, receipts[0], after].map((one) => one && cancelledOf(one))).toEqual([[], [turn], []]);
    expect([client.signals.length - before, client.of("turn_cancelled")]).toEqual([0, [{ turn_id: turn }]]);
    await client.say("two");
    await client.until("turn_completed");
    expect(await turnsOf(db.store, id)).toEqual([
      [1, "one", "cancelled", "You could tr"],
      [2, "two", "completed", "echo two"],
    ]);
  });

  test("D-04 that is durable before the outcome is written wins, also when its answer comes later", async () => {
    const held = holding(db.store, "inbox.cancel", "after");
    const answer = gate();
    const one = await sessionOn(held.store, { model: scriptedModel(after(answer.opened, echo)) });
    const { client, directory, id } = one;
    const said = await client.say("one");
    held.arm();
    const stopping = client.stop();
    await held.arrived;
    answer.open();
    await vi.waitFor(() => expect(directory.resident(id)?.isSettling).toBe(true));
    held.go();
    await client.asleep();
    expect([cancelledOf(await stopping), await turnsOf(db.store, id)]).toEqual([
      [turnOf(said)],
      [[1, "one", "cancelled", "echo one"]],
    ]);
  });

  /**
   * Says "one", whose tools say "two" while they run, and stops at the `at`th thing that happens; false: the life was
   * over before. `named`: the Stop names the message that waits.
   */
  async function stoppedAt(at: number, named: boolean): Promise<boolean> {
    let stopping: Promise<unknown> | undefined;
    let told: readonly string[] = [];
    let second = Promise.resolve("");
    let left = at;
    let isOver = false;
    const tick = () => {
      if (isOver || waiting === undefined || stopping !== undefined) return;
      left -= 1;
      if (left >= 0) return;
      stopping = (async () => {
        const receipt = await waiting.stop(named ? await second : undefined);
        told = receipt.kind === "cancel_receipt" ? receipt.data.cancelled : [receipt.kind];
      })();
    };
    let waiting: Client | undefined;
    const slow: ToolScript = {
      name: "slow",
      run: async () => {
        if (waiting === undefined) {
          waiting = client;
          second = client.say("two").then(turnOf);
        }
        tick();
        await second;
        tick();
        return { kind: "ok", text: "done" };
      },
    };
    const answers: Move = async function* (request, signal, turn) {
      const isFresh = request.entries.at(-1)?.kind === "user" && turn === 1;
      const move = isFresh ? callsAll([{ tool: "slow" }, { tool: "slow" }]) : echo;
      for await (const event of move(request, signal, turn)) {
        tick();
        yield event;
        tick();
      }
    };
    const { client, id, directory } = await sessionOn(ticking(db.store, tick), {
      model: scriptedModel(answers),
      tools: [slow],
    });
    const first = turnOf(await client.say("one"));
    await client.asleep();
    await directory.whenEmpty();
    isOver = true;
    await stopping;
    await client.until("state_changed", ({ data }) => data.status === "hibernated");
    await directory.whenEmpty();

    const stored = await turnsOf(db.store, id);
    const outcomes = new Map(stored.map(([, said, outcome]) => [said, outcome]));
    const saidTwo = (await db.store.histories.load(id, 0)).filter(
      ({ entry }) => entry.kind === "user" && entry.text === "two",
    );
    const turnTwo = await second;
    const wasWithdrawn = !outcomes.has("two");
    const where = `stopped at ${at}`;
    expect([where, stored.length, outcomes.get("one")]).toEqual([
      where,
      wasWithdrawn ? 1 : 2,
      told.includes(first) ? "cancelled" : "completed",
    ]);
    expect([where, outcomes.get("two"), saidTwo.length]).toEqual([
      where,
      wasWithdrawn ? undefined : told.includes(turnTwo) ? "cancelled" : "completed",
      wasWithdrawn ? 0 : 1,
    ]);
    if (wasWithdrawn) expect([where, named, told]).toEqual([where, true, [turnTwo]]);
    const ended = (["turn_completed", "turn_cancelled"] as const).flatMap((kind) => client.of(kind));
    expect([where, ended.filter(({ turn_id }) => turn_id === turnTwo).length]).toEqual([where, 1]);
    expect([where, client.of("queue_changed").at(-1)]).toEqual([where, { waiting: [] }]);
    return stopping !== undefined;
  }

  test("D-05 a message queued during tools, Stop at every moment: it is answered once, or said to be cancelled", async () => {
    let moments = 0;
    while (await stoppedAt(moments, false)) moments += 1;
    expect(moments).toBeGreaterThan(25);
  });

  test("D-05 the same with a Stop that names the message: withdrawn, cancelled or answered, as its receipt says", async () => {
    let moments = 0;
    while (await stoppedAt(moments, true)) moments += 1;
    expect(moments).toBeGreaterThan(25);
  });
});

describe("a message that comes as the turn ends", () => {
  const both = [
    [1, "one", "completed", "echo one"],
    [2, "two", "completed", "echo two"],
  ];

  test("D-06 a: between the model's last event and the end of its turn", async () => {
    const saying: { now?: () => Promise<unknown> } = {};
    const ending: Move = async function* (request, signal, turn) {
      try {
        yield* echo(request, signal, turn);
      } finally {
        await saying.now?.();
      }
    };
    const { client, id } = await sessionOn(db.store, { model: scriptedModel(ending, echo) });
    saying.now = () => client.say("two");
    await client.say("one");
    await client.asleep();
    expect([await turnsOf(db.store, id), client.of("turn_started").length]).toEqual([both, 2]);
  });

  test("D-06 b, c: while the turn is being stored, and while the session falls asleep: one actor answers it", async () => {
    for (const path of ["histories.settle", "sessions.sleep"] as const) {
      for (const when of ["before", "after"] as const) {
        const held = holding(db.store, path, when);
        const { client, id, directory, events } = await sessionOn(held.store);
        held.arm();
        await client.say("one");
        await held.arrived;
        const said = client.say("two");
        // What falls asleep is waited for; a turn that is being stored is not.
        if (path === "histories.settle") await said;
        held.go();
        await said;
        await client.until("turn_completed", ({ data }) => data.turn_id !== client.of("turn_started")[0]?.turn_id);
        await directory.whenEmpty();
        const wasAsleep = path === "sessions.sleep";
        const thaws = events.filter(({ type }) => type === "session.thawed").length;
        expect([path, when, await turnsOf(db.store, id), thaws]).toEqual([path, when, both, wasAsleep ? 2 : 1]);
        const statuses = client.of("state_changed").map(({ status }) => status);
        expect([path, when, statuses.at(-1)]).toEqual([path, when, "hibernated"]);
      }
    }
  });

  test("D-06 d: on the last step that the turn may take", async () => {
    const saying: { now?: () => Promise<unknown> } = {};
    const tool: ToolScript = {
      name: "look",
      run: async () => {
        await saying.now?.();
        return { kind: "ok", text: "seen" };
      },
    };
    const limits = { steps: 1, ms: 60_000, tokens: 100_000, repeats: 5, unknownSteps: 3 };
    const model = scriptedModel(calls("look"), says("That is all."), echo);
    const { client, id } = await sessionOn(db.store, { model, tools: [tool], settings: { limits } });
    saying.now = () => client.say("two");
    await client.say("one");
    await client.asleep();
    expect([await turnsOf(db.store, id), client.of("turn_completed")[0]?.reason]).toEqual([
      [
        [1, "one", "completed", "That is all."],
        [2, "two", "completed", "echo two"],
      ],
      "step_limit",
    ]);
  });

  test("D-06 at every moment of the turn's end: it is answered, once, without anybody's help", async () => {
    for (let at = 0; ; at += 1) {
      let left = at;
      let saying: Promise<unknown> | undefined;
      let isSaid = false;
      const tick = () => {
        if (!isSaid || saying !== undefined) return;
        left -= 1;
        if (left < 0) saying = client.say("two");
      };
      const answers: Move = async function* (request, signal, turn) {
        isSaid = true;
        for await (const event of echo(request, signal, turn)) {
          tick();
          yield event;
        }
      };
      const options = { model: scriptedModel(answers) };
      const { client, id, directory } = await sessionOn(ticking(db.store, tick), options);
      await client.say("one");
      await client.asleep();
      await directory.whenEmpty();
      if (saying === undefined) {
        expect(at).toBeGreaterThan(7);
        return;
      }
      await saying;
      await client.until("turn_completed", ({ data }) => data.turn_id !== client.of("turn_started")[0]?.turn_id);
      await directory.whenEmpty();
      expect([at, await turnsOf(db.store, id)]).toEqual([at, both]);
    }
  });
});
