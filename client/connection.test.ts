import { describe, expect, test, vi } from "vitest";
import type { Signal, UnknownSignal } from "../machines/protocol/signals.ts";
import { cancel, message } from "./commands.ts";
import { type ConnectOptions, connect, type Status } from "./connection.ts";
import { CommandRefused, ConnectionEnded, LimitExceeded } from "./errors.ts";
import { usualLimits } from "./ledger.ts";
import { fakeClock, fakeSockets } from "./testing/fake-socket.ts";
import { greeting, numbered, plain, SESSION, TURN, uuid } from "./testing/signals.ts";

const state = { status: "resting" as const, pending_interaction: null, queue: [] };
const resync = (seq: number) => plain("resync", { from_turn: 1, turns: [], state, seq });
const skill = (seq: number, from_seq?: number) =>
  numbered("skill_loaded", seq, { name: "s", eager: false }, from_seq === undefined ? {} : { from_seq });
const accepted = (id: string) => plain("message_accepted", { id, turn_id: TURN, queued: false });

function scene(options: Partial<ConnectOptions> = {}, session: string | null = SESSION) {
  const sockets = fakeSockets();
  const clock = fakeClock();
  const heard: (Signal | UnknownSignal)[] = [];
  const statuses: Status[] = [];
  const connection = connect({
    url: "http://127.0.0.1:8787",
    ...(session !== null && { session }),
    socket: sockets.factory,
    probe: async () => 503,
    onSignal: (signal) => heard.push(signal),
    onStatus: (status) => statuses.push(status),
    clock,
    random: () => 1,
    ...options,
  });
  const server = () => sockets.last();
  function opens(): void {
    server().opens();
    server().says(greeting());
  }
  const seqs = () => heard.flatMap((signal) => ("seq" in signal && signal.seq !== undefined ? [signal.seq] : []));
  return { connection, sockets, clock, heard, statuses, server, opens, seqs };
}

