import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { type WebSocket, WebSocketServer } from "ws";
import { type Command, commandSchema, type MessageCommand } from "../../machines/protocol/commands.ts";
import type { NumberedKind, NumberedSignal, PlainKind, SignalData } from "../../machines/protocol/signals.ts";
import type { Turn } from "../../machines/protocol/turns.ts";
import { newId } from "../commands.ts";
import { usualLimits } from "../ledger.ts";

/** What a fake answer may do. `say` streams a text block, `card` shows a card. */
export type Stage = {
  emit<K extends NumberedKind>(kind: K, data: SignalData<K>): void;
  say(text: string, type?: "text" | "thinking"): Promise<void>;
  tool(name: string, title: string, outcome?: "ok" | "error"): Promise<void>;
  card(type: string, content: Record<string, unknown>): Promise<void>;
  wait(ms: number): Promise<void>;
  readonly turn_id: string;
  readonly cancelled: () => boolean;
};
export type Answer = (command: MessageCommand, stage: Stage) => Promise<"completed" | "failed">;

export type FakeServer = {
  readonly url: string;
  /** Ends every socket with this close code; the server goes on. */
  cut(code: number): void;
  close(): Promise<void>;
};

export type FakeOptions = {
  readonly answer: Answer;
  /** Milliseconds between two deltas. */
  readonly pace?: number;
  readonly port?: number;
  /** Serves everything that is no route; the console in screenshots. */
  readonly page?: (path: string, response: ServerResponse) => void;
};

type Session = {
  id: string;
  turns: Turn[];
  queue: MessageCommand[];
  seq: number;
  log: NumberedSignal[];
  sockets: Set<WebSocket>;
};

