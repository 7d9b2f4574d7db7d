import { createActor, waitFor } from "xstate";
import { failureCode } from "../../machines/failure.ts";
import type { SessionId, TurnId } from "../../machines/ids.ts";
import { bind } from "../../machines/ports.ts";
import { messageCommand } from "../../machines/protocol/commands.ts";
import { thaw } from "../../machines/session/session.frozen.ts";
import { type SessionPorts, sessionMachine } from "../../machines/session/session.machine.ts";
import { wireTurn } from "../../machines/turn/turn.machine.ts";
import { type InboxRow, OwnershipLost, SEQ_RESERVE, SessionBroken, type Taken } from "../../persistence/store.ts";
import { Audience } from "./audience.ts";
import { type Caller, Refused } from "./conversations.ts";
import { askModel } from "./ports/ask-model.ts";
import { fallAsleep } from "./ports/fall-asleep.ts";
import { openTurn } from "./ports/open-turn.ts";
import { runTools } from "./ports/run-tools.ts";
import { settleTurn } from "./ports/settle-turn.ts";
import { Resident } from "./resident.ts";
import type { World } from "./world.ts";

/** How a session's actor ended; the last two are faults. */
type Ended = "hibernated" | "parked" | "lost" | "unsaved" | "crashed";

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
  #draining = false;

  constructor(world: World, log: DirectoryLog) {
    this.#world = world;
    this.#log = log;
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

  resident(id: SessionId): Resident | undefined {
    return this.#residents.get(id);
  }

  audience(id: SessionId): Audience {
    const known = this.#audiences.get(id);
    if (known) return known;
    const made = new Audience(id, this.#world.clock.now);
    this.#audiences.set(id, made);
    return made;
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
    if (actor === undefined) return resident;
    if (actor.getSnapshot().value === "hibernating") {
      await waitFor(actor, (state) => state.value !== "hibernating", { timeout: Number.POSITIVE_INFINITY });
    }
    if (actor.getSnapshot().status === "active") return resident;
    await this.#endings.get(id);
    return this.#residents.get(id);
  }

  /** Makes a session that this node has just taken resident. Throws `Refused` when it can't be read. */
  async bring(taken: Taken, callers: ReadonlyMap<TurnId, Caller> = new Map()): Promise<Resident> {
    const { clock, store } = this.#world;
    const { sessionId } = taken.fence;
    const began = clock.monotonic();
    try {
      const [history, rows] = await Promise.all([
        store.histories.load(sessionId, taken.anchor),
        store.inbox.open(sessionId),
      ]);
      const audience = this.audience(sessionId);
      const resident = new Resident(this.#world, taken, history, audience);
      for (const [turnId, caller] of callers) resident.callers.set(turnId, caller);
      for (const row of rows)
        resident.rows.set(row.turnId, { turnId: row.turnId, body: messageOf(row), state: row.state });
      if (!taken.clean && audience.size > 0) resident.resync = await store.turns.page(sessionId, 20);
      audience.continueFrom(taken.nextSeq, taken.nextSeq + SEQ_RESERVE);
      const outcome = this.#start(resident, taken, rows);
      this.#world.observe({ type: "session.thawed", sessionId, outcome, ms: clock.monotonic() - began });
      return resident;
    } catch (error) {
      this.#world.observe({ type: "session.thawed", sessionId, outcome: "failed", ms: clock.monotonic() - began });
      if (!(error instanceof SessionBroken)) throw error;
      throw new Refused("session_unavailable", "this conversation can't be read right now", { cause: error });
    }
  }

  /** Takes a session that nobody owns, because work of it waits. False: someone owns it, or it can't be read. */
  async revive(id: SessionId): Promise<boolean> {
    return await this.inOrder(id, async () => {
      if (this.#residents.has(id) || this.#draining) return false;
      const taken = await this.#world.store.sessions.take(id, this.#world.node, this.#world.settings.leaseMs);
      if (taken === undefined) return false;
      try {
        await this.bring(taken);
        return true;
      } catch (error) {
        await this.release(id, taken);
        throw error;
      }
    });
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

  /** From now on no turn starts here; the ones that run go on. */
  beginDrain(): void {
    this.#draining = true;
    for (const resident of this.#residents.values()) resident.actor?.send({ type: "drain.begin" });
  }

  /** Leaves running turns to the next owner; resolves with the sessions that could not be saved. */
  async park(): Promise<readonly SessionId[]> {
    for (const resident of this.#residents.values()) resident.actor?.send({ type: "drain.park" });
    await this.whenEmpty();
    return [...this.#unsaved];
  }

  /** Resolves when nothing is resident any more. */
  async whenEmpty(): Promise<void> {
    while (this.#endings.size > 0) await Promise.all(this.#endings.values());
  }

  #start(resident: Resident, taken: Taken, rows: readonly InboxRow[]): "fresh" | "thawed" | "rebuilt" {
    const world = this.#world;
    const { hibernateAfterMs, limits } = world.settings;
    const input = {
      sessionId: resident.id,
      queue: rows.map((row) => row.turnId),
      awaiting: false,
      hibernateAfterMs,
      limits,
    };
    const machine = sessionMachine.provide({
      actors: {
        ...bind<SessionPorts>({ fallAsleep: fallAsleep(resident, world) }),
        turn: wireTurn({
          openTurn: openTurn(resident, world),
          askModel: askModel(resident, world),
          runTools: runTools(resident, world),
          settleTurn: settleTurn(resident, world),
        }),
      },
    });
    const { frozen } = taken;
    const thawed =
      frozen !== undefined && "broken" in frozen ? { kind: "rebuild" as const, why: "broken" } : thaw(frozen, input);
    const actor =
      thawed.kind === "restored"
        ? createActor(machine, { snapshot: thawed.snapshot, input })
        : createActor(machine, { input });
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
    const ending = end.then((ended) => this.#ended(resident, ended));
    this.#endings.set(resident.id, ending);
    void ending.finally(() => {
      if (this.#endings.get(resident.id) === ending) this.#endings.delete(resident.id);
    });
    actor.start();
    if (thawed.kind === "restored") return "thawed";
    return taken.turns === 0 ? "fresh" : "rebuilt";
  }

  async #ended(resident: Resident, ended: Ended): Promise<void> {
    const { id } = resident;
    if (this.#residents.get(id) === resident) this.#residents.delete(id);
    switch (ended) {
      case "hibernated":
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
        break;
    }
    this.forget(id);
    // A fault of one actor: the session goes on from its entries, under a new epoch.
    if (ended === "crashed" && !this.#draining) {
      void this.revive(id).catch((error: unknown) => this.#log("session.crashed", id, failureCode(error)));
    }
  }
}

function messageOf(row: InboxRow) {
  return messageCommand.parse(row.body);
}
