import { createHash } from "node:crypto";
import { never } from "../../machines/failure.ts";
import { commandId, interactionId, type SessionId, type TurnId, turnId } from "../../machines/ids.ts";
import type { CancelCommand, Command, MessageCommand } from "../../machines/protocol/commands.ts";
import type { PlainSignal } from "../../machines/protocol/signals.ts";
import { canonical } from "../../machines/turn/progress.ts";
import { type Cancellation, type Fence, type InboxRow, OwnershipLost, SessionBroken } from "../../persistence/store.ts";
import { attachmentsOf } from "./attachments.ts";
import { type Caller, Refused } from "./conversations.ts";
import type { Directory } from "./directory.ts";
import type { Resident } from "./resident.ts";
import type { World } from "./world.ts";

type SentCommand = Exclude<Command, { type: "ping" }>;

/** What makes two commands the same: everything but the id. */
export function digestOf(command: SentCommand): Buffer {
  return createHash("sha256")
    .update(canonical({ ...command, id: "" }))
    .digest();
}

/** Makes a command durable and gives its receipt. Throws `Refused`, or what the store throws. */
export async function handle(
  directory: Directory,
  world: World,
  id: SessionId,
  caller: Caller,
  command: SentCommand,
): Promise<PlainSignal> {
  const audience = directory.audience(id);
  switch (command.type) {
    case "message":
      return await message(directory, world, id, caller, command);
    case "cancel":
      return await cancel(directory, world, id, command);
    case "resolve": {
      // No tool of this version opens an interaction, so none can be open.
      const { interaction_id } = command;
      const receipt = { id: command.id, interaction_id: interactionId(interaction_id), open: null };
      return audience.plain("interaction_receipt", { ...receipt, result: "not_found" });
    }
    case "action":
      return audience.plain("action_receipt", { id: command.id, result: "invalid" });
    default:
      return never(command);
  }
}

async function message(
  directory: Directory,
  world: World,
  id: SessionId,
  caller: Caller,
  command: MessageCommand,
): Promise<PlainSignal> {
  const audience = directory.audience(id);
  await attachmentsOf(world, id, command);
  // Twice at most: an owner that finds it lost the session tries once more as a stranger.
  for (const isLast of [false, true]) {
    if (directory.isDraining)
      throw new Refused("draining", "the server is restarting; try again in a moment", { retryable: true });
    const resident = await directory.awake(id);
    const asked = world.clock.monotonic();
    const fresh = turnId(world.chance.uuid());
    const admission = await world.store.inbox.admit({
      sessionId: id,
      owner: caller.principal.userId,
      node: world.node,
      epoch: resident?.fence.epoch,
      leaseMs: world.settings.leaseMs,
      commandId: commandId(command.id),
      kind: "message",
      digest: digestOf(command),
      turnId: fresh,
      body: command,
      grant: world.settings.grants ? { ...caller, expiresAt: grantEnd(caller, world) } : undefined,
      queueBound: world.settings.queueBound,
      nextSeq: resident ? audience.nextSeq : 0,
    });
    switch (admission.kind) {
      case "admitted": {
        const queued = resident
          ? join(resident, command, fresh, caller, asked, admission.reservedSeq)
          : await arrive(directory, world, id, admission.taken, {
              row: {
                commandId: commandId(command.id),
                ordinal: admission.ordinal,
                kind: "message",
                turnId: fresh,
                state: "waiting",
                takeovers: 0,
                body: command,
              },
              caller,
            });
        return audience.plain("message_accepted", { id: command.id, turn_id: fresh, queued });
      }
      case "duplicate": {
        const { turnId: known, state } = admission;
        if (resident && state === "waiting") {
          // Stored before, but the answer to it was lost on its way here.
          resident.adopt({ turnId: known, body: command, state });
          if (resident.rows.has(known)) resident.callers.set(known, caller);
        }
        return audience.plain("message_accepted", {
          id: command.id,
          turn_id: known,
          // Its row says `running` a moment after it runs.
          queued: state === "waiting" && known !== resident?.runningId,
          duplicate: true,
        });
      }
      case "conflict":
        throw new Refused("conflict", "this id was used for another command");
      case "queue_full":
        throw new Refused("queue_full", "too many messages wait already; wait for an answer", { retryable: true });
      case "not_found":
        throw new Refused("not_found", "no such session");
      case "elsewhere":
        if (resident && !isLast) {
          // It may have fallen asleep while the statement was under way; only one that is still awake has lost it.
          if ((await directory.awake(id)) === resident) directory.drop(resident);
        } else
          throw new Refused("unavailable", "this session is being moved; try again in a moment", { retryable: true });
        break;
      default:
        never(admission);
    }
  }
  throw new Refused("unavailable", "this session is being moved; try again in a moment", { retryable: true });
}

/** The session is here: its chart decides whether the turn starts or waits. */
function join(
  resident: Resident,
  body: MessageCommand,
  id: TurnId,
  caller: Caller,
  asked: number,
  reservedSeq: number,
): boolean {
  const waits = resident.rows.size > 0;
  resident.lease.extended(asked);
  resident.audience.reserved(reservedSeq);
  resident.rows.set(id, { turnId: id, body, state: "waiting" });
  resident.callers.set(id, caller);
  resident.actor?.send({ type: "message.admitted", turnId: id });
  if (waits) resident.audience.show("queue_changed", { waiting: [...resident.queue] });
  return waits;
}

