import { isDeepStrictEqual } from "node:util";
import { storedBlocks } from "../../../client/reducer.ts";
import type { View } from "../../../client/view.ts";
import { callsOf, type PlacedEntry } from "../../../machines/conversation/entries.ts";
import type { SessionId } from "../../../machines/ids.ts";
import { isNumbered, type PlainSignal, type Signal } from "../../../machines/protocol/signals.ts";
import type { Turn } from "../../../machines/protocol/turns.ts";
import { AskingOracle, type StoredAsking } from "./asking-oracle.ts";
import type { Sent } from "./tab.ts";
import type { Effect } from "./tools.ts";

/** What the database holds of a session. */
export type Stored = {
  readonly rows: readonly { readonly command: string; readonly turn: string | null; readonly state: string }[];
  readonly turns: readonly Turn[];
  readonly entries: readonly PlacedEntry[];
  readonly asking: StoredAsking;
  readonly status: string;
  readonly isHeld: boolean;
  /** Somebody has owned it at some time. */
  readonly isTouched: boolean;
  /** Its last owner did not put it to sleep: nobody told the clients. */
  readonly hasLapsed: boolean;
};

type Asked = { readonly node: string; readonly session: SessionId; readonly signal: AbortSignal };

/** Watches a simulated life from outside and remembers what must not be. */
export class Oracle {
  readonly problems: string[] = [];
  /** How often each answer was given, and each kind of signal was sent. */
  readonly seen = new Map<string, number>();
  readonly #bySeq = new Map<string, string>();
  readonly #ended = new Map<string, number>();
  readonly #accepted = new Map<string, string>();
  readonly #cancelled = new Set<string>();
  readonly #sent = new Set<string>();
  readonly #effects = new Map<string, number>();
  readonly #asking = new Set<Asked>();
  readonly #history = new Map<SessionId, readonly PlacedEntry[]>();
  readonly asking = new AskingOracle((problem) => this.broken(problem));
  #cancels = 0;

  broken(problem: string): void {
    this.problems.push(problem);
  }

  sent(command: Sent): void {
    if (command.type === "message" || command.type === "resolve") this.#sent.add(command.id);
    this.asking.sent(command);
    if (command.type === "cancel") this.#cancels += 1;
  }

  answered(command: Sent, receipt: PlainSignal): void {
    this.#saw("result" in receipt.data ? `${receipt.kind} ${receipt.data.result}` : receipt.kind);
    if (receipt.kind === "message_accepted") {
      const known = this.#accepted.get(command.id);
      if (known !== undefined && known !== receipt.data.turn_id) this.broken(`message ${command.id} got two turns`);
      this.#accepted.set(command.id, receipt.data.turn_id);
    }
    if (receipt.kind === "cancel_receipt") for (const turn of receipt.data.cancelled) this.#cancelled.add(turn);
    if (receipt.kind === "interaction_receipt") this.asking.resolved(receipt.data);
    if (receipt.kind === "action_receipt") this.asking.pressed(receipt.data);
    if (receipt.kind === "error" && !["draining", "unavailable", "queue_full"].includes(receipt.data.code))
      this.broken(`${command.type} was answered ${receipt.data.code}`);
  }

  /** A number is used once, and nothing of a turn comes after its end. */
  shown(signal: Signal): void {
    if (!isNumbered(signal)) return;
    const place = `${signal.session_id} ${signal.seq}`;
    const content = JSON.stringify([signal.kind, signal.turn_id, signal.data]);
    const before = this.#bySeq.get(place);
    if (before !== undefined && before !== content) this.broken(`number ${signal.seq} was used twice (${signal.kind})`);
    if (before === undefined)
      this.#saw(signal.kind === "interaction_resolved" ? `ended ${signal.data.by}` : signal.kind);
    this.#bySeq.set(place, content);
    if (signal.kind === "interaction_resolved") this.asking.ended(signal.seq, signal.data);
    // A button may be pressed long after its turn.
    if (signal.turn_id === undefined || signal.kind === "action_done") return;
    const end = this.#ended.get(signal.turn_id);
    if (end !== undefined && signal.seq > end)
      this.broken(`${signal.kind} ${signal.seq} came after its turn ended at ${end}`);
    if (["turn_completed", "turn_failed", "turn_cancelled"].includes(signal.kind))
      this.#ended.set(signal.turn_id, signal.seq);
  }

