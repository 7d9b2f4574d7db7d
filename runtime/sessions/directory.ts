import { waitFor } from "xstate";
import { Ledger } from "../../machines/conversation/ledger.ts";
import { type CommandId, type SessionId, type TurnId, turnId, type UserId } from "../../machines/ids.ts";
import type { PendingInteraction } from "../../machines/protocol/interactions.ts";
import { thaw } from "../../machines/session/session.frozen.ts";
import type { SessionInput } from "../../machines/session/session.rules.ts";
import {
  type Fence,
  type InboxRow,
  OwnershipLost,
  SEQ_RESERVE,
  SessionBroken,
  type Taken,
} from "../../persistence/store.ts";
import { PAGE } from "./attaching.ts";
import { Audience } from "./audience.ts";
import { type Caller, Refused } from "./conversations.ts";
import { makeResident } from "./make-resident.ts";
import { type Preparing, prepare } from "./preparing.ts";
import { type Resident, type Row, rowOf } from "./resident.ts";
import { Setbacks } from "./setbacks.ts";
import { type Asleep, Slept } from "./slept.ts";
import type { World } from "./world.ts";

/** How a session's actor ended; the last two are faults. */
type Ended = "hibernated" | "parked" | "lost" | "unsaved" | "crashed";

/** Why a session is made resident. */
type Brought = {
  /** The command whose statement took it: where nothing else waits, the inbox need not be read. */
  readonly admitted?: { readonly row: Row; readonly caller: Caller };
  /** Made ahead for exactly that: it is used where nothing turned out otherwise. */
  readonly prepared?: Resident | undefined;
  /** It was taken for this action: it stays awake until that has ended. */
  readonly acting?: CommandId;
};

export type DirectoryLog = (
  event: "session.lost" | "session.unsaved" | "session.crashed" | "session.unreleased" | "session.unprepared",
  id: SessionId,
  error?: unknown,
) => void;

/** Who is resident on this node: finds, thaws and drops the actors, and keeps each session's work in order. */
export class Directory {
  readonly #world: World;
  readonly #log: DirectoryLog;
  readonly #residents = new Map<SessionId, Resident>();
  readonly #audiences = new Map<SessionId, Audience>();
  readonly #mailboxes = new Map<SessionId, Promise<unknown>>();
  readonly #endings = new Map<SessionId, Promise<void>>();
  readonly #unsaved = new Set<SessionId>();
  readonly #slept = new Slept();
  readonly setbacks: Setbacks;
  #draining = false;
  #parking = false;

  constructor(world: World, log: DirectoryLog) {
    this.#world = world;
    this.#log = log;
    this.setbacks = new Setbacks(world.clock.monotonic);
  }