/** The session slept: the statement that admitted has taken it, and its rows say what to run. */
async function arrive(
  directory: Directory,
  world: World,
  id: SessionId,
  taken: Parameters<Directory["bring"]>[0] | undefined,
  admitted: { readonly row: InboxRow; readonly caller: Caller },
): Promise<boolean> {
  if (taken === undefined) throw new TypeError("a session that slept was admitted without being taken");
  if (directory.isDraining) {
    // Stored, so it is kept: the next owner finds it.
    await directory.release(id, taken);
    return false;
  }
  try {
    const resident = await directory.bring(taken, admitted);
    return resident.rows.size > 1;
  } catch (error) {
    // The client is told that nothing runs, so nothing may: a session that can't be read keeps no new command.
    try {
      if (error instanceof Refused) await takeBack(world, taken.fence, admitted.row.turnId);
    } finally {
      await directory.release(id, taken);
    }
    throw error;
  }
}

async function takeBack(world: World, fence: Fence, turn: TurnId): Promise<void> {
  const command = { type: "cancel", id: world.chance.uuid(), turn_id: turn } as const;
  const input = { commandId: commandId(command.id), digest: digestOf(command), target: turn };
  await world.store.inbox.cancel({ fence, ...input });
}

async function cancel(directory: Directory, world: World, id: SessionId, command: CancelCommand): Promise<PlainSignal> {
  const audience = directory.audience(id);
  const receipt = (cancelled: readonly TurnId[], duplicate = false) =>
    audience.plain("cancel_receipt", { id: command.id, cancelled: [...cancelled], ...(duplicate && { duplicate }) });
  const resident = await directory.awake(id);
  // Asleep: nothing runs and nothing waits.
  if (resident === undefined) return receipt([]);
  const target = command.turn_id === undefined ? resident.runningId : turnId(command.turn_id);
  const isWaiting = target !== undefined && target !== resident.runningId && resident.rows.has(target);
  // Out of the queue before the statement leaves: a turn must not start while it is being withdrawn.
  if (isWaiting) resident.actor?.send({ type: "turn.withdrawn", turnId: target });
  else if (target !== undefined && !(await isStoppable(resident, target))) return receipt([]);
  const input = { commandId: commandId(command.id), digest: digestOf(command), target: target ?? "running" } as const;
  const asked = resident.patiently(() => world.store.inbox.cancel({ fence: resident.fence, ...input }));
  // The settlement waits for this answer: a turn that is said to be cancelled must not end as anything else.
  if (!isWaiting) resident.cancelling = asked.then(cancelledBy, () => []);
  try {
    const done = await asked;
    if (done.kind === "conflict") throw new Refused("conflict", "this id was used for another command");
    for (const turn of cancelledBy(done)) {
      if (turn === resident.runningId) resident.actor?.send({ type: "turn.cancel", turnId: turn });
      else if (resident.rows.has(turn)) withdraw(resident, turn);
    }
    return receipt(cancelledBy(done), done.kind === "duplicate");
  } finally {
    if (isWaiting && resident.rows.has(target)) requeue(resident);
  }
}

function cancelledBy(done: Cancellation): readonly TurnId[] {
  switch (done.kind) {
    case "cancelled":
      return [done.running, done.withdrawn].filter((turn) => turn !== undefined);
    case "duplicate":
      return done.cancelled;
    case "conflict":
      return [];
    default:
      return never(done);
  }
}

/** Sees to it that the row of a turn that runs says `running` before it can say `cancelled`. False: it is too late. */
async function isStoppable(resident: Resident, target: TurnId): Promise<boolean> {
  if (target !== resident.runningId) return true;
  if (isSettling(resident)) return false;
  const row = resident.rows.get(target);
  if (row && !resident.isOpened(target)) resident.append(target, [], { opens: resident.opening(row) });
  await resident.flush();
  return target === resident.runningId && !isSettling(resident);
}

/** What was taken out of the queue and not withdrawn waits again, at its place. */
function requeue(resident: Resident): void {
  const waiting = [...resident.rows.keys()].filter((turn) => turn !== resident.runningId);
  for (const type of ["turn.withdrawn", "message.admitted"] as const)
    for (const turn of waiting) resident.actor?.send({ type, turnId: turn });
}

function isSettling(resident: Resident): boolean {
  const turn = resident.actor?.getSnapshot().children["turn"]?.getSnapshot();
  return turn !== undefined && "value" in turn && turn.value === "settling";
}

function withdraw(resident: Resident, id: TurnId): void {
  resident.ended(id);
  resident.actor?.send({ type: "turn.withdrawn", turnId: id });
  resident.audience.show("turn_cancelled", { turn_id: id }, id);
  resident.audience.show("queue_changed", { waiting: [...resident.queue] });
}

function grantEnd({ principal }: Caller, world: World): number {
  return principal.expiresAt ?? world.clock.now() + world.settings.grantMs;
}

/** Ownership that was lost mid-way and other faults as the client may see them. */
export function refusalOf(error: unknown): Refused {
  if (error instanceof Refused) return error;
  if (error instanceof OwnershipLost) {
    return new Refused("unavailable", "this session is being moved; try again in a moment", {
      retryable: true,
      cause: error,
    });
  }
  if (error instanceof SessionBroken) {
    return new Refused("session_unavailable", "this conversation can't be read right now", { cause: error });
  }
  return new Refused("unavailable", "the service can't store this right now; try again in a moment", {
    retryable: true,
    cause: error,
  });
}
