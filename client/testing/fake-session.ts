import { setTimeout as pause } from "node:timers/promises";
import type { WebSocket } from "ws";
import {
  type AskedInteraction,
  answerSchema,
  checkResolution,
  resolutionLabel,
} from "../../machines/conversation/interactions.ts";
import type {
  ActionCommand,
  Command,
  MessageCommand,
  Resolution,
  ResolveCommand,
} from "../../machines/protocol/commands.ts";
import type { PendingInteraction } from "../../machines/protocol/interactions.ts";
import type { NumberedKind, NumberedSignal, PlainKind, SignalData } from "../../machines/protocol/signals.ts";
import type { ActionDone, SessionState, Turn } from "../../machines/protocol/turns.ts";
import { newId } from "../commands.ts";
import { usualLimits } from "../ledger.ts";

/** What a fake answer may do. `say` streams a text block, `card` shows a card, `ask` ends the turn with a question. */
export type Stage = {
  emit<K extends NumberedKind>(kind: K, data: SignalData<K>): void;
  say(text: string, type?: "text" | "thinking"): Promise<void>;
  tool(name: string, title: string, outcome?: "ok" | "error"): Promise<void>;
  card(type: string, content: Record<string, unknown>): Promise<void>;
  ask(asked: AskedInteraction): Promise<"awaiting">;
  wait(ms: number): Promise<void>;
  readonly turn_id: string;
  readonly cancelled: () => boolean;
};

/** What began the turn: a message, or an answer with its `text` in words. */
export type Given = { readonly text: string; readonly resolution?: Resolution };
export type Answer = (given: Given, stage: Stage) => Promise<"completed" | "failed" | "awaiting">;

type Begun = Pick<Turn, "turn_id" | "cause" | "input"> & { readonly given: Given };
type Over = {
  readonly pending: PendingInteraction;
  readonly by: "user" | "superseded" | "expired";
  resolution: unknown;
};
type Kept = { readonly kind: PlainKind; readonly data: object };

