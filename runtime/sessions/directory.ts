import { createActor, waitFor } from "xstate";
import { Ledger } from "../../machines/conversation/ledger.ts";
import type { Clock } from "../../machines/effects.ts";
import { type CommandId, type SessionId, turnId } from "../../machines/ids.ts";
import { type Port, PortsBySystem } from "../../machines/ports.ts";
import type { PendingInteraction } from "../../machines/protocol/interactions.ts";
import { thaw } from "../../machines/session/session.frozen.ts";
import { type SessionPorts, sessionMachine } from "../../machines/session/session.machine.ts";
import type { SessionInput } from "../../machines/session/session.rules.ts";
import { type TurnPorts, turnMachine } from "../../machines/turn/turn.machine.ts";
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
import { askModel } from "./ports/ask-model.ts";
import { compact } from "./ports/compact.ts";
import { expire } from "./ports/expire.ts";
import { fallAsleep } from "./ports/fall-asleep.ts";
import { openTurn } from "./ports/open-turn.ts";
import { runTools } from "./ports/run-tools.ts";
import { settleTurn } from "./ports/settle-turn.ts";
import { Resident, type Row, rowOf } from "./resident.ts";
import { Setbacks } from "./setbacks.ts";
import { type Asleep, Slept } from "./slept.ts";
import type { World } from "./world.ts";

/** How a session's actor ended; the last two are faults. */
type Ended = "hibernated" | "parked" | "lost" | "unsaved" | "crashed";

/** Why a session is made resident. */
type Brought = {
  /** The command whose statement took it: where nothing else waits, the inbox need not be read. */
  readonly admitted?: { readonly row: InboxRow; readonly caller: Caller };
  /** It was taken for this action: it stays awake until that has ended. */
  readonly acting?: CommandId;
};

const ports = new PortsBySystem<SessionPorts & TurnPorts>();

/** Built once: every session runs on it, with ports of its own. */
const chart = sessionMachine.provide({
  actors: {
    ...ports.bind("fallAsleep", "expire"),
    turn: turnMachine.provide({ actors: ports.bind("openTurn", "askModel", "compact", "runTools", "settleTurn") }),
  },
});

