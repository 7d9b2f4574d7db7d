import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { callId, type SessionId } from "../../machines/ids.ts";
import type { ModelEvent } from "../../machines/model.ts";
import type { ToolResult } from "../../tools/tool.ts";
import { calls, decides, hangs, says, scriptedModel } from "../models/scripted.ts";
import { takeOverFromPredecessors } from "./predecessors.ts";
import { Client, database, node, rivera, type SceneOptions, type ToolScript } from "./testing/scene.ts";
import { sweep } from "./upkeep.ts";

let db: Awaited<ReturnType<typeof database>>;
beforeAll(async () => {
  db = await database();
});
afterAll(() => db.end());

const results = decides((request) =>
  says(
    request.entries
      .flatMap((entry) => (entry.kind === "tool_result" ? [`${entry.outcome}: ${entry.text}`] : []))
      .join("|"),
  ),
);

async function begin(options: SceneOptions) {
  const first = node(db.store, options);
  const id = await first.conversations.create(rivera);
  return { first, id, client: await Client.open(first.conversations, id) };
}

/** The process dies: its actors stop where they are and nothing of it is heard again. */
function kill(dead: ReturnType<typeof node>): void {
  for (const resident of dead.directory.residents) resident.actor.stop();
}

/** A process that starts on the same database after the first one died. */
async function restart(id: SessionId, options: SceneOptions) {
  const next = node(db.store, options);
  await takeOverFromPredecessors(next.world, true, () => undefined, new AbortController().signal);
  const client = await Client.open(next.conversations, id);
  await sweep(next.directory, next.world, () => undefined);
  return { next, client };
}

const turnsOf = async (id: SessionId) => {
  const turns = await db.store.turns.page(id, 100);
  return turns.map(({ cause, outcome, reason, blocks }) => ({
    cause,
    outcome,
    ...(reason !== undefined && { reason }),
    text: blocks.map((block) => block.content["text"]).join("|"),
  }));
};

/** A tool that acts and then never answers: the process dies between the effect and its result. */
function actsThenHangs(script: Omit<ToolScript, "run">) {
  const keys: string[] = [];
  let acted = () => {};
  const effect = new Promise<void>((resolve) => {
    acted = resolve;
  });
  const tool: ToolScript = {
    ...script,
    run: (_args, key) => {
      keys.push(key);
      acted();
      return new Promise<never>(() => {});
    },
  };
  const answers: ToolScript = {
    ...script,
    run: async (_args, key): Promise<ToolResult> => {
      keys.push(key);
      return { kind: "ok", text: "written" };
    },
  };
  return { keys, effect, tool, answers };
}

