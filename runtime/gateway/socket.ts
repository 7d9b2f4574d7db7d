import type { SessionId } from "../../machines/ids.ts";
import type { Command } from "../../machines/protocol/commands.ts";
import type { PlainKind, PlainSignal, Signal, SignalData } from "../../machines/protocol/signals.ts";
import { type Attachment, type Caller, Refused } from "../sessions/conversations.ts";
import { type Decoded, decode, glimpseId, looksLikePing, refused } from "./decode.ts";
import { startHeartbeat } from "./heartbeat.ts";
import { watchLogin } from "./login-watch.ts";
import { createOutbox, type Wire } from "./outbox.ts";
import { allowance } from "./rate.ts";
import { type GatewayServices, HEARTBEAT_AFTER, LOGIN_FRESH, LOGIN_RECHECK, SILENCE_LIMIT } from "./services.ts";
import { signalPacking } from "./signal-packing.ts";
import type { Timers } from "./timers.ts";

/** Whose socket this is and where it wants to go on. */
export type Seat = { readonly sessionId: SessionId; readonly caller: Caller; readonly after?: number };

/** A native socket, valid until `end` was called or it closed by itself. */
export type SocketWire = Wire & {
  /** What was sent leaves now, not when the code that runs has nothing left to do. */
  flush(): void;
  end(code: number, reason: string): void;
};

export interface Socket {
  frame(text: string, bytes: number): void;
  binaryFrame(): void;
  /** A WebSocket ping or pong came: the client lives. */
  heard(): void;
  drained(): void;
  drain(reconnectAfterMs: number): void;
  end(code: number, reason: string): void;
  /** The native socket is gone: everything that belongs to it ends. */
  closed(): void;
}

type SessionCommand = Exclude<Command, { type: "ping" }>;
type Services = Pick<GatewayServices, "conversations" | "authenticate" | "limits" | "log">;

/** One client on one session, from the open socket to its end. */
export function openSocket(wire: SocketWire, seat: Seat, services: Services, timers: Timers): Socket {
  const { conversations, limits, log } = services;
  const outbox = createOutbox(wire, limits.send_buffer_bytes, signalPacking);
  const commands = allowance(limits.commands_per_second, timers.now);
  const pings = allowance(limits.commands_per_second, timers.now);
  let open = true;
  let attachment: Attachment | undefined;

  const heartbeat = startHeartbeat({
    timers,
    beatAfter: HEARTBEAT_AFTER,
    silenceLimit: SILENCE_LIMIT,
    beat: () => tell("heartbeat", {}),
    silent: () => end(4408, "heartbeat missed"),
  });
  const login = watchLogin({
    timers,
    authenticate: services.authenticate,
    caller: seat.caller,
    recheckAfter: LOGIN_RECHECK,
    freshFor: LOGIN_FRESH,
    changed: (caller) => attachment?.refresh(caller),
    ended(why) {
      if (why === "expired") tell("auth_expired", {});
      if (why === "expired") end(4401, "login ended");
      else end(4403, "not yours");
    },
  });
  /** Commands go through here one after the other, so none overtakes another while a login is looked at. */
  let line: Promise<void> = attach();

  return {
    frame(text, bytes) {
      heartbeat.heard();
      accept(read(text, bytes));
    },
    binaryFrame() {
      heartbeat.heard();
      const code = commands() ? "invalid_command" : "rate_limited";
      tell("error", { code, message: "frames are text" });
    },
    heard: heartbeat.heard,
    drained() {
      if (open) outbox.drained();
    },
    drain: (reconnect_after_ms) => tell("server_draining", { reconnect_after_ms }),
    end,
    closed: release,
  };

  function read(text: string, bytes: number): Decoded {
    const within = looksLikePing(text) ? pings() : commands();
    if (within) return decode(text, bytes, limits);
    return refused("rate_limited", `at most ${limits.commands_per_second} commands a second`, glimpseId(text));
  }

  function accept(decoded: Decoded): void {
    if (decoded.kind === "refused") {
      tell("error", decoded.error);
      return;
    }
    const { command } = decoded;
    if (command.type === "ping") tell("pong", { id: command.id });
    else line = line.then(() => deliver(command));
  }

  async function attach(): Promise<void> {
    try {
      const joined = await conversations.attach(seat.sessionId, seat.caller, seat.after, { send: pass, close: end });
      if (open) attachment = joined;
      else joined.detach();
    } catch (error) {
      refuseSeat(error);
    }
  }

  function refuseSeat(error: unknown): void {
    if (!(error instanceof Refused)) log.error("attach failed", { session_id: seat.sessionId, err: error });
    const code = error instanceof Refused ? error.code : "unavailable";
    const message = error instanceof Refused ? error.message : "the session can't be joined now";
    tell("error", { code, message });
    if (code === "not_found") end(4403, "not yours");
    else end(1012, "try again");
  }

  /** Resolves when the next command may follow; the receipt comes when it comes. */
  async function deliver(command: SessionCommand): Promise<void> {
    try {
      const may = login.isFresh() || command.type === "cancel" || (await login.ask());
      if (!may || !open || attachment === undefined) return;
      void attachment.deliver(command).then(send, (error: unknown) => undelivered(command, error));
    } catch (error) {
      undelivered(command, error);
    }
  }

  function undelivered({ id }: SessionCommand, error: unknown): void {
    log.error("deliver failed", { session_id: seat.sessionId, command_id: id, err: error });
    tell("error", { id, code: "unavailable", message: "the command could not be taken: send it again" });
  }

  function pass(signal: Signal): void {
    send(signal);
    // The platform refused the login to a tool: what it says of this socket's can't wait for the next look.
    if (open && signal.kind === "auth_expired") void login.ask();
  }

  function send(signal: Signal): void {
    if (!open) return;
    if (signal.session_id !== seat.sessionId) {
      log.error("a signal of another session was stopped", { session_id: seat.sessionId, kind: signal.kind });
      return;
    }
    heartbeat.sent();
    if (!outbox.push(signal)) end(4413, "too slow");
    // It ends what is told together, and people wait for it.
    else if (signal.kind === "state_changed") wire.flush();
  }

  function tell<K extends PlainKind>(kind: K, data: SignalData<K>): void {
    const at = new Date(timers.now()).toISOString();
    send({ v: 1, kind, session_id: seat.sessionId, at, data } as unknown as PlainSignal);
  }

  function end(code: number, reason: string): void {
    if (!open) return;
    release();
    wire.end(code, reason);
  }

  function release(): void {
    if (!open) return;
    open = false;
    heartbeat.stop();
    login.stop();
    attachment?.detach();
  }
}
