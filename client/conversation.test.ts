import { describe, expect, test } from "vitest";
import type { Update } from "./backlog.ts";
import { message } from "./commands.ts";
import { type Conversation, type ConversationOptions, conversation } from "./conversation.ts";
import { ConnectionEnded, ConversationEnded } from "./errors.ts";
import { applySignal } from "./reducer.ts";
import { fakeClock, fakeSockets } from "./testing/fake-socket.ts";
import { greeting, numbered, plain, SESSION, TURN, uuid } from "./testing/signals.ts";
import { emptyView } from "./view.ts";

const state = { status: "resting" as const, pending_interaction: null, queue: [] };
const resync = (seq: number) => plain("resync", { from_turn: 1, turns: [], state, seq });
const skill = (seq: number) => numbered("skill_loaded", seq, { name: "s", eager: false });

function scene(options: Partial<ConversationOptions> = {}) {
  const sockets = fakeSockets();
  const clock = fakeClock();
  const chat = conversation({
    url: "http://127.0.0.1:8787",
    ...(options.from === undefined && { session: SESSION }),
    socket: sockets.factory,
    probe: async () => 503,
    clock,
    random: () => 1,
    ...options,
  });
  const server = () => sockets.last();
  function opens(): void {
    server().opens();
    server().says(greeting());
  }
  return { chat, sockets, clock, server, opens };
}

/** Reads until `enough` updates came, or the loop ends. */
async function read(chat: Conversation, enough = Number.POSITIVE_INFINITY): Promise<Update[]> {
  const updates: Update[] = [];
  for await (const update of chat) if (updates.push(update) >= enough) break;
  return updates;
}
const kinds = (updates: readonly Update[]) => updates.map(({ signal }) => signal.kind);
const seqs = (updates: readonly Update[]) => updates.map(({ view }) => view.seq);

describe("a loop over a conversation", () => {
  test("has everything from the start, each signal with the view that holds it, then waits for more", async () => {
    const { chat, server, opens } = scene();
    opens();
    const signals = [resync(4), skill(5)];
    server().says(...signals);
    const reading = read(chat, 4);
    await Promise.resolve();
    server().says(skill(6));
    const all = [greeting(), ...signals, skill(6)];
    const views = all.map((_, at) => all.slice(0, at + 1).reduce(applySignal, emptyView));
    expect(await reading).toEqual(all.map((signal, at) => ({ signal, view: views[at] })));
    expect([chat.view, chat.status, chat.session]).toEqual([views.at(-1), { kind: "open" }, SESSION]);
  });

  test("ends after close(), with what had come before", async () => {
    const { chat, server, opens } = scene();
    opens();
    server().says(resync(4));
    const first = read(chat);
    const idle = chat[Symbol.asyncIterator]();
    const waiting = idle.next();
    chat.close();
    expect([kinds(await first), await waiting, await idle.next()]).toEqual([
      ["session_opened", "resync"],
      { done: true, value: undefined },
      { done: true, value: undefined },
    ]);
    expect([await read(chat), server().dropped]).toEqual([[], 1000]);
    await expect(chat.send(message("late"))).rejects.toThrow(ConnectionEnded);
  });

  test("that is left closes nothing: the next one goes on where it stopped", async () => {
    const { chat, server, opens } = scene();
    opens();
    server().says(resync(4), skill(5), skill(6));
    expect(seqs(await read(chat, 2))).toEqual([undefined, 4]);
    server().says(skill(7));
    expect([seqs(await read(chat, 3)), server().dropped]).toEqual([[5, 6, 7], undefined]);
  });

  test("is one of several, each of which gets all from its start on", async () => {
    const { chat, server, opens } = scene();
    opens();
    server().says(resync(4));
    const early = read(chat, 3);
    const late = read(chat, 1);
    server().says(skill(5));
    expect([seqs(await early), seqs(await late)]).toEqual([[undefined, 4, 5], [5]]);
  });

  test("that falls behind gets fewer steps and the last view, and never grows", async () => {
    const { chat, server, opens } = scene({ most: 3 });
    opens();
    server().says(resync(4), ...Array.from({ length: 500 }, (_, at) => skill(5 + at)));
    const updates = await read(chat, 3);
    expect(updates.map(({ view, skipped }) => [view.seq, skipped])).toEqual([
      [502, 499],
      [503, undefined],
      [504, undefined],
    ]);
    expect(updates.at(-1)?.view).toBe(chat.view);
  });

  test("misses no text however far it falls behind", async () => {
    const { chat, server, opens } = scene({ most: 4 });
    opens();
    const text = "Take two capsules with the evening meal. ".repeat(40);
    const deltas = [...text].map((letter, at) =>
      numbered("llm_delta", 2 + at, { block_id: uuid(5), offset: at, text: letter }),
    );
    server().says(resync(1), ...deltas);
    const [, , read3] = await read(chat, 3);
    expect(read3?.signal.data).toEqual({ block_id: uuid(5), offset: 0, text });
  });

  test("hears nothing of heartbeats", async () => {
    const { chat, server, opens } = scene();
    opens();
    server().says(plain("heartbeat", {}), plain("pong", { id: uuid(7) }), resync(4));
    expect(kinds(await read(chat, 2))).toEqual(["session_opened", "resync"]);
  });
});