describe("recovery", () => {
  test("D-08 acting: a write that is not repeatable is not run again; the model is told that its outcome is unknown", async () => {
    const write = actsThenHangs({ name: "create_draft", readOnly: false, repeatable: false });
    const { first, id } = await begin({ model: scriptedModel(calls("create_draft")), tools: [write.tool] }).then(
      async (scene) => {
        await scene.client.say("make a draft");
        await write.effect;
        return scene;
      },
    );
    kill(first);
    const { client } = await restart(id, { model: scriptedModel(results), tools: [write.answers] });
    await client.asleep();
    expect(write.keys.length).toBe(1);
    expect(await turnsOf(id)).toEqual([
      {
        cause: "recovery",
        outcome: "completed",
        text: "unknown: The outcome of this call is unknown: the server restarted after it was sent. It may have had its effect; check before you try again.",
      },
    ]);
  });

  test("D-08 acting: a write that honours its key is sent again under the same key", async () => {
    const write = actsThenHangs({ name: "create_draft", readOnly: false, repeatable: true });
    const {
      first,
      id,
      client: before,
    } = await begin({ model: scriptedModel(calls("create_draft")), tools: [write.tool] });
    await before.say("make a draft");
    await write.effect;
    kill(first);
    const { client } = await restart(id, { model: scriptedModel(results), tools: [write.answers] });
    await client.asleep();
    expect(write.keys.length).toBe(2);
    expect(write.keys[0]).toBe(write.keys[1]);
    expect(await turnsOf(id)).toEqual([{ cause: "recovery", outcome: "completed", text: "ok: written" }]);
  });

  test("[SE16] a call that was read-only then and is not now: its intent is stored before it leaves", async () => {
    const look = actsThenHangs({ name: "look_up", readOnly: true });
    const { first, id, client: before } = await begin({ model: scriptedModel(calls("look_up")), tools: [look.tool] });
    await before.say("look it up");
    await look.effect;
    await first.directory.resident(id)?.flush();
    kill(first);
    const stored = () => db.sql`select name, read_only, repeatable from tool_calls where session_id = ${id}`;
    expect([...(await stored())]).toEqual([]);
    const seen: unknown[] = [];
    const write: ToolScript = {
      name: "look_up",
      readOnly: false,
      repeatable: true,
      run: async () => {
        seen.push(...(await stored()));
        return { kind: "ok", text: "written" };
      },
    };
    const { client } = await restart(id, { model: scriptedModel(results), tools: [write] });
    await client.asleep();
    expect(seen).toEqual([{ name: "look_up", read_only: false, repeatable: true }]);
    expect(await turnsOf(id)).toEqual([{ cause: "recovery", outcome: "completed", text: "ok: written" }]);
  });

  test("[SE17] a call that was read-only then and is a write without a key now is not made again", async () => {
    const look = actsThenHangs({ name: "look_up", readOnly: true });
    const { first, id, client: before } = await begin({ model: scriptedModel(calls("look_up")), tools: [look.tool] });
    await before.say("look it up");
    await look.effect;
    await first.directory.resident(id)?.flush();
    kill(first);
    const write: ToolScript = { ...look.answers, readOnly: false, repeatable: false };
    const { client } = await restart(id, { model: scriptedModel(results), tools: [write] });
    await client.asleep();
    expect(look.keys.length).toBe(1);
    expect(await turnsOf(id)).toEqual([
      {
        cause: "recovery",
        outcome: "completed",
        text: "unknown: The outcome of this call is unknown: the server restarted after it was sent. It may have had its effect; check before you try again.",
      },
    ]);
  });

  test("D-08 reasoning: a model call that was in flight is asked again, and its text is shown once", async () => {
    const { first, id, client: before } = await begin({ model: scriptedModel(hangs("You could tr")) });
    await before.say("what helps?");
    await before.until("llm_delta", ({ data }) => data.text === "tr");
    await first.directory.resident(id)?.flush();
    kill(first);
    const { client } = await restart(id, { model: scriptedModel(says("Take 2 capsules.")) });
    await client.asleep();
    const shown = client.signals.filter((signal) => "seq" in signal);
    const dead = before.signals.flatMap((signal) => ("seq" in signal ? [signal.seq] : []));
    expect(client.text).toBe("Take 2 capsules.");
    expect(shown.every((signal) => "seq" in signal && signal.seq > Math.max(...dead))).toBe(true);
    expect(await turnsOf(id)).toEqual([{ cause: "recovery", outcome: "completed", text: "Take 2 capsules." }]);
  });

  test("[SE10] a message that waited when the process died is answered without any client", async () => {
    const { first, id, client } = await begin({ model: scriptedModel(hangs("one")) });
    await client.say("first");
    await client.until("llm_delta");
    await client.say("second");
    await first.directory.resident(id)?.flush();
    kill(first);
    const next = node(db.store, { model: scriptedModel(says("answered")) });
    await takeOverFromPredecessors(next.world, true, () => undefined, new AbortController().signal);
    await sweep(next.directory, next.world, () => undefined);
    await next.directory.whenEmpty();
    expect((await turnsOf(id)).map(({ cause, outcome }) => [cause, outcome])).toEqual([
      ["recovery", "completed"],
      ["message", "completed"],
    ]);
  });

  test("[SE11] a cancel that was durable when the process died settles the turn without asking the model", async () => {
    const { first, id, client } = await begin({ model: scriptedModel(hangs("one")) });
    const receipt = await client.say("first");
    await client.until("llm_delta");
    const [resident] = first.directory.residents;
    await resident?.flush();
    const turn = receipt.kind === "message_accepted" ? receipt.data.turn_id : "";
    await db.sql`update inbox set state = 'cancelled' where session_id = ${id} and turn_id = ${turn}`;
    kill(first);
    const model = scriptedModel(says("must not be asked"));
    const { client: after } = await restart(id, { model });
    await after.asleep();
    expect(model.requests.length).toBe(0);
    expect((await turnsOf(id)).map(({ outcome }) => outcome)).toEqual(["cancelled"]);
  });

  test("[SE12] a turn that keeps killing its owner is given up after three take-overs", async () => {
    const { first, id, client } = await begin({ model: scriptedModel(hangs("x")) });
    await client.say("first");
    await client.until("llm_delta");
    let dead = first;
    for (let round = 0; round < 3; round += 1) {
      await dead.directory.resident(id)?.flush();
      kill(dead);
      const again = await restart(id, { model: scriptedModel(hangs("x")) });
      await again.client.until("llm_delta");
      dead = again.next;
    }
    kill(dead);
    const last = await restart(id, { model: scriptedModel(says("too late")) });
    const failed = await last.client.until("turn_failed");
    expect([failed.data.code, failed.data.retryable]).toEqual(["recovery_exhausted", true]);
  });

  test("[SE13] without a stored login a turn that was taken over fails cleanly as auth_required", async () => {
    const settings = { grants: false };
    const { first, id, client } = await begin({ model: scriptedModel(hangs("x")), settings });
    await client.say("first");
    await client.until("llm_delta");
    kill(first);
    const { client: after } = await restart(id, { model: scriptedModel(says("no")), settings });
    const failed = await after.until("turn_failed");
    expect([failed.data.code, failed.data.retryable]).toEqual(["auth_required", true]);
  });

  test("[SE14] a stale owner writes nothing after a take-over and sends its clients away", async () => {
    let go = () => {};
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    const late = decides(
      () =>
        async function* (): AsyncGenerator<ModelEvent> {
          await gate;
          yield* says("from the dead")({} as never, new AbortController().signal, 1);
        },
    );
    const { id, client } = await begin({ model: scriptedModel(late) });
    await client.say("first");
    await client.until("context_budget");
    await restart(id, { model: scriptedModel(says("from the living")) }).then(({ client: next }) => next.asleep());
    go();
    await expect.poll(() => client.closed?.code).toBe(1012);
    expect((await turnsOf(id)).map(({ text }) => text)).toEqual(["from the living"]);
  });

  test("A-01 [SE15] a signature on a tool call survives sleep and comes back byte for byte in another process", async () => {
    const signed: ModelEvent = {
      type: "end",
      parts: [
        {
          kind: "tool_call",
          call: { callId: callId("c1"), name: "find_patient", args: { q: "R." } },
          signature: "c2lnLTE=",
        },
      ],
      truncated: false,
      usage: { input: 1, output: 1, thinking: 0, cached: 0 },
      profile: "gemini",
      issuer: "gemini-api",
    };
    const find = { name: "find_patient", run: async () => ({ kind: "ok" as const, text: "R. one" }) };
    const move = async function* (): AsyncGenerator<ModelEvent> {
      yield signed;
    };
    const { id, client } = await begin({ model: scriptedModel(() => move(), says("found")), tools: [find] });
    await client.say("find R.");
    await client.asleep();
    const model = scriptedModel(says("the second"));
    const other = node(db.store, { model });
    const again = await Client.open(other.conversations, id);
    await again.say("and the second one?");
    await again.asleep();
    const call = model.requests[0]?.entries.find((entry) => entry.kind === "assistant");
    expect(call?.kind === "assistant" && call.parts).toEqual(signed.parts);
    const sent = JSON.stringify([client.signals, again.signals]);
    expect(sent).not.toContain("c2lnLTE=");
  });

  describe("D-11 a thaw that fails never looks like a new session", () => {
    const sleeper = async () => {
      const { first, id, client } = await begin({ model: scriptedModel(says("one")) });
      await client.say("hello");
      await client.asleep();
      await first.directory.whenEmpty();
      return id;
    };
    const next = async (id: SessionId, store = db.store) => {
      const model = scriptedModel(says("two"));
      const one = node(store, { model });
      const client = await Client.open(one.conversations, id);
      const receipt = await client.say("continue");
      return { model, one, client, receipt };
    };

    test("D-11 a, b, c: a snapshot that is cut, foreign or lacks fields is rebuilt from the entries", async () => {
      const cut = await sleeper();
      await db.sql`update sessions set snapshot = substring(snapshot from 1 for 20) where id = ${cut}`;
      const foreign = await sleeper();
      await db.sql`update sessions set snapshot = (select snapshot from sessions where id = ${cut}) where id = ${foreign}`;
      const lost = await sleeper();
      await db.sql`update sessions set snapshot = null, machine = null, version = null where id = ${lost}`;
      for (const id of [cut, foreign, lost]) {
        const { model, one, client, receipt } = await next(id);
        await client.asleep();
        expect(receipt.kind).toBe("message_accepted");
        expect(model.requests[0]?.entries.map((entry) => entry.kind)).toEqual(["user", "assistant", "user"]);
        expect(one.events.flatMap((event) => (event.type === "session.thawed" ? [event.outcome] : []))).toEqual([
          "rebuilt",
        ]);
      }
    });

    test("D-11: entries that can't be opened give session_unavailable; no turn runs and nothing is written over", async () => {
      const id = await sleeper();
      await db.sql`update entries set body = set_byte(body, 40, get_byte(body, 40) # 1) where session_id = ${id}`;
      const model = scriptedModel(says("two"));
      const one = node(db.store, { model });
      const client = await Client.open(one.conversations, id);
      const receipt = await client.say("continue");
      const [row] = await db.sql`select turns, (select count(*)::int from entries e where e.session_id = s.id) as rows
        from sessions s where id = ${id}`;
      expect([
        receipt.kind === "error" && receipt.data.code,
        model.requests.length,
        row?.["turns"],
        row?.["rows"],
      ]).toEqual(["session_unavailable", 0, 1, 1]);
    });

    test("D-11 d: a database that does not answer is a passing refusal, and nothing is created", async () => {
      const id = await sleeper();
      const { StoreUnavailable } = await import("../../persistence/store.ts");
      const down = {
        ...db.store,
        inbox: { ...db.store.inbox, admit: async () => Promise.reject(new StoreUnavailable(null)) },
      };
      const { receipt, model } = await next(id, down);
      expect([receipt.kind === "error" && receipt.data.code, model.requests.length]).toEqual(["unavailable", 0]);
      const { client, receipt: later } = await next(id);
      await client.asleep();
      expect(later.kind).toBe("message_accepted");
    });
  });
});