describe("resuming", () => {
  test("[E-01] a lost connection comes back with the last number it applied, after a growing, spread wait", () => {
    const { sockets, clock, statuses, server, opens } = scene();
    expect([server().url, server().protocols]).toEqual([
      `ws://127.0.0.1:8787/v1/socket?session=${SESSION}`,
      ["dormouse.v1"],
    ]);
    opens();
    server().says(resync(4), skill(5), skill(6));
    server().closes(1006);
    expect(statuses.at(-1)).toEqual({ kind: "waiting", attempt: 1, delay_ms: 500, code: 1006 });
    clock.pass(499);
    expect(sockets.made.length).toBe(1);
    clock.pass(1);
    expect(server().url).toBe(`ws://127.0.0.1:8787/v1/socket?session=${SESSION}&after=6`);
    server().opens();
    server().closes(1006);
    expect(statuses.at(-1)).toEqual({ kind: "waiting", attempt: 2, delay_ms: 1000, code: 1006 });
  });

  test("[E-01] a merged frame that begins before the next number is taken, a repeat is dropped", () => {
    const { server, opens, seqs } = scene();
    opens();
    server().says(resync(4), skill(5), skill(5), skill(8, 5), skill(7), skill(9));
    expect(seqs()).toEqual([5, 8, 9]);
  });

  test("[E-01] a hole is never passed on: the connection starts over from the stored turns", () => {
    const { sockets, clock, server, opens, seqs } = scene();
    opens();
    server().says(resync(4), skill(5), skill(7), skill(8));
    expect([seqs(), server().dropped]).toEqual([[5], 4413]);
    clock.pass(500);
    expect([sockets.made.length, server().url]).toEqual([2, `ws://127.0.0.1:8787/v1/socket?session=${SESSION}`]);
  });

  test("a session the server made is the one that is resumed", () => {
    const { connection, clock, server } = scene({}, null);
    server().opens();
    server().says(greeting(1), skill(1));
    server().closes(1012);
    clock.pass(500);
    expect([connection.session, server().url]).toEqual([
      SESSION,
      `ws://127.0.0.1:8787/v1/socket?session=${SESSION}&after=1`,
    ]);
  });

  test("a draining server is left alone for the time it asked for", () => {
    const { clock, statuses, server, opens } = scene();
    opens();
    server().says(plain("server_draining", { reconnect_after_ms: 3000 }));
    clock.pass(1000);
    server().closes(1012);
    expect(statuses.at(-1)).toEqual({ kind: "waiting", attempt: 1, delay_ms: 2500, code: 1012 });
  });

  test("[E-01] a resync that goes back counts: the next connection asks from there", () => {
    const { clock, server, opens, seqs } = scene();
    opens();
    server().says(resync(40), skill(41), resync(12), skill(13));
    server().closes(1006);
    clock.pass(500);
    expect([seqs(), server().url]).toEqual([[41, 13], `ws://127.0.0.1:8787/v1/socket?session=${SESSION}&after=13`]);
  });

  test("retryNow ends a wait at once", () => {
    const { connection, sockets, server, opens } = scene();
    opens();
    server().closes(1006);
    connection.retryNow();
    connection.retryNow();
    expect(sockets.made.length).toBe(2);
  });

  test("kinds and shapes of a newer server are passed on and keep the numbers whole", () => {
    const { server, opens, seqs, heard } = scene();
    opens();
    server().says({ ...skill(1), kind: "mood" }, { ...skill(2), data: { name: 7 } }, skill(3));
    expect(seqs()).toEqual([1, 2, 3]);
    expect(heard.map((signal) => [signal.kind, "unknown" in signal])).toEqual([
      ["session_opened", false],
      ["mood", true],
      ["skill_loaded", true],
      ["skill_loaded", false],
    ]);
  });

  test("a frame that is no signal starts the connection over", () => {
    const { server, opens, statuses } = scene();
    opens();
    server().saysText("<html>");
    expect([server().dropped, statuses.at(-1)?.kind]).toEqual([4413, "waiting"]);
  });
});

describe("ending for good", () => {
  test.each([
    [401, "login_required"],
    [403, "origin_refused"],
    [404, "not_found"],
  ])("a refused upgrade whose probe says %i", async (status, reason) => {
    const { sockets, clock, statuses, server } = scene({ probe: async () => status });
    server().closes(1006);
    await vi.waitFor(() => expect(statuses.at(-1)).toEqual({ kind: "ended", reason }));
    clock.pass(100_000);
    expect(sockets.made.length).toBe(1);
  });

  test("a refused upgrade whose probe says 503, or nothing, is tried again", async () => {
    const probe = vi.fn(async () => 503).mockRejectedValueOnce(new Error("refused"));
    const { statuses, server, clock } = scene({ probe });
    server().closes(1006);
    await vi.waitFor(() => expect(statuses.at(-1)?.kind).toBe("waiting"));
    clock.pass(500);
    server().closes(1006);
    await vi.waitFor(() =>
      expect(statuses.at(-1)).toEqual({ kind: "waiting", attempt: 2, delay_ms: 1000, code: 1006 }),
    );
    expect(probe.mock.calls).toEqual([[SESSION], [SESSION]]);
  });

  test.each([
    [4401, "login_required"],
    [4403, "not_yours"],
  ])("close code %i", (code, reason) => {
    const { clock, sockets, statuses, server, opens } = scene();
    opens();
    server().closes(code);
    clock.pass(100_000);
    expect([statuses.at(-1), sockets.made.length]).toEqual([{ kind: "ended", reason }, 1]);
  });

  test("[E-04] a login that ended while the line was dead is seen by the next attempt; what waits is refused", async () => {
    const { connection, clock, statuses, server, opens } = scene({ probe: async () => 401 });
    opens();
    server().says(plain("auth_expired", {}));
    const waiting = connection.send(message("hello"));
    clock.pass(60_500);
    server().closes(1006);
    await expect(waiting).rejects.toThrow("the login has ended; log in again");
    expect(statuses.at(-1)).toEqual({ kind: "ended", reason: "login_required" });
  });

  test("close() refuses what still waits, and what comes later", async () => {
    const { connection, opens } = scene();
    opens();
    const waiting = connection.send(message("hello"));
    connection.close();
    await expect(waiting).rejects.toThrow(ConnectionEnded);
    await expect(connection.send(message("again"))).rejects.toThrow(ConnectionEnded);
    expect(connection.status).toEqual({ kind: "ended", reason: "closed" });
  });
});

