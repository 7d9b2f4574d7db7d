import { never } from "../machines/failure.ts";
import { isNumbered, parseSignal, type Signal, type UnknownSignal } from "../machines/protocol/signals.ts";
import { backoffMs, type Clock, systemClock } from "./clock.ts";
import { newId, type ReceiptOf, type Sendable } from "./commands.ts";
import { ConnectionEnded } from "./errors.ts";
import { ledger } from "./ledger.ts";
import { attach, type SocketFactory, socketUrl, type Wire } from "./socket.ts";

const SUB_PROTOCOL = "dormouse.v1";
const PING_AFTER_MS = 25_000;
const SILENCE_MS = 60_000;
const OPENING_MS = 20_000;
/** A probe goes over the same network as the socket, and may be swallowed like it. */
const PROBE_MS = 10_000;
/** A connection that lived this long counts as good: the next loss starts the back-off afresh. */
const SETTLED_MS = 5_000;

/** Why a connection is over for good. */
export type Ending = "closed" | "login_required" | "origin_refused" | "not_yours" | "not_found";

export type Status =
  | { readonly kind: "connecting"; readonly attempt: number }
  | { readonly kind: "open" }
  | { readonly kind: "waiting"; readonly attempt: number; readonly delay_ms: number; readonly code?: number }
  | { readonly kind: "ended"; readonly reason: Ending };

export type ConnectOptions = {
  /** The server's own address, `http(s)://host:port`. */
  readonly url: string;
  /** Without one the server makes a new session. */
  readonly session?: string;
  /** The last number already applied; without it the server sends the newest turns. */
  readonly after?: number;
  readonly socket: SocketFactory;
  /** The HTTP status of `GET /v1/sessions/<id>` (or `/v1/sessions`): what a browser can't read off a refused upgrade. */
  readonly probe: (session?: string) => Promise<number>;
  readonly onSignal: (signal: Signal | UnknownSignal) => void;
  readonly onStatus?: (status: Status) => void;
  readonly clock?: Clock;
  readonly random?: () => number;
};

export interface Connection {
  readonly status: Status;
  /** Known from the start, or once the server has opened the session. */
  readonly session: string | undefined;
  /**
   * Sends a command, now or when the socket is open again, and gives its answer. Rejects with `LimitExceeded` (not
   * sent), `CommandRefused` (the server said no) or `ConnectionEnded` (unknown).
   */
  send<C extends Sendable>(command: C): Promise<ReceiptOf<C>>;
  /** Ends a wait between attempts: the network is back, the page is visible again. */
  retryNow(): void;
  /** Ends the connection for good. */
  close(): void;
}