  #saw(what: string): void {
    this.seen.set(what, (this.seen.get(what) ?? 0) + 1);
  }

  happened({ key, repeatable, tool }: Effect): void {
    this.#saw(`${tool} written`);
    const times = (this.#effects.get(key) ?? 0) + 1;
    this.#effects.set(key, times);
    if (times > 1 && !repeatable) this.broken(`${tool} was run ${times} times for one call`);
  }

  asks(asked: Asked, isLive: (node: string) => boolean): () => void {
    this.#asking.add(asked);
    const now = [...this.#asking].filter(
      (one) => one.session === asked.session && isLive(one.node) && !one.signal.aborted,
    );
    if (now.length > 1) this.broken(`the model is asked ${now.length} times at once`);
    return () => this.#asking.delete(asked);
  }

  /** History only grows, and each call has exactly one result before the model speaks again. */
  history(session: SessionId, entries: readonly PlacedEntry[], isOver: boolean): void {
    const before = this.#history.get(session) ?? [];
    if (!isDeepStrictEqual(entries.slice(0, before.length), before)) this.broken("history changed");
    this.#history.set(session, entries);
    entries.forEach(({ pos }, at) => {
      if (pos !== at) this.broken(`entry ${at} lies at ${pos}`);
    });
    const open = new Set<string>();
    let turn = "";
    let hasUser = false;
    const turns = new Set<string>();
    for (const { entry } of entries) {
      if (entry.turnId !== turn) {
        if (turns.has(entry.turnId)) this.broken(`turn ${entry.turnId} is in two places`);
        if (entry.kind !== "user" && entry.kind !== "resolution" && entry.kind !== "action")
          this.broken(`turn ${entry.turnId} begins with ${entry.kind}`);
        hasUser = entry.kind === "user";
        if (open.size > 0) this.broken(`turn ${turn} left calls open`);
        turns.add(entry.turnId);
        turn = entry.turnId;
      } else if (entry.kind === "user") {
        if (hasUser) this.broken(`turn ${turn} has two user entries`);
        hasUser = true;
      }
      if (entry.kind === "assistant") {
        if (open.size > 0) this.broken("the model spoke before its calls were answered");
        for (const call of callsOf(entry)) open.add(call.callId);
      }
      if (entry.kind === "tool_result" && !open.delete(entry.callId))
        this.broken(`a result without a call (${entry.outcome})`);
    }
    if (isOver && open.size > 0) this.broken("calls are open at the end");
    if (!isOver) this.asking.history(entries, "unknown");
  }

  /** At the end of a life, when everything is at rest. */
  settled(session: SessionId, stored: Stored, views: ReadonlyMap<string, View>): void {
    this.history(session, stored.entries, true);
    const asleep = stored.isTouched ? "hibernated" : "resting";
    const ends = stored.asking.open === undefined ? asleep : "awaiting";
    if (stored.status !== ends || stored.isHeld) this.broken(`ends as ${stored.status}, held: ${stored.isHeld}`);
    const byTurn = new Map(stored.turns.map((turn) => [turn.turn_id, turn]));
    stored.turns.forEach((turn, at) => {
      if (turn.n !== at + 1) this.broken(`turn ${at + 1} is stored as number ${turn.n}`);
    });
    for (const { command, turn, state } of stored.rows) {
      if (turn === null) continue;
      if (state !== "settled" && state !== "withdrawn") this.broken(`turn ${turn} ends as ${state}`);
      if ((state === "settled") !== byTurn.has(turn))
        this.broken(`turn ${turn} is ${state}, stored: ${byTurn.has(turn)}`);
      if (state === "withdrawn" && this.#cancels === 0) this.broken(`turn ${turn} was withdrawn by nobody`);
      if (!this.#sent.has(command)) this.broken(`a turn that nobody asked for: ${turn}`);
      if (byTurn.get(turn)?.outcome === "cancelled" && this.#cancels === 0)
        this.broken(`${turn} was cancelled by nobody`);
    }
    const rows = new Map(stored.rows.map((row) => [row.command, row]));
    for (const [command, turn] of this.#accepted)
      if (rows.get(command)?.turn !== turn) this.broken(`accepted message ${command} is lost`);
    for (const turn of this.#cancelled) {
      const state = stored.rows.find((row) => row.turn === turn)?.state;
      const outcome = byTurn.get(turn)?.outcome;
      if (state !== "withdrawn" && outcome !== "cancelled")
        this.broken(`turn ${turn} was said to be cancelled and is ${outcome ?? state}`);
    }
    for (const [name, view] of views) this.#compare(name, view, stored);
    this.asking.settled(stored, views);
  }

  #compare(name: string, view: View, stored: Stored): void {
    const seen = view.turns.map((turn) => [turn.turn_id, turn.n, turn.ending?.kind, storedBlocks(turn)]);
    const kept = stored.turns.map((turn) => [turn.turn_id, turn.n, turn.outcome, turn.blocks]);
    const shown = kept.slice(kept.length - seen.length);
    if (!isDeepStrictEqual(seen, shown))
      this.broken(`${name} shows ${JSON.stringify(seen)}\n   stored is ${JSON.stringify(shown)}`);
    const told = stored.hasLapsed && view.status === "resting" ? "hibernated" : view.status;
    if (told !== stored.status || view.queue.length > 0)
      this.broken(`${name} shows ${view.status} and ${view.queue.length} that wait`);
  }
}