export type DirectoryLog = (
  event: "session.lost" | "session.unsaved" | "session.crashed" | "session.unreleased",
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
    return resident?.actor?.getSnapshot().status === "active" ? resident.fence : undefined;
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

  /** Makes a session that this node has just taken resident. Throws `Refused` when it can't be read. */
  async bring(taken: Taken, { admitted, acting }: Brought = {}): Promise<Resident> {
    const { clock, store } = this.#world;
    const { sessionId } = taken.fence;
    const began = clock.monotonic();
    try {
      const asleep = this.#slept.take(taken);
      const [history, open, settled, pending] = await Promise.all([
        asleep || isNew(taken) ? [] : store.histories.load(sessionId, taken.anchor),
        admitted && taken.unsettled === 1 ? [admitted.row] : store.inbox.open(sessionId),
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
      const ledger = asleep?.ledger ?? new Ledger(history, taken.anchor);
      const resident = new Resident(this.#world, taken, ledger, audience);
      if (admitted) resident.callers.set(admitted.row.turnId, admitted.caller);
      for (const row of rows.map(readRow(sessionId))) resident.rows.set(row.turnId, row);
      if (acting) resident.acting.hold(acting);
      resident.resync = settled && actions && { turns: settled, actions };
      this.#tellPending(resident, pending, admitted && resident.rows.get(admitted.row.turnId));
      const outcome = this.#start(resident, taken, rows, asleep);
      this.#world.observe({ type: "session.thawed", sessionId, outcome, ms: clock.monotonic() - began });
      return resident;
    } catch (error) {
      this.#world.observe({ type: "session.thawed", sessionId, outcome: "failed", ms: clock.monotonic() - began });
      if (!(error instanceof SessionBroken)) throw error;
      throw new Refused("session_unavailable", "this conversation can't be read right now", { cause: error });
    }
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
    resident.actor?.stop();
    this.#residents.delete(resident.id);
    resident.audience.dismiss(1012, "the session moved to another node");
    this.#log("session.lost", resident.id);
  }

  /** The session is being erased: its actor stops, and what it still writes finds nothing. */
  evict(id: SessionId): void {
    this.#slept.forget(id);
    this.#residents.get(id)?.actor?.stop();
    this.#residents.delete(id);
  }

  /** From now on no turn starts here; the ones that run go on. */
  beginDrain(): void {
    this.#draining = true;
    for (const resident of this.#residents.values()) resident.actor?.send({ type: "drain.begin" });
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

  #start(
    resident: Resident,
    taken: Taken,
    rows: readonly InboxRow[],
    asleep: Asleep | undefined,
  ): "fresh" | "thawed" | "rebuilt" {
    const world = this.#world;
    const { hibernateAfterMs, limits } = world.settings;
    const input = {
      sessionId: resident.id,
      queue: rows.map((row) => row.turnId),
      awaiting: taken.openInteraction !== undefined,
      hibernateAfterMs,
      limits,
    };
    // A chart that crashed leaves its turn's chart running: its ports end with the resident all the same.
    const ending =
      <In, Out>(port: Port<In, Out>): Port<In, Out> =>
      async (given, signal) => {
        resident.over.signal.throwIfAborted();
        return await port(given, AbortSignal.any([signal, resident.over.signal]));
      };
    const thawed = asleep ? { ...input, backOff: asleep.backOff } : thawedInput(taken, input);
    const actor = createActor(chart, { input: thawed ?? input, clock: delaysOf(world.clock) });
    ports.give(actor, {
      fallAsleep: fallAsleep(resident, world),
      expire: expire(resident, world),
      openTurn: ending(openTurn(resident, world)),
      askModel: ending(askModel(resident, world)),
      compact: ending(compact(resident, world)),
      runTools: ending(runTools(resident, world)),
      settleTurn: ending(settleTurn(resident, world)),
    });
    resident.actor = actor;
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
    // A drain that began while it was being read has not reached it.
    if (this.#draining) actor.send({ type: "drain.begin" });
    if (this.#parking) park(resident);
    if (rows.length === 0) resident.tellResync([]);
    if (thawed !== undefined) return "thawed";
    return taken.turns === 0 ? "fresh" : "rebuilt";
  }

  async #ended(resident: Resident, ended: Ended): Promise<void> {
    const { id } = resident;
    if (this.#residents.get(id) === resident) this.#residents.delete(id);
    resident.over.abort(new OwnershipLost(id));
    switch (ended) {
      case "hibernated":
        this.setbacks.delete(id);
        this.#slept.keep(id, resident.fence.epoch, {
          ledger: resident.ledger,
          backOff: resident.actor?.getSnapshot().context.backOff ?? null,
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

/** What the chart starts with after its stored snapshot; undefined where there is none that can be used. */
function thawedInput({ frozen }: Taken, input: SessionInput): SessionInput | undefined {
  if (frozen !== undefined && "broken" in frozen) return undefined;
  const thawed = thaw(frozen, input);
  return thawed.kind === "restored" ? thawed.input : undefined;
}

function park(resident: Resident): void {
  resident.parking.abort();
  resident.actor?.send({ type: "drain.park" });
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

/** Made once: an abort without a reason makes an exception with a stack each time, here for every rest of a session. */
const NO_LONGER = new Error("the state was left");

/** The charts' delays, by the node's own clock. */
function delaysOf(clock: Clock) {
  return {
    setTimeout(run: () => void, ms: number): AbortController {
      const stop = new AbortController();
      clock.sleep(ms, stop.signal).then(run, () => undefined);
      return stop;
    },
    clearTimeout: (stop: AbortController) => stop.abort(NO_LONGER),
  };
}
