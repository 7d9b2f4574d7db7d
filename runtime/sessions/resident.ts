import type { Actor } from "xstate";
import type { Entry, PlacedEntry } from "../../machines/conversation/entries.ts";
import { entryTokens } from "../../machines/conversation/tokens.ts";
import type { CallId, SessionId, TurnId, UserId } from "../../machines/ids.ts";
import type { Usage } from "../../machines/model.ts";
import type { MessageCommand } from "../../machines/protocol/commands.ts";
import type { QueuedTurn, SessionState, Turn } from "../../machines/protocol/turns.ts";
import type { sessionMachine } from "../../machines/session/session.machine.ts";
import type { Batch, Fence, InboxState, Intent, Taken } from "../../persistence/store.ts";
import type { Audience } from "./audience.ts";
import { Chain } from "./chain.ts";
import type { Caller } from "./conversations.ts";
import { Lease } from "./lease.ts";
import type { LiveTurn } from "./live-turn.ts";
import type { Capabilities, World } from "./world.ts";

/** A command of this session that waits or runs. */
export type Row = {
  readonly turnId: TurnId;
  readonly body: MessageCommand;
  readonly state: InboxState;
};

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
};

/** How many numbers are asked for at a time, and how few may be left before more are. */
const RESERVE = 4096;
const RESERVE_BELOW = 1024;

/** One session as this node owns it: the fence, the ordered writes, the history since the anchor, the clients. */
export class Resident {
  readonly fence: Fence;
  readonly owner: UserId;
  readonly audience: Audience;
  readonly lease: Lease;
  readonly rows = new Map<TurnId, Row>();
  readonly callers = new Map<TurnId, Caller>();
  readonly #chain: Chain;
  readonly #history: PlacedEntry[];
  readonly #anchor: number;
  #reserving = false;
  /** Turns opened so far. */
  turns: number;
  run: Run | undefined;
  actor: Actor<typeof sessionMachine> | undefined;
  /** A cancel that is being made durable: the settlement waits for its answer. */
  cancelling: Promise<TurnId | undefined> | undefined;
  /** Settled turns to show first, after a take-over from an owner that did not go to sleep in order. */
  resync: readonly Turn[] | undefined;

  constructor(world: World, taken: Taken, history: readonly PlacedEntry[], audience: Audience) {
    this.fence = taken.fence;
    this.owner = taken.owner;
    this.audience = audience;
    this.lease = new Lease(world.settings.leaseMs, world.clock);
    this.#chain = new Chain(taken.fence, world.store.histories, world.clock, world.chance, (bound) => {
      this.#reserving = false;
      audience.reserved(bound);
    });
    this.#history = [...history];
    this.#anchor = taken.anchor;
    this.turns = taken.turns;
  }

  get id(): SessionId {
    return this.fence.sessionId;
  }

  /** History since the anchor, in order. */
  get entries(): readonly Entry[] {
    return this.#history.map((placed) => placed.entry);
  }

  get tokens(): number {
    return this.#history.reduce((sum, placed) => sum + placed.tokens, 0);
  }

  entriesOf(turnId: TurnId): readonly Entry[] {
    return this.entries.filter((entry) => entry.turnId === turnId);
  }

  /** Turns that wait, as clients see them. */
  get queue(): readonly QueuedTurn[] {
    const waiting = [...this.rows.values()].filter((row) => row.turnId !== this.run?.turnId && row.state === "waiting");
    return waiting.map((row) => ({ turn_id: row.turnId, text: row.body.text }));
  }

  get state(): SessionState {
    return { status: this.audience.status, pending_interaction: null, queue: [...this.queue] };
  }

  /** The turn that runs; a port that runs without one is a wiring bug. */
  running(turnId: TurnId): Run {
    if (this.run?.turnId !== turnId) throw new TypeError("no such turn runs here");
    return this.run;
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

  /** Resolves when everything appended is durable. */
  flush(): Promise<void> {
    return this.#chain.flush();
  }

  /** The settle statement: what still waits, the last entries, the blocks, the inbox row. */
  async settle(turnId: TurnId, entries: readonly Entry[], turn: Turn & { outcome: NonNullable<Turn["outcome"]> }) {
    await this.#chain.settle({
      ...this.#batch(turnId, entries),
      outcome: turn.outcome,
      turn,
      status: turn.outcome === "awaiting" ? "awaiting" : "resting",
      nextSeq: this.audience.nextSeq,
    });
  }

  #batch(turnId: TurnId, entries: readonly Entry[], more: AppendMore = {}): Batch {
    const placed = entries.map((entry, index) => ({ pos: this.#nextPos + index, tokens: entryTokens(entry), entry }));
    this.#history.push(...placed);
    const reserveSeq = this.#needsNumbers ? this.audience.nextSeq + RESERVE : undefined;
    if (reserveSeq !== undefined) this.#reserving = true;
    return {
      turnId,
      entries: placed,
      intents: more.intents ?? [],
      finished: more.finished ?? [],
      ...(more.opens && { opens: more.opens }),
      ...(reserveSeq !== undefined && { reserveSeq }),
    };
  }

  get #nextPos(): number {
    const last = this.#history.at(-1);
    return last ? last.pos + 1 : this.#anchor;
  }
}

type AppendMore = {
  readonly intents?: readonly Intent[];
  readonly finished?: readonly CallId[];
  readonly opens?: { readonly n: number; readonly title: string };
};
