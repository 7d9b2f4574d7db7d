import type { Actor, SnapshotFrom } from "xstate";
import type { Room } from "../../machines/compaction/compaction.rules.ts";
import type { Entry, InteractionEntry } from "../../machines/conversation/entries.ts";
import type { Ledger } from "../../machines/conversation/ledger.ts";
import type { CallId, CommandId, SessionId, TurnId, UserId } from "../../machines/ids.ts";
import type { Usage } from "../../machines/model.ts";
import {
  type MessageCommand,
  messageCommand,
  type ResolveCommand,
  resolveCommand,
} from "../../machines/protocol/commands.ts";
import type { ActionDone, QueuedTurn, SessionState, Turn } from "../../machines/protocol/turns.ts";
import type { sessionMachine } from "../../machines/session/session.machine.ts";
import type { turnMachine } from "../../machines/turn/turn.machine.ts";
import type { Batch, Fence, InboxRow, InboxState, Intent, Settled, Taken } from "../../persistence/store.ts";
import { Acting } from "./acting.ts";
import { type Actions, withActions } from "./attaching.ts";
import type { Audience } from "./audience.ts";
import { Chain } from "./chain.ts";
import { showClosed } from "./closed.ts";
import type { Caller } from "./conversations.ts";
import { Lease } from "./lease.ts";
import type { LiveTurn } from "./live-turn.ts";
import type { Capabilities, World } from "./world.ts";

/** A command of this session that waits or runs. */
export type Row = { readonly turnId: TurnId; readonly commandId: CommandId; readonly state: InboxState } & (
  | { readonly kind: "message"; readonly body: MessageCommand }
  | { readonly kind: "resolve"; readonly body: ResolveCommand }
);

/** A stored row as its owner holds it. Throws zod's error when it is no command of this version. */
export function rowOf({ turnId, commandId, state, kind, body }: InboxRow): Row {
  const row = { turnId, commandId, state };
  switch (kind) {
    case "message":
      return { ...row, kind, body: messageCommand.parse(body) };
    case "resolve":
      return { ...row, kind, body: resolveCommand.parse(body) };
  }
}

/** What people read of a turn that waits. */
const queuedText = (row: Row): string => (row.kind === "message" ? row.body.text : "");

/** The turn that runs here, between its opening and its settlement. */
export type Run = {
  readonly turnId: TurnId;
  readonly live: LiveTurn;
  caller: Caller;
  capabilities: Capabilities;
  /** Monotonic. */
  readonly startedAt: number;
  /** Names for the event of a turn that failed. */
  readonly tools: Set<string>;
  readonly skills: Set<string>;
  profile: string | undefined;
  /** Time inside model and tool ports. */
  portsMs: number;
  /** Calls this owner made itself: any other open call may have had its effect under an owner before. */
  readonly made: Set<CallId>;
  usage: Usage;
  /** The plan of the proposal that this turn accepts may be stored already. */
  mayHaveStored: boolean;
};

/** How many numbers are asked for at a time, and how few may be left before more are. */
const RESERVE = 4096;
const RESERVE_BELOW = 1024;

/** What a resident is of its session: the right to write it, and where it stood when that was taken. */
export type Seat = Pick<Taken, "fence" | "owner" | "turns" | "unrecordedActions">;

/** One session as this node owns it: the fence, the ordered writes, the history since the anchor, the clients. */
export class Resident {
  readonly fence: Fence;
  readonly owner: UserId;
  readonly audience: Audience;
  readonly lease: Lease;
  /** Aborted when the session's actor has ended, however that came. */
  readonly over = new AbortController();
  readonly rows = new Map<TurnId, Row>();
  readonly callers = new Map<TurnId, Caller>();
  /** Turns that this owner opened or is opening: their rows are `running` once the chain is flushed. */
  readonly #opened = new Set<TurnId>();
  /** Turns that settled or were withdrawn here: an answer that is under way may still speak of them as waiting. */
  readonly #ended = new Set<TurnId>();
  readonly #chain: Chain;
  readonly #now: () => number;
  /** The history since the anchor, and how much of the window it takes. */
  readonly ledger: Ledger;
  #reserving = false;
  /** There are actions that no turn has told the model of. */
  hasNewActions: boolean;
  /** Some of them may have been left without an end by an owner before. */
  hasInherited: boolean;
  /** Actions whose call is under way or waits from here: the session stays awake for their end. */
  readonly acting = new Acting();
  /** Aborted when the grace of a drain is over. */
  readonly parking = new AbortController();
  /** Turns opened so far. */
  turns: number;
  run: Run | undefined;
  readonly actor: Actor<typeof sessionMachine>;
  /** A cancel that is being made durable: the settlement waits for its answer. */
  cancelling: Promise<readonly TurnId[] | undefined> | undefined;
  /** Settled turns to show first, after a take-over from an owner that did not go to sleep in order; actions of any turn. */
  resync: { readonly turns: readonly Turn[]; actions: Actions } | undefined;

