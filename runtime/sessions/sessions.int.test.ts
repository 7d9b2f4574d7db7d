import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { commandId, type SessionId, userId } from "../../machines/ids.ts";
import type { ModelRequest } from "../../machines/model.ts";
import { ModelBlocked } from "../models/failures.ts";
import { after, calls, callsAll, decides, fails, hangs, says, scriptedModel } from "../models/scripted.ts";
import { Client, database, node, rivera, type SceneOptions } from "./testing/scene.ts";

let db: Awaited<ReturnType<typeof database>>;
beforeAll(async () => {
  db = await database();
});
afterAll(() => db.end());

const lastUserText = (request: ModelRequest): string => {
  const last = request.entries.findLast((entry) => entry.kind === "user");
  return last?.kind === "user" ? last.text : "";
};
const echo = decides((request) => says(`echo ${lastUserText(request)}`));

async function scene(options: Partial<SceneOptions> = {}) {
  const one = node(db.store, { model: scriptedModel(echo), ...options });
  const id = await one.conversations.create(rivera);
  return { ...one, id, client: await Client.open(one.conversations, id) };
}

const turnsOf = async (id: SessionId) => {
  const turns = await db.store.turns.page(id, 100);
  return turns.map(({ n, input, outcome, reason, blocks }) => ({
    n,
    said: "text" in input ? input.text : "",
    ...(outcome && { outcome }),
    ...(reason !== undefined && { reason }),
    blocks: blocks.map((block) => block.content),
  }));
};