/** Keeps one session connected until it is closed or refused for good. */
export function connect(options: ConnectOptions): Connection {
  const { clock = systemClock, random = Math.random } = options;
  const commands = ledger(clock);
  let status: Status = { kind: "connecting", attempt: 0 };
  let session = options.session;
  let applied = options.after;
  let attempt = 0;
  let notBefore = 0;
  let wire: Wire | undefined;
  let openedAt: number | undefined;
  let greeted = false;
  let lastSaid = 0;
  let lastHeard = 0;
  let stopTimer = () => {};

  function become(next: Status): void {
    status = next;
    options.onStatus?.(next);
  }

  function open(): void {
    become({ kind: "connecting", attempt });
    openedAt = undefined;
    greeted = false;
    wire = attach(options.socket(socketUrl(options.url, session, applied), [SUB_PROTOCOL]), { opened, said, closed });
    stopTimer = clock.after(OPENING_MS, () => lose(4408, "no answer"));
  }

  function opened(): void {
    openedAt = lastSaid = lastHeard = clock.now();
    beat();
  }

  function say(frame: string): void {
    wire?.send(frame);
    lastSaid = clock.now();
    beat();
  }

  /** One timer for both ends: our next ping, or the moment at which the server's silence is too long. */
  function beat(): void {
    stopTimer();
    const due = Math.min(lastSaid + PING_AFTER_MS, lastHeard + SILENCE_MS);
    stopTimer = clock.after(Math.max(0, due - clock.now()), () => {
      if (clock.now() - lastHeard >= SILENCE_MS) lose(4408, "heartbeat missed");
      else if (clock.now() - lastSaid >= PING_AFTER_MS) say(JSON.stringify({ type: "ping", id: newId() }));
      else beat();
    });
  }

  function said(text: string): void {
    lastHeard = clock.now();
    beat();
    const signal = read(text);
    const fits = signal === undefined ? "unreadable" : follows(signal);
    if (signal === undefined || fits === "unreadable" || fits === "hole") resync(fits);
    else if (fits === "next") apply(signal);
  }

  function apply(signal: Signal | UnknownSignal): void {
    applied = numbers(signal)?.seq ?? applied;
    if (!("unknown" in signal)) notice(signal);
    commands.hear(signal);
    options.onSignal(signal);
  }

  function follows(signal: Signal | UnknownSignal): "next" | "known" | "hole" {
    const given = numbers(signal);
    if (given === undefined || applied === undefined) return "next";
    if (given.seq <= applied) return "known";
    return given.from <= applied + 1 ? "next" : "hole";
  }

  function notice(signal: Signal): void {
    if (isNumbered(signal)) return;
    if (signal.kind === "resync") applied = signal.data.seq;
    if (signal.kind === "server_draining") notBefore = clock.now() + signal.data.reconnect_after_ms;
    if (signal.kind !== "session_opened") return;
    if (session === undefined) applied = signal.data.next_seq - 1;
    session = signal.data.session_id;
    commands.limit(signal.data.limits);
    commands.renewed();
    greeted = true;
    become({ kind: "open" });
    for (const frame of commands.frames()) transmit(frame);
  }

  function transmit(frame: string): void {
    commands.left();
    say(frame);
  }

  /** Forgets the cursor, so that the next connection begins with the stored turns. */
  function resync(reason: string): void {
    applied = undefined;
    lose(4413, reason);
  }

  function lose(code: number, reason: string): void {
    wire?.drop(code, reason);
    closed(code);
  }

  function closed(code: number): void {
    stopTimer();
    wire = undefined;
    if (status.kind === "ended") return;
    if (code === 4401) end("login_required");
    else if (code === 4403) end("not_yours");
    else if (openedAt === undefined) refused(code);
    else {
      if (greeted && clock.now() - openedAt >= SETTLED_MS) attempt = 0;
      wait(code);
    }
  }

  const ask = async (): Promise<number> => options.probe(session);

  /** Asks once why the socket did not open. No answer is like 503, the server is away; a late one counts no more. */
  function refused(code: number): void {
    let waiting = true;
    const decide = (answer: number) => {
      if (!waiting) return;
      waiting = false;
      stopTimer();
      if (status.kind === "ended") return;
      if (answer === 401) end("login_required");
      else if (answer === 403) end("origin_refused");
      else if (answer === 404) end("not_found");
      else wait(code);
    };
    stopTimer = clock.after(PROBE_MS, () => decide(503));
    ask().then(decide, () => decide(503));
  }

  function wait(code: number): void {
    attempt += 1;
    const spread = backoffMs(attempt, random);
    const delay_ms = Math.max(spread, notBefore - clock.now() + spread);
    notBefore = 0;
    stopTimer = clock.after(delay_ms, open);
    become({ kind: "waiting", attempt, delay_ms, code });
  }

  function end(reason: Ending): void {
    stopTimer();
    wire?.drop(1000, "done");
    wire = undefined;
    commands.end(endingWords(reason));
    become({ kind: "ended", reason });
  }

  open();

  return {
    get status() {
      return status;
    },
    get session() {
      return session;
    },
    async send<C extends Sendable>(command: C): Promise<ReceiptOf<C>> {
      if (status.kind === "ended") throw new ConnectionEnded(endingWords(status.reason));
      const { fresh, frame, answer } = commands.add(command);
      if (fresh && status.kind === "open") transmit(frame);
      return answer as Promise<ReceiptOf<C>>;
    },
    retryNow() {
      if (status.kind !== "waiting") return;
      stopTimer();
      open();
    },
    close: () => void (status.kind !== "ended" && end("closed")),
  };
}

function numbers(signal: Signal | UnknownSignal): { readonly from: number; readonly seq: number } | undefined {
  if (!("seq" in signal) || signal.seq === undefined) return undefined;
  return { from: signal.from_seq ?? signal.seq, seq: signal.seq };
}

/** A frame of a known kind that this version can't read is passed on like an unknown kind; `block_finished` makes up for it. */
function read(text: string): Signal | UnknownSignal | undefined {
  try {
    const frame: unknown = JSON.parse(text);
    try {
      return parseSignal(frame);
    } catch {
      const { kind } = frame as { readonly kind: string };
      if (kind === "session_opened" || kind === "resync") return undefined;
      const passed = parseSignal({ ...(frame as object), kind: "unreadable" });
      return { ...passed, kind, unknown: true } as UnknownSignal;
    }
  } catch {
    return undefined;
  }
}

/** The words a person reads when a connection is over. */
export function endingWords(reason: Ending): string {
  switch (reason) {
    case "closed":
      return "the connection was closed";
    case "login_required":
      return "the login has ended; log in again";
    case "origin_refused":
      return "the server does not accept clients from this address";
    case "not_yours":
    case "not_found":
      return "there is no such conversation, or it is not yours";
    default:
      return never(reason);
  }
}