  constructor(world: World, seat: Seat, ledger: Ledger, audience: Audience, actor: Actor<typeof sessionMachine>) {
    this.actor = actor;
    this.fence = seat.fence;
    this.owner = seat.owner;
    this.audience = audience;
    this.lease = new Lease(world.settings.leaseMs, world.clock);
    this.#chain = new Chain(seat.fence, world.store.histories, world.clock, world.chance, (bound) => {
      this.#reserving = false;
      audience.reserved(bound);
    });
    this.#now = world.clock.now;
    this.ledger = ledger;
    this.turns = seat.turns;
    this.hasNewActions = seat.unrecordedActions;
    this.hasInherited = seat.unrecordedActions;
  }

  get id(): SessionId {
    return this.fence.sessionId;
  }

  /** History since the anchor, in order, as it is stored. What is sent of it is `ledger.entries`. */
  get entries(): readonly Entry[] {
    return this.ledger.stored;
  }

  /** How full the context of `run`'s next model call is; a turn that has settled is a full one. */
  room({ model, settings, drafts }: World, { turnId, capabilities }: Run): Room {
    const limits = { window: model.window, reserve: settings.maxOutputTokens };
    const running = this.run?.turnId === turnId ? turnId : undefined;
    const drafted = drafts?.isReady(this.id, this.ledger.anchor) === true;
    return { ...this.ledger.room(capabilities.fixed, limits, running), ...(drafted && { drafted }) };
  }

  entriesOf(turnId: TurnId): readonly Entry[] {
    // Turns follow each other: the running one's entries are the last.
    const before = this.entries.findLastIndex((entry) => entry.turnId !== turnId);
    return this.entries.slice(before + 1);
  }

  /** Turns that wait, as clients see them. */
  get queue(): readonly QueuedTurn[] {
    const waiting = [...this.rows.values()].filter((row) => row.turnId !== this.run?.turnId && row.state === "waiting");
    return waiting.map((row) => ({ turn_id: row.turnId, text: queuedText(row) }));
  }

  get state(): SessionState {
    return { ...this.audience.state, queue: [...this.queue] };
  }

  /** The turn that runs; a port that runs without one is a wiring bug. */
  running(turnId: TurnId): Run {
    if (this.run?.turnId !== turnId) throw new TypeError("no such turn runs here");
    return this.run;
  }

  /** The turn that the chart runs, from its start on: `run` is there only once it was opened. */
  get runningId(): TurnId | undefined {
    return this.actor.getSnapshot().context.running ?? undefined;
  }

  /** The chart of the turn that runs. */
  get #turn() {
    const turn = this.actor.getSnapshot().children["turn"]?.getSnapshot();
    return turn !== undefined && "value" in turn ? (turn as SnapshotFrom<typeof turnMachine>) : undefined;
  }

  /** The outcome of the turn that runs is being written. */
  get isSettling(): boolean {
    return this.#turn?.value === "settling";
  }

  /** The turn that runs was cancelled, or is being cancelled right now: nothing new may leave for it. */
  async isCancelled(turnId: TurnId): Promise<boolean> {
    if ((await this.cancelling)?.includes(turnId)) return true;
    return this.runningId === turnId && this.#turn?.context.cancelled === true;
  }

  /** The number of a turn that runs: it has one already when somebody opened its row. */
  numberOf(row: Row): number {
    return row.state === "waiting" && !this.#opened.has(row.turnId) ? this.turns + 1 : this.turns;
  }

  /** What makes a turn's row `running`: goes with the turn's first append, or with a cancel that comes before it. */
  opening(row: Row): Batch["opens"] {
    const n = this.numberOf(row);
    this.#opened.add(row.turnId);
    this.turns = n;
    return { n, title: titleOf(row) };
  }

  isOpened(turnId: TurnId): boolean {
    return this.#opened.has(turnId) || this.rows.get(turnId)?.state !== "waiting";
  }

  /** After a take-over that was not clean, once: what the owner before showed and did not store is void. */
  tellResync(running: readonly Turn[]): void {
    if (this.resync === undefined) return;
    const turns = withActions([...this.resync.turns, ...running], this.resync.actions);
    this.resync = undefined;
    const from_turn = turns[0]?.n ?? 1;
    this.audience.tell("resync", { from_turn, turns: [...turns], state: this.state, seq: this.audience.nextSeq - 1 });
  }

  /** What came of a card's button, for everybody. */
  showAction(turnId: TurnId, shown: ActionDone): void {
    this.audience.show("action_done", shown, turnId);
    // A page that was read before does not show it, and neither would a resync that is still to come.
    this.audience.settled += 1;
    if (this.resync) this.resync.actions = [...this.resync.actions, { ...shown, turnId }];
  }

  /** A row that is stored and was not known here, because the answer to its admission was lost. */
  adopt(row: Row): void {
    if (this.rows.has(row.turnId) || this.#ended.has(row.turnId)) return;
    this.rows.set(row.turnId, row);
    this.closeOpen(row);
    this.actor.send({ type: "message.admitted", turnId: row.turnId });
  }

  /** A command that was admitted has closed what was open. */
  closeOpen(row: Row): void {
    const { pending } = this.audience;
    this.audience.pending = null;
    if (pending !== null) showClosed(this.audience, pending, [row], this.#now());
  }

  /** The turn settled or was withdrawn. */
  ended(turnId: TurnId): void {
    this.rows.delete(turnId);
    this.callers.delete(turnId);
    this.#ended.add(turnId);
  }

  /** Adds entries to the history now and to the database in order. */
  append(turnId: TurnId, entries: readonly Entry[], more?: AppendMore): void {
    this.#chain.append(this.#batch(turnId, entries, more));
  }

  /** A long answer uses up the numbers of its admission: asks for more before they end. */
  topUpNumbers(turnId: TurnId): void {
    if (this.#needsNumbers) this.append(turnId, []);
  }

  get #needsNumbers(): boolean {
    return !this.#reserving && this.audience.left < RESERVE_BELOW;
  }

  /** Waits a passing fault of the database out, as appends do. `write` must be safe to send twice. */
  patiently<T>(write: () => Promise<T>): Promise<T> {
    return this.#chain.retry(write);
  }

  /** Resolves when everything appended is durable. */
  flush(): Promise<void> {
    return this.#chain.flush();
  }

  /** The settle statement: what still waits, the last entries, the blocks, the inbox row. */
  async settle(
    turnId: TurnId,
    entries: readonly Entry[],
    turn: Turn & { outcome: NonNullable<Turn["outcome"]> },
    asks: InteractionEntry | undefined,
  ): Promise<Settled> {
    return await this.#chain.settle({
      ...this.#batch(turnId, entries),
      outcome: turn.outcome,
      turn,
      status: asks ? "awaiting" : "resting",
      nextSeq: this.audience.nextSeq,
      ...(asks && { asks }),
    });
  }

  #batch(turnId: TurnId, entries: readonly Entry[], more: AppendMore = {}): Batch {
    // The ledger of a session that fell asleep is its next owner's.
    this.over.signal.throwIfAborted();
    const from = this.ledger.anchor;
    const placed = this.ledger.add(entries);
    const to = this.ledger.anchor;
    const reserveSeq = this.#needsNumbers ? this.audience.nextSeq + RESERVE : undefined;
    if (reserveSeq !== undefined) this.#reserving = true;
    return {
      turnId,
      entries: placed,
      intents: more.intents ?? [],
      finished: more.finished ?? [],
      ...(more.opens && { opens: more.opens }),
      ...(more.recorded && more.recorded.length > 0 && { recorded: more.recorded }),
      ...(reserveSeq !== undefined && { reserveSeq }),
      ...(to !== from && { anchor: { from, to } }),
    };
  }
}

const TITLE_LENGTH = 80;

function titleOf(row: Row): string {
  if (row.kind === "resolve") return "Conversation";
  const { body } = row;
  const untitled = (body.attachments?.length ?? 0) > 0 ? "Shared a file" : "Conversation";
  const text = body.text.toWellFormed().replaceAll(/\s+/g, " ").trim() || body.entry_point || untitled;
  const characters = [...text];
  return characters.length <= TITLE_LENGTH ? text : `${characters.slice(0, TITLE_LENGTH - 1).join("")}…`;
}

type AppendMore = {
  readonly intents?: readonly Intent[];
  readonly finished?: readonly CallId[];
  readonly opens?: Batch["opens"];
  readonly recorded?: readonly CommandId[];
};