describe("a refusal for good", () => {
  test.each([
    [4401, "login_required"],
    [4403, "not_yours"],
  ] as const)(
    "[E-04] close code %i ends every loop with a typed error, after what came before",
    async (code, reason) => {
      const { chat, server, opens } = scene();
      opens();
      server().says(resync(4), plain("auth_expired", {}));
      const seen: string[] = [];
      const reading = (async () => {
        for await (const { signal } of chat) seen.push(signal.kind);
      })();
      server().closes(code);
      const error = await reading.catch((refusal: unknown) => refusal);
      expect(seen).toEqual(["session_opened", "resync", "auth_expired"]);
      expect(error).toBeInstanceOf(ConversationEnded);
      expect((error as ConversationEnded).code).toBe(reason);
      await expect(read(chat)).rejects.toThrow(ConversationEnded);
      expect(chat.status).toEqual({ kind: "ended", reason });
    },
  );

  test("[E-04] after a fresh login a new conversation goes on from the view that is held, with what was not answered", async () => {
    const ended = scene();
    ended.opens();
    ended.server().says(resync(4), skill(5));
    const said = message("hello", {}, uuid(21));
    const lost = ended.chat.send(said);
    ended.server().closes(4401);
    await expect(lost).rejects.toThrow(ConnectionEnded);

    const { chat, server } = scene({ from: ended.chat.view });
    expect(server().url).toBe(`ws://127.0.0.1:8787/v1/socket?session=${SESSION}&after=5`);
    const answered = chat.send(said);
    server().opens();
    server().says(greeting(), skill(6));
    expect([server().sent, chat.view.seq]).toEqual([[said], 6]);
    server().says(plain("message_accepted", { id: said.id, turn_id: TURN, queued: false, duplicate: true }));
    expect(await answered).toEqual({ id: said.id, turn_id: TURN, queued: false, duplicate: true });
  });
});

test("[E-01] a loop goes on over a lost connection, and nothing is given twice", async () => {
  const { chat, server, opens, clock } = scene();
  opens();
  server().says(resync(4), skill(5));
  server().closes(1006);
  clock.pass(500);
  server().opens();
  server().says(greeting(), skill(5), skill(6));
  const updates = await read(chat, 5);
  expect(updates.map(({ signal, view }) => [signal.kind, view.seq])).toEqual([
    ["session_opened", undefined],
    ["resync", 4],
    ["skill_loaded", 5],
    ["session_opened", 5],
    ["skill_loaded", 6],
  ]);
});