describe("commands", () => {
  test("[D-03] what was not answered is sent again under the same id, in order, and only that", async () => {
    const { connection, clock, server, opens } = scene();
    const [a, b] = [message("a", {}, uuid(21)), message("b", {}, uuid(22))];
    const first = connection.send(a);
    expect(server().sent).toEqual([]);
    opens();
    const second = connection.send(b);
    expect(server().sent).toEqual([a, b]);
    server().says(accepted(a.id));
    expect(await first).toEqual({ id: a.id, turn_id: TURN, queued: false });
    server().closes(1006);
    clock.pass(500);
    opens();
    expect(server().sent).toEqual([b]);
    server().says(accepted(b.id));
    expect((await second).id).toBe(b.id);
  });

  test("[D-03] a command given twice is sent once and answered twice", async () => {
    const { connection, server, opens } = scene();
    opens();
    const stop = cancel(TURN, uuid(23));
    const both = Promise.all([connection.send(stop), connection.send(stop)]);
    server().says(plain("cancel_receipt", { id: stop.id, cancelled: [TURN] }));
    expect([server().sent, await both]).toEqual([
      [stop],
      [
        { id: stop.id, cancelled: [TURN] },
        { id: stop.id, cancelled: [TURN] },
      ],
    ]);
  });

  test("an error with the id refuses the command; `draining` keeps it for the next connection", async () => {
    const { connection, clock, server, opens } = scene();
    opens();
    const [a, b] = [message("a", {}, uuid(21)), message("b", {}, uuid(22))];
    const first = connection.send(a);
    const second = connection.send(b);
    server().says(plain("error", { id: a.id, code: "queue_full", message: "ten wait already" }));
    server().says(plain("error", { id: b.id, code: "draining", message: "restarting" }));
    await expect(first).rejects.toEqual(new CommandRefused("queue_full", "ten wait already"));
    server().closes(1012);
    clock.pass(500);
    opens();
    expect(server().sent).toEqual([b]);
    server().says(accepted(b.id));
    expect((await second).turn_id).toBe(TURN);
  });

  test("[E-06] what breaks a limit is refused before it is sent", async () => {
    const { connection, clock, server } = scene();
    server().opens();
    server().says(greeting(1, { ...usualLimits, text_bytes: 8, frame_bytes: 300, commands_per_second: 2 }));
    const code = (sent: Promise<unknown>) =>
      sent.then(
        () => "sent",
        (error: LimitExceeded) => [error instanceof LimitExceeded, error.code, error.limit],
      );
    expect(await code(connection.send(message("äöüßx")))).toEqual([true, "text_too_long", 8]);
    const page = { page: { title: "x".repeat(300) } };
    expect(await code(connection.send(message("a", { context: page })))).toEqual([true, "frame_too_large", 300]);
    const two = [message("1"), message("2")].map((command) => connection.send(command));
    expect(await code(connection.send(message("3")))).toEqual([true, "too_many_commands", 2]);
    for (const sent of server().sent) server().says(accepted((sent as { id: string }).id));
    expect((await Promise.all(two)).length).toBe(2);
    expect(await code(connection.send(message("3")))).toEqual([true, "too_many_commands", 2]);
    clock.pass(1001);
    connection.send(message("3"));
    expect(server().sent.length).toBe(3);
  });
});