/** One session of the fake server: its turns, its signals, and what waits for an answer. */
export function fakeSession(answer: Answer, pace: number) {
  const id = newId();
  const sockets = new Set<WebSocket>();
  const turns: Turn[] = [];
  const log: NumberedSignal[] = [];
  const cancelled = new Set<string>();
  const over = new Map<string, Over>();
  const receipts = new Map<string, Kept>();
  let queue: Begun[] = [];
  let pending: PendingInteraction | null = null;
  let seq = 0;

  const isRunning = () => turns.some((turn) => turn.outcome === undefined);
  const status = () => (isRunning() ? "turning" : pending === null ? "resting" : "awaiting");
  const waiting = () => queue.map(({ turn_id, given }) => ({ turn_id, text: given.text }));
  const state = (): SessionState => ({ status: status(), pending_interaction: pending, queue: waiting() });
  const envelope = (kind: string, data: unknown) => ({
    v: 1,
    kind,
    session_id: id,
    at: new Date().toISOString(),
    data,
  });
  const tell = <K extends PlainKind>(socket: WebSocket, kind: K, data: SignalData<K>) =>
    socket.send(JSON.stringify(envelope(kind, data)));

  function emit(turn_id: string, kind: NumberedKind, data: unknown): void {
    seq += 1;
    const signal = { ...envelope(kind, data), seq, turn_id } as NumberedSignal;
    log.push(signal);
    for (const socket of sockets) socket.send(JSON.stringify(signal));
  }

  async function run(begun: Begun): Promise<void> {
    const { turn_id, cause, input, given } = begun;
    const turn: Turn = { turn_id, n: (turns.at(-1)?.n ?? 0) + 1, cause, input, blocks: [] };
    turns.push(turn);
    const send = (kind: NumberedKind, data: unknown) => emit(turn_id, kind, data);
    send("turn_started", { turn_id, n: turn.n, cause, input });
    send("state_changed", { status: "turning", pending_interaction: null });
    const asks: { pending: PendingInteraction | null } = { pending: null };
    const outcome = await answer(given, stage(turn, send, asks));
    turn.outcome = cancelled.has(turn_id) ? "cancelled" : outcome;
    const usage = { input: 900, output: 120, thinking: 40, cached: 0 };
    if (turn.outcome === "cancelled") send("turn_cancelled", { turn_id });
    else if (outcome !== "failed") send("turn_completed", { turn_id, outcome, usage, ms: 5, steps: 2 });
    else
      send("turn_failed", {
        turn_id,
        code: "model_unavailable",
        message: "The model can't be reached.",
        retryable: true,
      });
    pending = turn.outcome === "awaiting" ? asks.pending : null;
    const next = queue.shift();
    if (next !== undefined) close("superseded", turn_id);
    send("state_changed", { status: status(), pending_interaction: pending });
    if (next === undefined) return;
    send("queue_changed", { waiting: waiting() });
    await run(next);
  }

  function stage(
    turn: Turn,
    send: (kind: NumberedKind, data: unknown) => void,
    asks: { pending: PendingInteraction | null },
  ): Stage {
    const stopped = () => cancelled.has(turn.turn_id);
    async function block(type: string, content: Record<string, unknown>, show: (block_id: string) => Promise<void>) {
      const held = { block_id: newId(), idx: turn.blocks.length, type, attempt: 1 };
      send("block_started", held);
      await show(held.block_id);
      turn.blocks.push({ ...held, content });
      send("block_finished", { ...held, content });
    }
    const card: Stage["card"] = (type, content) =>
      block(type, content, async (block_id) => send(type as NumberedKind, { block_id, ...content }));
    return {
      turn_id: turn.turn_id,
      cancelled: stopped,
      emit: send,
      wait: (ms) => pause(ms),
      card,
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
      async ask(asked) {
        const { kind, prompt, options, proposal } = asked;
        const shown = {
          revision: 1,
          kind,
          prompt,
          ...(options && { options: [...options] }),
          ...(proposal && { proposal }),
        };
        asks.pending = { id: newId(), ...shown, schema: answerSchema(asked) };
        await card("interaction_request", { interaction_id: asks.pending.id, ...shown });
        return "awaiting";
      },
    };
  }

  function close(by: Over["by"], turn_id: string, resolution: Resolution | null = null): void {
    if (pending === null) return;
    over.set(pending.id, { pending, by, resolution });
    emit(turn_id, "interaction_resolved", { interaction_id: pending.id, resolution, by });
    pending = null;
  }

  function begin(begun: Begun): boolean {
    const queued = isRunning();
    if (queued) {
      queue.push(begun);
      emit(begun.turn_id, "queue_changed", { waiting: waiting() });
    }
    return queued;
  }

  function resolve(command: ResolveCommand): SignalData<"interaction_receipt"> {
    const { interaction_id, revision, resolution } = command;
    const open = () => pending && { id: pending.id, revision: pending.revision };
    const receipt = (result: SignalData<"interaction_receipt">["result"], more: object = {}) => ({
      id: command.id,
      interaction_id,
      result,
      ...more,
      open: open(),
    });
    const ended = over.get(interaction_id);
    if (ended?.by === "expired") return receipt("expired");
    if (ended !== undefined)
      return receipt(JSON.stringify(ended.resolution) === JSON.stringify(resolution) ? "duplicate" : "stale");
    if (pending?.id !== interaction_id) return receipt("not_found");
    if (pending.revision !== revision) return receipt("stale");
    const checked = checkResolution(pending, resolution);
    if (!checked.ok) return receipt("invalid", { message: checked.problem });
    const label = resolutionLabel(pending, resolution);
    close("user", command.id, resolution);
    void run({
      turn_id: command.id,
      cause: "resolution",
      input: { interaction_id, resolution, label },
      given: { text: label, resolution },
    });
    return receipt("accepted", { turn_id: command.id });
  }

  function act({ id: command, block_id, action, item }: ActionCommand): SignalData<"action_receipt"> {
    const turn = turns.find(({ blocks }) => blocks.some((block) => block.block_id === block_id));
    if (turn === undefined) return { id: command, result: "invalid", message: "there is no such card" };
    const plan = { plan_id: "plan-1", title: "Draft of the button" };
    const done: ActionDone = { block_id, action, item, result: "done", plan };
    turn.actions = [...(turn.actions ?? []), done];
    emit(turn.turn_id, "action_done", done);
    return { id: command, result: "done", plan };
  }

  function stop(command: string, turnId: string | undefined): SignalData<"cancel_receipt"> {
    const wanted = turnId ?? turns.at(-1)?.turn_id;
    queue = queue.filter(({ turn_id }) => turn_id !== wanted);
    if (wanted !== undefined) cancelled.add(wanted);
    emit(wanted ?? command, "queue_changed", { waiting: waiting() });
    return { id: command, cancelled: wanted === undefined ? [] : [wanted] };
  }

  function say(command: MessageCommand, reply: (queued: boolean) => void): void {
    const { id: turn_id, text, context } = command;
    const begun: Begun = {
      turn_id,
      cause: "message",
      input: { text, ...(context && { context }) },
      given: { text },
    };
    close("superseded", turn_id);
    reply(isRunning());
    if (!begin(begun)) void run(begun);
  }

  /** Answers a command; the same id again gets the same answer and does nothing. */
  function hear(socket: WebSocket, command: Command): void {
    const known = receipts.get(command.id);
    const reply = <K extends PlainKind>(kind: K, data: SignalData<K>) => {
      receipts.set(command.id, { kind, data });
      tell(socket, kind, data);
    };
    if (known !== undefined) socket.send(JSON.stringify(envelope(known.kind, { ...known.data, duplicate: true })));
    else if (command.type === "ping") tell(socket, "pong", { id: command.id });
    else if (command.type === "cancel") reply("cancel_receipt", stop(command.id, command.turn_id));
    else if (command.type === "resolve") reply("interaction_receipt", resolve(command));
    else if (command.type === "action") reply("action_receipt", act(command));
    else say(command, (queued) => reply("message_accepted", { id: command.id, turn_id: command.id, queued }));
  }

  /** Takes in a socket: the greeting, then what it missed. */
  function join(socket: WebSocket, after: string | null): void {
    tell(socket, "session_opened", {
      session_id: id,
      thawed: false,
      status: status(),
      next_seq: seq + 1,
      agent: "assist",
      simulated: true,
      limits: usualLimits,
    });
    if (after === null) {
      const newest = turns.slice(-20);
      tell(socket, "resync", { from_turn: newest[0]?.n ?? 1, turns: newest, state: state(), seq });
    } else for (const one of log) if (one.seq > Number(after)) socket.send(JSON.stringify(one));
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  }

  return {
    id,
    hear,
    join,
    page(before: number) {
      return { session_id: id, turns: turns.filter((turn) => turn.n < before).slice(-20), state: state(), seq };
    },
    summary() {
      const input = turns[0]?.input;
      return {
        session_id: id,
        title: input && "text" in input ? input.text : null,
        status: status(),
        updated_at: new Date().toISOString(),
        pending_interaction: pending !== null,
      };
    },
    /** The time to answer is over. */
    expire() {
      close("expired", turns.at(-1)?.turn_id ?? id);
      emit(turns.at(-1)?.turn_id ?? id, "state_changed", { status: status(), pending_interaction: pending });
    },
    erase() {
      for (const socket of sockets) socket.close(4403, "erased");
    },
  };
}

export type FakeSession = ReturnType<typeof fakeSession>;
