import { createHash } from "node:crypto";
import type { ResolvedStatus } from "../../machines/conversation/interactions.ts";
import { never } from "../../machines/failure.ts";
import { commandId, interactionId, type SessionId, type TurnId, turnId } from "../../machines/ids.ts";
import type { Command, MessageCommand, ResolveCommand } from "../../machines/protocol/commands.ts";
import { canonical } from "../../machines/turn/progress.ts";
import type { Admission, AdmitInput, Fence, InboxState } from "../../persistence/store.ts";
import { type Caller, Refused } from "./conversations.ts";
import type { Directory } from "./directory.ts";
import type { Resident, Row } from "./resident.ts";
import type { World } from "./world.ts";

export type SentCommand = Exclude<Command, { type: "ping" }>;

/** What makes two commands the same: everything but the id. */
export function digestOf(command: SentCommand): Buffer {
  return createHash("sha256")
    .update(canonical({ ...command, id: "" }))
    .digest();
}

/** A command that begins a turn. */
type Begins =
  | { readonly kind: "message"; readonly command: MessageCommand }
  | { readonly kind: "resolve"; readonly command: ResolveCommand };
export type Starting =
  | Extract<Begins, { kind: "message" }>
  | (Extract<Begins, { kind: "resolve" }> & { readonly status: ResolvedStatus });

export type Admitted =
  | { readonly kind: "admitted"; readonly turnId: TurnId; readonly queued: boolean }
  | { readonly kind: "duplicate"; readonly turnId: TurnId; readonly queued: boolean }
  | { readonly kind: "not_open" };

/** Makes it durable, then tells the chart. Throws `Refused`, or what the store throws. */
export async function admit(
  directory: Directory,
  world: World,
  id: SessionId,
  caller: Caller,
  starting: Starting,
): Promise<Admitted> {
  const { command } = starting;
  // Twice at most: an owner that finds it lost the session tries once more as a stranger.
  for (const isLast of [false, true]) {
    if (directory.isDraining)
      throw new Refused("draining", "the server is restarting; try again in a moment", { retryable: true });
    const resident = await directory.awake(id);
    const asked = world.clock.monotonic();
    const fresh = turnId(world.chance.uuid());
    const row: Row = rowOf(starting, fresh);
    const asking = world.store.inbox.admit({
      sessionId: id,
      owner: caller.principal.userId,
      node: world.node,
      epoch: resident?.fence.epoch,
      leaseMs: world.settings.leaseMs,
      commandId: row.commandId,
      kind: starting.kind,
      digest: digestOf(command),
      turnId: fresh,
      body: command,
      grant: world.settings.grants ? { ...caller, expiresAt: grantEnd(caller, world) } : undefined,
      queueBound: world.settings.queueBound,
      nextSeq: resident ? directory.audience(id).nextSeq : 0,
      isSomethingOpen: directory.audience(id).pending !== null,
      ...resolvesOf(starting),
    });
    const preparing = resident ? undefined : directory.preparing(id, caller.principal.userId, fresh);
    let admission: Admission;
    let prepared: Resident | undefined;
    try {
      admission = await asking;
    } finally {
      prepared = preparing?.end();
    }
    switch (admission.kind) {
      case "admitted": {
        const queued = resident
          ? join(resident, row, caller, asked, admission.reservedSeq)
          : await arrive(directory, world, id, admission.taken, { row, caller, prepared });
        return { kind: "admitted", turnId: fresh, queued };
      }
      case "duplicate": {
        const { turnId: known, state } = admission;
        adoptKnown(resident, starting, admission, caller);
        // Its row says `running` a moment after it runs.
        return { kind: "duplicate", turnId: known, queued: state === "waiting" && known !== resident?.runningId };
      }
      case "not_open":
        return admission;
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

/** It was stored before, but the answer to that was lost on its way here: its owner hears of it now. */
export function adoptKnown(
  resident: Resident | undefined,
  starting: Begins,
  { turnId: known, state }: { readonly turnId: TurnId; readonly state: InboxState },
  caller: Caller,
): void {
  if (resident === undefined || state !== "waiting") return;
  resident.adopt(rowOf(starting, known));
  if (resident.rows.has(known)) resident.callers.set(known, caller);
}

function rowOf(starting: Begins, turn: TurnId): Row {
  const row = { turnId: turn, commandId: commandId(starting.command.id), state: "waiting" } as const;
  return starting.kind === "message"
    ? { ...row, kind: "message", body: starting.command }
    : { ...row, kind: "resolve", body: starting.command };
}

function resolvesOf(starting: Starting): Pick<AdmitInput, "resolves"> {
  if (starting.kind === "message") return {};
  const { interaction_id, revision, resolution } = starting.command;
  return { resolves: { interactionId: interactionId(interaction_id), revision, status: starting.status, resolution } };
}

/** The session is here: its chart decides whether the turn starts or waits. */
function join(resident: Resident, row: Row, caller: Caller, asked: number, reservedSeq: number): boolean {
  const waits = resident.rows.size > 0;
  resident.lease.extended(asked);
  resident.audience.reserved(reservedSeq);
  resident.rows.set(row.turnId, row);
  resident.callers.set(row.turnId, caller);
  resident.closeOpen(row);
  resident.actor.send({ type: "message.admitted", turnId: row.turnId });
  if (waits) resident.audience.show("queue_changed", { waiting: [...resident.queue] });
  return waits;
}

/** The session slept: the statement that admitted has taken it, and its rows say what to run. */
async function arrive(
  directory: Directory,
  world: World,
  id: SessionId,
  taken: Parameters<Directory["bring"]>[0] | undefined,
  { row, caller, prepared }: { readonly row: Row; readonly caller: Caller; readonly prepared: Resident | undefined },
): Promise<boolean> {
  if (taken === undefined) throw new TypeError("a session that slept was admitted without being taken");
  if (directory.isDraining) {
    // Stored, so it is kept: the next owner finds it.
    await directory.release(id, taken);
    return false;
  }
  try {
    const resident = await directory.bring(taken, { admitted: { row, caller }, prepared });
    return resident.rows.size > 1;
  } catch (error) {
    // The client is told that nothing runs, so nothing may: a session that can't be read keeps no new message. An answer
    // has closed its question, so it is kept, and runs once the session can be read.
    try {
      if (error instanceof Refused && row.kind === "message") await takeBack(world, taken.fence, row.turnId);
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

function grantEnd({ principal }: Caller, world: World): number {
  return principal.expiresAt ?? world.clock.now() + world.settings.grantMs;
}