/** A server of the protocol in memory, with one user and answers that the caller writes. For tests and screenshots only. */
export async function fakeServer({ answer, pace = 0, port = 0, page }: FakeOptions): Promise<FakeServer> {
  const sessions = new Map<string, Session>();
  const cancelled = new Set<string>();

  const state = (session: Session) => ({
    status: session.turns.some((turn) => turn.outcome === undefined) ? ("turning" as const) : ("resting" as const),
    pending_interaction: null,
    queue: session.queue.map(({ id, text }) => ({ turn_id: id, text })),
  });
  const envelope = (session: Session, kind: string, data: unknown) => ({
    v: 1,
    kind,
    session_id: session.id,
    at: new Date().toISOString(),
    data,
  });
  const tell = <K extends PlainKind>(socket: WebSocket, session: Session, kind: K, data: SignalData<K>) =>
    socket.send(JSON.stringify(envelope(session, kind, data)));
  function emit(session: Session, turn_id: string, kind: NumberedKind, data: unknown): void {
    session.seq += 1;
    const signal = { ...envelope(session, kind, data), seq: session.seq, turn_id } as NumberedSignal;
    session.log.push(signal);
    for (const socket of session.sockets) socket.send(JSON.stringify(signal));
  }

  async function run(session: Session, command: MessageCommand): Promise<void> {
    const turn: Turn = {
      turn_id: command.id,
      n: (session.turns.at(-1)?.n ?? 0) + 1,
      cause: "message",
      input: { text: command.text, ...(command.context && { context: command.context }) },
      blocks: [],
    };
    session.turns.push(turn);
    const { turn_id, n, cause, input } = turn;
    const send = (kind: NumberedKind, data: unknown) => emit(session, turn_id, kind, data);
    send("turn_started", { turn_id, n, cause, input });
    send("state_changed", { status: "turning", pending_interaction: null });
    const began = Date.now();
    const outcome = await answer(command, stage(turn, send));
    turn.outcome = cancelled.has(turn_id) ? "cancelled" : outcome;
    const usage = { input: 900, output: 120, thinking: 40, cached: 0 };
    if (turn.outcome === "cancelled") send("turn_cancelled", { turn_id });
    else if (outcome === "completed")
      send("turn_completed", { turn_id, outcome, usage, ms: Date.now() - began, steps: 2 });
    else
      send("turn_failed", {
        turn_id,
        code: "model_unavailable",
        message: "The model can't be reached.",
        retryable: true,
      });
    send("state_changed", { status: "resting", pending_interaction: null });
    const next = session.queue.shift();
    if (next) {
      send("queue_changed", { waiting: state(session).queue });
      await run(session, next);
    }
  }

  function stage(turn: Turn, send: (kind: NumberedKind, data: unknown) => void): Stage {
    const stopped = () => cancelled.has(turn.turn_id);
    async function block(type: string, content: Record<string, unknown>, show: (block_id: string) => Promise<void>) {
      const held = { block_id: newId(), idx: turn.blocks.length, type, attempt: 1 };
      send("block_started", held);
      await show(held.block_id);
      turn.blocks.push({ ...held, content });
      send("block_finished", { ...held, content });
    }
    return {
      turn_id: turn.turn_id,
      cancelled: stopped,
      emit: send,
      wait: (ms) => pause(ms),
      say: (text, type = "text") =>
        block(type, { text }, async (block_id) => {
          for (let offset = 0; offset < text.length && !stopped(); offset += 6) {
            const delta = { block_id, offset, text: text.slice(offset, offset + 6) };
            send(type === "text" ? "llm_delta" : "thinking_summary", delta);
            if (pace > 0) await pause(pace);
          }
        }),
      async tool(name, title, outcome = "ok") {
        const call_id = newId();
        send("tool_call_started", { call_id, name, title });
        await pause(pace * 20);
        send("tool_call_finished", { call_id, name, outcome, ms: 340 });
      },
      card: (type, content) =>
        block(type, content, async (block_id) => send(type as NumberedKind, { block_id, ...content })),
    };
  }

  function hear(session: Session, socket: WebSocket, command: Command): void {
    const { id } = command;
    if (command.type === "ping") tell(socket, session, "pong", { id });
    else if (command.type === "cancel") {
      const running = session.turns.at(-1)?.turn_id;
      const wanted = command.turn_id ?? running;
      session.queue = session.queue.filter((one) => one.id !== wanted);
      if (wanted !== undefined) cancelled.add(wanted);
      emit(session, wanted ?? id, "queue_changed", { waiting: state(session).queue });
      tell(socket, session, "cancel_receipt", { id, cancelled: wanted === undefined ? [] : [wanted] });
    } else if (command.type === "message") {
      const queued = state(session).status === "turning";
      tell(socket, session, "message_accepted", { id, turn_id: id, queued });
      if (!queued) return void run(session, command);
      session.queue.push(command);
      emit(session, id, "queue_changed", { waiting: state(session).queue });
    } else tell(socket, session, "error", { id, code: "unavailable", message: "not in this fake" });
  }

  function open(session: Session, socket: WebSocket, after: string | null): void {
    const { status } = state(session);
    tell(socket, session, "session_opened", {
      session_id: session.id,
      thawed: false,
      status,
      next_seq: session.seq + 1,
      agent: "assist",
      simulated: true,
      limits: usualLimits,
    });
    if (after === null) {
      const turns = session.turns.slice(-20);
      tell(socket, session, "resync", { from_turn: turns[0]?.n ?? 1, turns, state: state(session), seq: session.seq });
    } else for (const one of session.log) if (one.seq > Number(after)) socket.send(JSON.stringify(one));
    session.sockets.add(socket);
    socket.on("close", () => session.sockets.delete(socket));
    socket.on("message", (data) => hear(session, socket, commandSchema.parse(JSON.parse(String(data)))));
  }

  const make = (): Session => {
    const session: Session = { id: newId(), turns: [], queue: [], seq: 0, log: [], sockets: new Set() };
    sessions.set(session.id, session);
    return session;
  };
  const loggedIn = (request: IncomingMessage) => request.headers.cookie?.includes("platform_session=") === true;

  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://fake");
    const json = (status: number, body: unknown) => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify(body));
    };
    if (url.pathname === "/login") {
      const user = url.searchParams.get("user");
      if (user === null) return json(400, { error: { code: "invalid", message: "user is missing" } });
      const cookie = `platform_session=${user}; HttpOnly; Path=/; SameSite=Lax`;
      response.writeHead(302, { "set-cookie": cookie, location: "/" });
      return response.end();
    }
    if (url.pathname === "/healthz") return json(200, { alive: true, simulated: true, demo_login: true });
    if (!url.pathname.startsWith("/v1/")) return page ? page(url.pathname, response) : json(404, {});
    if (!loggedIn(request)) return json(401, { error: { code: "auth_required", message: "log in first" } });
    const [, , , id] = url.pathname.split("/");
    if (id === undefined && request.method === "POST") return json(201, { session_id: make().id });
    if (id === undefined) return json(200, { sessions: [...sessions.values()].map(summary).reverse() });
    const session = sessions.get(id);
    if (session === undefined) return json(404, { error: { code: "not_found", message: "no such session" } });
    if (request.method === "DELETE") {
      sessions.delete(id);
      for (const socket of session.sockets) socket.close(4403, "erased");
      return json(200, {});
    }
    const before = Number(url.searchParams.get("before") ?? Number.POSITIVE_INFINITY);
    const turns = session.turns.filter((turn) => turn.n < before).slice(-20);
    json(200, { session_id: id, turns, state: state(session), seq: session.seq });
  });
  const summary = (session: Session) => {
    const input = session.turns[0]?.input;
    return {
      session_id: session.id,
      title: input && "text" in input ? input.text : null,
      status: state(session).status,
      updated_at: new Date().toISOString(),
      pending_interaction: false,
    };
  };

  const sockets = new WebSocketServer({ noServer: true });
  server.on("upgrade", (request, socket, head) => {
    const url = new URL(request.url ?? "/", "http://fake");
    const session = sessions.get(url.searchParams.get("session") ?? "");
    const refusal = !loggedIn(request) ? 401 : session === undefined ? 404 : undefined;
    if (refusal !== undefined || session === undefined) {
      socket.end(`HTTP/1.1 ${refusal} Refused\r\nconnection: close\r\n\r\n`);
      return;
    }
    sockets.handleUpgrade(request, socket, head, (ready) => open(session, ready, url.searchParams.get("after")));
  });
  await new Promise<void>((ready) => server.listen(port, "127.0.0.1", ready));
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : port}`,
    cut(code) {
      for (const socket of sockets.clients) socket.close(code);
    },
    close: () =>
      new Promise((closed) => {
        for (const socket of sockets.clients) socket.terminate();
        server.close(() => closed());
        server.closeAllConnections();
      }),
  };
}