  get size(): number {
    return this.#residents.size;
  }
  get isDraining(): boolean {
    return this.#draining;
  }
  get residents(): readonly Resident[] {
    return [...this.#residents.values()];
  }

  /** Nothing is resident, watched or being worked on. */
  get isEmpty(): boolean {
    return this.#residents.size + this.#audiences.size + this.#mailboxes.size + this.#endings.size === 0;
  }

  resident(id: SessionId): Resident | undefined {
    return this.#residents.get(id);
  }

  /** The right to write a session, while its actor lives here. */
  fenceOf(id: SessionId): Fence | undefined {
    const resident = this.#residents.get(id);
    return resident?.actor.getSnapshot().status === "active" ? resident.fence : undefined;
  }

  audience(id: SessionId): Audience {
    const known = this.#audiences.get(id);
    if (known) return known;
    const made = new Audience(id, this.#world.clock.now);
    this.#audiences.set(id, made);
    return made;
  }

  /** The audience with the numbers that are the session's now. Clients that were told others are sent away first. */
  numberedAudience(id: SessionId, next: number, bound: number, isClean: boolean): Audience {
    const before = this.audience(id);
    if (isClean && before.size > 0 && before.nextSeq !== next) before.dismiss(1012, "signals were missed");
    // Without its clients the one before may have been forgotten.
    const audience = this.audience(id);
    audience.continueFrom(next, bound, isClean);
    return audience;
  }

  /** Forgets the clients' side of a session that nobody watches and that is not here. */
  forget(id: SessionId): void {
    if (!this.#residents.has(id) && this.#audiences.get(id)?.size === 0) this.#audiences.delete(id);
  }

  /** One piece of work of a session at a time, in order of arrival. */
  async inOrder<T>(id: SessionId, work: () => Promise<T>): Promise<T> {
    const before = this.#mailboxes.get(id) ?? Promise.resolve();
    const mine = before.then(work, work);
    const settled = mine.then(
      () => undefined,
      () => undefined,
    );
    this.#mailboxes.set(id, settled);
    void settled.then(() => {
      if (this.#mailboxes.get(id) === settled) this.#mailboxes.delete(id);
    });
    return await mine;
  }

  /** The session's owner here, if any, once it is clear that it is not falling asleep. */
  async awake(id: SessionId): Promise<Resident | undefined> {
    const resident = this.#residents.get(id);
    const actor = resident?.actor;
    if (actor?.getSnapshot().value === "hibernating") {
      await waitFor(actor, (state) => state.value !== "hibernating", { timeout: Number.POSITIVE_INFINITY });
    }
    if (actor?.getSnapshot().status === "active") return resident;
    // It ended, or is ending: its lease is free once that is done.
    await this.#endings.get(id);
    return this.#residents.get(id);
  }

  /**
   * Makes a session that fell asleep here, or that is new, ready to run `turn` while the database is being asked for it.
   * Nothing of it has any effect before it is brought.
   */
  preparing(id: SessionId, owner: UserId, turn: TurnId): Preparing<Resident> {
    return prepare(
      this.#world.clock.soon,
      () => this.#prepared(id, owner, turn),
      (error) => this.#log("session.unprepared", id, error),
    );
  }

  #prepared(sessionId: SessionId, owner: UserId, turn: TurnId): Resident | undefined {
    const world = this.#world;
    const audience = this.#audiences.get(sessionId);
    const asleep = this.#slept.look(sessionId) ?? (audience?.isUnused ? newborn() : undefined);
    if (audience === undefined || asleep === undefined) return undefined;
    const { ledger, backOff, turns, epoch } = asleep;
    const fence = { sessionId, node: world.node, epoch: epoch + 1 };
    const input = { ...this.#input(sessionId, [turn], false), backOff };
    return makeResident(world, { fence, owner, turns, unrecordedActions: false }, ledger, audience, input);
  }

  #input(sessionId: SessionId, queue: readonly TurnId[], awaiting: boolean): SessionInput {
    const { hibernateAfterMs, limits } = this.#world.settings;
    return { sessionId, queue, awaiting, draining: this.#draining, hibernateAfterMs, limits };
  }

  /** Makes a session that this node has just taken resident. Throws `Refused` when it can't be read. */
  async bring(taken: Taken, { admitted, prepared, acting }: Brought = {}): Promise<Resident> {
    const { clock, store } = this.#world;
    const { sessionId } = taken.fence;
    const began = clock.monotonic();
    try {
      const asleep = this.#slept.take(taken) ?? (isNew(taken) ? newborn() : undefined);
      const [history, open, settled, pending] = await Promise.all([
        asleep ? [] : store.histories.load(sessionId, taken.anchor),
        admitted && taken.unsettled === 1 ? [admitted.row] : this.#openRows(sessionId),
        taken.clean ? undefined : store.turns.page(sessionId, PAGE),
        taken.openInteraction === undefined ? undefined : store.interactions.open(sessionId),
      ]);
      const shown = [...(settled ?? []).map((turn) => turnId(turn.turn_id)), ...open.map((row) => row.turnId)];
      const actions = settled && (await store.actions.shown(sessionId, shown));
      // What was begun goes first, whatever its ordinal: one that is older may not have been known to the owner before.
      const rows = [
        ...open.filter(({ state }) => state !== "waiting"),
        ...open.filter(({ state }) => state === "waiting"),
      ];
      // From here on nothing is awaited: the audience that is found now is the one that clients join.
      const { nextSeq, clean } = taken;
      const audience = this.numberedAudience(sessionId, nextSeq, nextSeq + SEQ_RESERVE, clean);
      const now = this.#input(
        sessionId,
        rows.map((row) => row.turnId),
        taken.openInteraction !== undefined,
      );
      const thawed = asleep ? { ...now, backOff: asleep.backOff } : thawedInput(taken, now);
      const resident =
        prepared && fits(prepared, taken, now, audience)
          ? prepared
          : makeResident(
              this.#world,
              taken,
              asleep?.ledger ?? new Ledger(history, taken.anchor),
              audience,
              thawed ?? now,
            );
      if (admitted) resident.callers.set(admitted.row.turnId, admitted.caller);
      for (const row of rows) resident.rows.set(row.turnId, row);
      if (acting) resident.acting.hold(acting);
      resident.resync = settled && actions && { turns: settled, actions };
      this.#tellPending(resident, pending, admitted?.row);
      this.#start(resident);
      const outcome = isNew(taken) ? "fresh" : thawed ? "thawed" : taken.turns === 0 ? "fresh" : "rebuilt";
      this.#world.observe({ type: "session.thawed", sessionId, outcome, ms: clock.monotonic() - began });
      return resident;
    } catch (error) {
      this.#world.observe({ type: "session.thawed", sessionId, outcome: "failed", ms: clock.monotonic() - began });
      if (!(error instanceof SessionBroken)) throw error;
      throw new Refused("session_unavailable", "this conversation can't be read right now", { cause: error });
    }
  }

  async #openRows(id: SessionId): Promise<readonly Row[]> {
    return (await this.#world.store.inbox.open(id)).map(readRow(id));
  }

  /** What clients hold as open is what the database has; a resync that comes first says so anyway. */
  #tellPending(resident: Resident, pending: PendingInteraction | undefined, admitted: Row | undefined): void {
    const { audience, rows } = resident;
    if (resident.resync === undefined && admitted !== undefined) resident.closeOpen(admitted);
    else audience.pending = pending ?? null;
    // Said by the next signal; whoever attaches before it reads where the session stands now.
    if (rows.size > 0) audience.status = "turning";
    else audience.status = audience.pending === null ? "resting" : "awaiting";
  }

  /** Takes a session that nobody owns, because work of it waits. False: someone owns it, or it can't be read. */
  async revive(id: SessionId): Promise<boolean> {
    return await this.inOrder(id, async () => {
      if (this.#residents.has(id)) return false;
      return (await this.wake(id)) !== undefined;
    });
  }

  /**
   * Takes a session that sleeps and makes it resident; undefined when somebody else owns it. In order only. It stays
   * awake while `acting` is under way.
   */
  async wake(id: SessionId, acting?: CommandId): Promise<Resident | undefined> {
    if (this.#draining) return undefined;
    const taken = await this.#world.store.sessions.take(id, this.#world.node, this.#world.settings.leaseMs);
    if (taken === undefined) return undefined;
    if (this.#draining) {
      await this.release(id, taken);
      return undefined;
    }
    try {
      return await this.bring(taken, acting === undefined ? {} : { acting });
    } catch (error) {
      await this.release(id, taken);
      if (error instanceof Refused) this.setbacks.add(id);
      throw error;
    }
  }

  async release(id: SessionId, { fence }: Pick<Taken, "fence">): Promise<void> {
    try {
      await this.#world.store.sessions.release(fence);
    } catch (error) {
      // Its lease runs out by itself; whoever sweeps next takes it.
      if (!(error instanceof OwnershipLost)) this.#log("session.unreleased", id, error);
    }
  }

  /** Another node owns the session now: nothing of it may be written here any more. */
  drop(resident: Resident): void {
    if (this.#residents.get(resident.id) !== resident) return;
    resident.actor.stop();
    this.#residents.delete(resident.id);
    resident.audience.dismiss(1012, "the session moved to another node");
    this.#log("session.lost", resident.id);
  }

  /** The session is being erased: its actor stops, and what it still writes finds nothing. */
  evict(id: SessionId): void {
    this.#slept.forget(id);
    this.#residents.get(id)?.actor.stop();
    this.#residents.delete(id);
  }

  /** From now on no turn starts here; the ones that run go on. */
  beginDrain(): void {
    this.#draining = true;
    for (const resident of this.#residents.values()) resident.actor.send({ type: "drain.begin" });
  }

  /** Leaves running turns to the next owner; resolves with the sessions that could not be saved. */
  async park(): Promise<readonly SessionId[]> {
    this.#parking = true;
    for (const resident of this.#residents.values()) park(resident);
    await this.whenEmpty();
    return [...this.#unsaved];
  }

  /** Resolves when nothing is resident any more. */
  async whenEmpty(): Promise<void> {
    while (this.#endings.size > 0) await Promise.all(this.#endings.values());
  }

  #start(resident: Resident): void {
    const { actor, rows } = resident;
    this.#residents.set(resident.id, resident);
    const end = new Promise<Ended>((resolve) => {
      actor.subscribe({
        complete: () => resolve(actor.getSnapshot().value as Ended),
        error: (error) => {
          this.#log("session.crashed", resident.id, error);
          resolve("crashed");
        },
      });
    });
    const ended = end.then((how) => this.#ended(resident, how));
    this.#endings.set(resident.id, ended);
    void ended.finally(() => {
      if (this.#endings.get(resident.id) === ended) this.#endings.delete(resident.id);
    });
    actor.start();
    if (this.#parking) park(resident);
    if (rows.size === 0) resident.tellResync([]);
  }

  async #ended(resident: Resident, ended: Ended): Promise<void> {
    const { id } = resident;
    if (this.#residents.get(id) === resident) this.#residents.delete(id);
    resident.over.abort(new OwnershipLost(id));
    switch (ended) {
      case "hibernated":
        this.setbacks.delete(id);
        this.#slept.keep(id, {
          epoch: resident.fence.epoch,
          ledger: resident.ledger,
          turns: resident.turns,
          backOff: resident.actor.getSnapshot().context.backOff,
        });
        break;
      case "lost":
        resident.audience.dismiss(1012, "the session moved to another node");
        this.#log("session.lost", id);
        break;
      case "unsaved":
        this.#unsaved.add(id);
        this.#log("session.unsaved", id);
        break;
      case "crashed":
      case "parked":
        await this.release(id, resident);
        if (!this.#draining) this.#goOn(resident, ended);
        break;
    }
    this.forget(id);
  }

  /** A fault of one actor: the session goes on from its entries, under a new epoch. Not at once when that failed before. */
  #goOn({ id, audience }: Resident, ended: "crashed" | "parked"): void {
    const isFirst = this.setbacks.mayTry(id);
    this.setbacks.add(id);
    // What was streamed may never be stored: without a new owner, clients come back to what is.
    const interrupt = () => audience.dismiss(1012, "the session was interrupted");
    if (ended === "parked" || !isFirst) {
      interrupt();
      return;
    }
    this.revive(id).then(
      (isBack) => {
        if (!isBack && !this.#residents.has(id)) interrupt();
      },
      (error: unknown) => {
        this.#log("session.crashed", id, error);
        interrupt();
      },
    );
  }
}

/** Nobody owned it before, so nothing was ever written for it. */
const isNew = ({ fence }: Taken): boolean => fence.epoch === 1;
const newborn = (): Asleep => ({ epoch: 0, turns: 0, backOff: null, ledger: new Ledger([], 0) });

/**
 * What was made ahead for one turn is what would be made of `taken` now. By its epoch nobody has had the session since it
 * slept here, so its history, its turns and its queue are as they were.
 */
function fits(prepared: Resident, { fence, unrecordedActions }: Taken, now: SessionInput, audience: Audience): boolean {
  return (
    prepared.fence.epoch === fence.epoch &&
    // A button was pressed since it was read.
    !unrecordedActions &&
    // Its last client left and another came.
    prepared.audience === audience &&
    // A drain that began meanwhile has not reached it.
    !now.draining
  );
}

/** What the chart starts with after its stored snapshot; undefined where there is none that can be used. */
function thawedInput({ frozen }: Taken, input: SessionInput): SessionInput | undefined {
  if (frozen !== undefined && "broken" in frozen) return undefined;
  const thawed = thaw(frozen, input);
  return thawed.kind === "restored" ? thawed.input : undefined;
}

function park(resident: Resident): void {
  resident.parking.abort();
  resident.actor.send({ type: "drain.park" });
}

const readRow =
  (id: SessionId) =>
  (row: InboxRow): Row => {
    try {
      return rowOf(row);
    } catch (cause) {
      throw new SessionBroken(id, cause);
    }
  };