describe("heartbeat", () => {
  test("[E-07] a ping after 25 s in which nothing was sent", () => {
    const { clock, server, opens } = scene();
    opens();
    clock.pass(24_999);
    expect(server().sent).toEqual([]);
    clock.pass(1);
    expect(server().sent.map((sent) => (sent as { type: string }).type)).toEqual(["ping"]);
  });

  test("[E-07] 60 s without a frame end the socket, also when its closing hangs", () => {
    const { sockets, clock, statuses, server, opens } = scene();
    opens();
    clock.pass(50_000);
    server().says(plain("heartbeat", {}));
    clock.pass(59_999);
    expect(server().dropped).toBe(undefined);
    clock.pass(1);
    expect([server().dropped, statuses.at(-1)?.kind]).toEqual([4408, "waiting"]);
    clock.pass(500);
    expect(sockets.made.length).toBe(2);
  });

  test("[E-07] a line that swallows everything is noticed within a minute; what was not answered goes again under its id", async () => {
    const { connection, sockets, clock, server, opens } = scene();
    opens();
    server().says(resync(4), skill(5));
    clock.pass(30_000);
    const said = message("hello", {}, uuid(21));
    const answer = connection.send(said);
    clock.pass(29_999);
    expect([sockets.made.length, server().dropped]).toEqual([1, undefined]);
    clock.pass(1 + 500);
    expect([sockets.made.length, server().url]).toEqual([
      2,
      `ws://127.0.0.1:8787/v1/socket?session=${SESSION}&after=5`,
    ]);
    opens();
    expect(server().sent).toEqual([said]);
    server().says(accepted(said.id));
    expect(await answer).toEqual({ id: said.id, turn_id: TURN, queued: false });
  });

  test("[E-07] what a connection that was given up says later is not heard", () => {
    const { connection, clock, server, opens, seqs } = scene();
    opens();
    server().says(resync(4), skill(5));
    const old = server();
    clock.pass(60_500);
    opens();
    old.says(skill(6));
    old.closes(4401);
    server().says(skill(6));
    expect([connection.status, seqs()]).toEqual([{ kind: "open" }, [5, 6]]);
  });

  test("[E-07] a server that opens the socket and says nothing is given up as well", () => {
    const { clock, server, statuses } = scene();
    server().opens();
    clock.pass(60_000);
    expect([server().dropped, statuses.at(-1)?.kind]).toEqual([4408, "waiting"]);
  });

  test("[E-07] a probe that is swallowed too holds nothing up, and its late answer counts no more", async () => {
    const late: ((status: number) => void)[] = [];
    const probe = () => new Promise<number>((answer) => late.push(answer));
    const { sockets, clock, statuses } = scene({ probe });
    clock.pass(20_000);
    expect(statuses.at(-1)).toEqual({ kind: "connecting", attempt: 0 });
    clock.pass(10_000);
    expect(statuses.at(-1)).toEqual({ kind: "waiting", attempt: 1, delay_ms: 500, code: 4408 });
    for (const answer of late) answer(401);
    await new Promise((settled) => setImmediate(settled));
    clock.pass(500);
    expect([sockets.made.length, statuses.at(-1)]).toEqual([2, { kind: "connecting", attempt: 1 }]);
  });

  test("[E-07] a machine that slept notices with the first timer that runs", () => {
    const { clock, server, opens, statuses } = scene();
    opens();
    clock.sleep(3_600_000);
    clock.pass(0);
    expect([server().dropped, statuses.at(-1)?.kind]).toEqual([4408, "waiting"]);
  });

  test("[E-07] a socket that neither opens nor closes is given up", async () => {
    const { clock, statuses, server } = scene();
    clock.pass(20_000);
    await vi.waitFor(() => expect(statuses.at(-1)?.kind).toBe("waiting"));
    expect(server().dropped).toBe(4408);
  });
});