describe("sessions", () => {
  test("[SE1] a message is acknowledged, answered, stored, and the session sleeps", async () => {
    const { client, directory, id } = await scene();
    const receipt = await client.say("hello");
    await client.asleep();
    const numbered = client.signals.filter((signal) => "seq" in signal);
    expect(receipt.kind).toBe("message_accepted");
    expect(numbered.map(({ kind }) => kind)).toEqual([
      "turn_started",
      "queue_changed",
      "state_changed",
      "context_budget",
      "block_started",
      "llm_delta",
      "llm_delta",
      "block_finished",
      "turn_completed",
      "state_changed",
      "state_changed",
    ]);
    expect(numbered.map((signal) => "seq" in signal && signal.seq)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    expect(await turnsOf(id)).toEqual([
      { n: 1, said: "hello", outcome: "completed", blocks: [{ text: "echo hello" }] },
    ]);
    await directory.whenEmpty();
    expect(directory.size).toBe(0);
  });

  test("[SE2] the next message thaws it, on another node, with its history and the next number", async () => {
    const first = await scene();
    await first.client.say("one");
    await first.client.asleep();
    const model = scriptedModel(echo);
    const second = node(db.store, { model });
    const client = await Client.open(second.conversations, first.id, 11);
    await client.say("two");
    await client.asleep();
    const seqs = client.signals.flatMap((signal) => ("seq" in signal ? [signal.seq] : []));
    expect([client.of("resync"), seqs[0]]).toEqual([[], 12]);
    expect(model.requests[0]?.entries.map((entry) => entry.kind)).toEqual(["user", "assistant", "user"]);
    expect(second.events.filter((event) => event.type === "session.thawed").map((event) => event.outcome)).toEqual([
      "thawed",
    ]);
  });

  test("D-01 two messages at once run one after the other, 100 times, and the model is never asked twice at a time", async () => {
    let busy = 0;
    let most = 0;
    const slow = decides(
      (request) =>
        async function* (inner, signal, turn) {
          busy += 1;
          most = Math.max(most, busy);
          await new Promise((resolve) => setImmediate(resolve));
          try {
            yield* says(`echo ${lastUserText(request)}`)(inner, signal, turn);
          } finally {
            busy -= 1;
          }
        },
    );
    for (let round = 0; round < 100; round += 1) {
      const { client, conversations, id } = await scene({ model: scriptedModel(slow) });
      const other = await Client.open(conversations, id);
      const jitter = async () => {
        for (let tick = 0; tick < (round * 7) % 11; tick += 1) await new Promise((resolve) => setImmediate(resolve));
      };
      const sent = await Promise.all([client.say("A"), jitter().then(() => other.say("B"))]);
      for (const receipt of sent) {
        const turn = receipt.kind === "message_accepted" ? receipt.data.turn_id : "";
        for (const each of [client, other]) await each.until("turn_completed", ({ data }) => data.turn_id === turn);
      }
      const turns = await turnsOf(id);
      expect(turns.map(({ said, blocks }) => [said, blocks])).toEqual([
        ["A", [{ text: "echo A" }]],
        ["B", [{ text: "echo B" }]],
      ]);
      expect(other.text).toBe(client.text);
    }
    expect(most).toBe(1);
  });

  test("D-03 the same id twice is one turn; with other content it is a conflict", async () => {
    const { client, id } = await scene();
    const command = commandId("00000000-0000-4000-8000-00000000d003");
    const [first, again] = await Promise.all([client.say("hi", command), client.say("hi", command)]);
    await client.asleep();
    const late = await client.say("hi", command);
    const other = await client.say("bye", command);
    const turn = first.kind === "message_accepted" ? first.data.turn_id : "";
    expect([first.data, again.data, late.data, other.data]).toEqual([
      { id: command, turn_id: turn, queued: false },
      { id: command, turn_id: turn, queued: false, duplicate: true },
      { id: command, turn_id: turn, queued: false, duplicate: true },
      { id: command, code: "conflict", message: "this id was used for another command" },
    ]);
    expect((await turnsOf(id)).map((t) => t.said)).toEqual(["hi"]);
  });

  test("[SE3] tools run, their results go to the model, cards and activity to the client", async () => {
    const model = scriptedModel(
      callsAll([{ tool: "look" }, { tool: "nowhere" }]),
      decides((request) => says(request.entries.map((e) => (e.kind === "tool_result" ? e.text : "")).join("|"))),
    );
    const look = {
      name: "look",
      run: async () => ({
        kind: "ok" as const,
        text: "seen",
        card: { kind: "recommend_lifestyle" as const, data: { recommendations: [{ title: "Walk", detail: "daily" }] } },
      }),
    };
    const { client, id } = await scene({ model, tools: [look] });
    await client.say("look");
    await client.asleep();
    const finished = client.of("tool_call_finished").map(({ name, outcome }) => [name, outcome]);
    expect(finished.sort()).toEqual([
      ["look", "ok"],
      ["nowhere", "error"],
    ]);
    const [turn] = await turnsOf(id);
    expect(turn?.blocks[0]).toEqual({ recommendations: [{ title: "Walk", detail: "daily" }] });
    expect(turn?.blocks[1]?.["text"]).toMatch(/seen/);
    expect(turn?.blocks[1]?.["text"]).toMatch(/There is no tool "nowhere"/);
  });

  test("J-02 the same unknown tool again and again ends the turn with an answer", async () => {
    const model = scriptedModel(calls("product_serch"), calls("product_serch"), calls("product_serch"), says("sorry"));
    const { client, id } = await scene({ model });
    await client.say("go");
    await client.asleep();
    expect(await turnsOf(id)).toEqual([
      { n: 1, said: "go", outcome: "completed", reason: "tool_loop", blocks: [{ text: "sorry" }] },
    ]);
    expect(model.requests.map((request) => request.tools.length)).toEqual([0, 0, 0, 0]);
  });

  test("A-07 a blocked prompt fails the turn politely, and the session takes the next message", async () => {
    const { client, id, faults } = await scene({ model: scriptedModel(fails(new ModelBlocked()), echo) });
    await client.say("first");
    const failed = await client.until("turn_failed");
    await client.asleep();
    client.clear();
    await client.say("second");
    await client.asleep();
    expect([failed.data.code, failed.data.retryable, faults]).toEqual(["blocked", false, []]);
    expect((await turnsOf(id)).map(({ outcome, reason }) => [outcome, reason])).toEqual([
      ["failed", "blocked"],
      ["completed", undefined],
    ]);
  });

  test("[SE4] a cancel keeps real results, answers the others, keeps the partial text, and history stays usable", async () => {
    const gate: { open?: () => void } = {};
    const slow = {
      name: "slow",
      run: (_args: unknown, _key: string, signal: AbortSignal) =>
        new Promise<never>((_, reject) => {
          gate.open?.();
          signal.addEventListener("abort", () => reject(signal.reason), { once: true });
        }),
    };
    const quick = { name: "quick", run: async () => ({ kind: "ok" as const, text: "done" }) };
    const model = scriptedModel(callsAll([{ tool: "quick" }, { tool: "slow" }]), echo);
    const { client, id } = await scene({ model, tools: [quick, slow] });
    await client.say("work");
    await client.until("tool_call_finished", ({ data }) => data.name === "quick");
    const receipt = await client.stop();
    const again = await client.stop();
    await client.asleep();
    client.clear();
    await client.say("never mind");
    await client.asleep();
    expect([receipt.kind === "cancel_receipt" && receipt.data.cancelled.length, again.kind]).toEqual([
      1,
      "cancel_receipt",
    ]);
    const results = model.requests[1]?.entries.filter((entry) => entry.kind === "tool_result");
    expect(results?.map((entry) => entry.kind === "tool_result" && [entry.name, entry.outcome, entry.text])).toEqual([
      ["quick", "ok", "done"],
      ["slow", "cancelled", "cancelled by user"],
    ]);
    expect((await turnsOf(id)).map(({ outcome }) => outcome)).toEqual(["cancelled", "completed"]);
  });

  test("[SE5] a cancel while text streams stores the partial text; a queued turn named is withdrawn", async () => {
    const { client, id } = await scene({ model: scriptedModel(hangs("You could tr"), echo) });
    const first = await client.say("one");
    await client.until("llm_delta", ({ data }) => data.text === "tr");
    const second = await client.say("two");
    const third = await client.say("three");
    const queued = [first, second, third].map((r) => r.kind === "message_accepted" && r.data.queued);
    const withdrawn = await client.stop(second.kind === "message_accepted" ? second.data.turn_id : "");
    await client.stop();
    await client.asleep();
    expect(queued).toEqual([false, true, true]);
    expect(withdrawn.kind === "cancel_receipt" && withdrawn.data.cancelled.length).toBe(1);
    expect(await turnsOf(id)).toEqual([
      { n: 1, said: "one", outcome: "cancelled", blocks: [{ text: "You could tr" }] },
      { n: 2, said: "three", outcome: "completed", blocks: [{ text: "echo three" }] },
    ]);
  });

  test("[SE6] more than ten waiting messages are refused, none of the accepted is lost", async () => {
    let open = () => {};
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    const { client, id } = await scene({ model: scriptedModel(after(gate, echo)) });
    const receipts = [];
    for (let n = 0; n < 12; n += 1) receipts.push(await client.say(`m${n}`));
    open();
    await client.asleep();
    expect(receipts.map((receipt) => (receipt.kind === "error" ? receipt.data.code : receipt.kind))).toEqual([
      ...Array(11).fill("message_accepted"),
      "queue_full",
    ]);
    expect((await turnsOf(id)).length).toBe(11);
  });

  test("[SE7] another user's session and an unknown one answer alike", async () => {
    const { conversations, id } = await scene();
    const chen = { ...rivera, principal: { ...rivera.principal, userId: userId("dr-chen") } };
    const unknown = "00000000-0000-4000-8000-0000000000ff" as SessionId;
    const refusals = await Promise.all(
      [
        () => conversations.page(id, chen),
        () => conversations.page(unknown, chen),
        () => Client.open(conversations, id, 0, chen),
      ].map((ask) =>
        ask().then(
          () => "let in",
          (error: { code: string; message: string }) => `${error.code}: ${error.message}`,
        ),
      ),
    );
    expect(refusals).toEqual(Array(3).fill("not_found: no such session"));
  });

  test("[SE8] a client that comes back is sent exactly what it misses, or one resync", async () => {
    const { client, conversations, id } = await scene();
    await client.say("hello");
    await client.asleep();
    const numbered = client.signals.filter((signal) => "seq" in signal);
    const other = await Client.open(conversations, id, 4);
    const stale = await Client.open(conversations, id, 400);
    expect(other.signals.slice(1)).toEqual(numbered.slice(4));
    expect(stale.signals.map(({ kind }) => kind)).toEqual(["session_opened", "resync"]);
    expect(stale.of("resync")[0]?.turns.map((turn) => turn.blocks.map((block) => block.content))).toEqual([
      [{ text: "echo hello" }],
    ]);
  });

  test("H-01 a NUL and every other control character come back exactly, in text, results and titles", async () => {
    const odd = `a\u0000b\\u0000 ${[...Array(31).keys()].map((n) => String.fromCharCode(n + 1)).join("")} é`;
    const model = scriptedModel(
      calls("read", { "k\u0000": odd }),
      decides((request) => {
        const result = request.entries.findLast((entry) => entry.kind === "tool_result");
        return says(result?.kind === "tool_result" ? result.text : "");
      }),
    );
    const tool = { name: "read", run: async () => ({ kind: "ok" as const, text: odd }) };
    const { client, id, conversations } = await scene({ model, tools: [tool] });
    await client.say(odd);
    await client.asleep();
    expect(await turnsOf(id)).toEqual([{ n: 1, said: odd, outcome: "completed", blocks: [{ text: odd }] }]);
    const listed = (await conversations.list(rivera)).find((session) => session.session_id === id);
    expect(listed?.title?.startsWith("a\u0000b")).toBe(true);
    const entries = await db.store.histories.load(id, 0);
    expect(entries.map(({ entry }) => entry.kind)).toEqual(["user", "assistant", "tool_result", "assistant"]);
  });

  test("H-08 a telemetry row that the table refuses leaves turn, blocks and history alone", async () => {
    const usage = { input: -1, output: 5, thinking: 0, cached: 0 };
    const { client, id } = await scene({ model: scriptedModel(says("fine", { usage })) });
    await client.say("hello");
    await client.asleep();
    expect(await turnsOf(id)).toEqual([{ n: 1, said: "hello", outcome: "completed", blocks: [{ text: "fine" }] }]);
    const rows = await db.sql`select 1 from model_calls where session_id = ${id}`;
    expect(rows.length).toBe(0);
  });

  test("[SE9] erasing a session takes its rows and its clients away", async () => {
    const { client, conversations, id } = await scene();
    await client.say("hello");
    await client.asleep();
    await conversations.erase(id, rivera);
    const [left] = await db.sql`select count(*)::int as rows from entries where session_id = ${id}`;
    expect([client.closed?.code, left?.["rows"]]).toEqual([1000, 0]);
  });
});
