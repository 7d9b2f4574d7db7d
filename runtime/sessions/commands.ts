import { never } from "../../machines/failure.ts";
import { commandId, type SessionId, type TurnId, turnId } from "../../machines/ids.ts";
import type { CancelCommand, MessageCommand } from "../../machines/protocol/commands.ts";
import type { PlainSignal } from "../../machines/protocol/signals.ts";
import type { Cancellation } from "../../persistence/store.ts";
import { admit, digestOf, type SentCommand } from "./admit.ts";
import { attachmentsOf } from "./attachments.ts";
import { type Caller, Refused } from "./conversations.ts";
import type { Directory } from "./directory.ts";
import type { Resident } from "./resident.ts";
import { resolve } from "./resolve.ts";
import type { World } from "./world.ts";

/** Makes a command durable and gives its receipt. Throws `Refused`, or what the store throws. In order with the session's other work. */
export async function handle(
  directory: Directory,
  world: World,
  id: SessionId,
  caller: Caller,
  command: Exclude<SentCommand, { type: "action" }>,
): Promise<PlainSignal> {
  switch (command.type) {
    case "message":
      return await message(directory, world, id, caller, command);
    case "cancel":
      return await cancel(directory, world, id, command);
    case "resolve":
      return await resolve(directory, world, id, caller, command);
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
  await attachmentsOf(world, id, command);
  const done = await admit(directory, world, id, caller, { kind: "message", command });
  const { audience } = directory.resident(id) ?? { audience: directory.audience(id) };
  switch (done.kind) {
    case "admitted":
      return audience.plain("message_accepted", { id: command.id, turn_id: done.turnId, queued: done.queued });
    case "duplicate": {
      const { turnId: turn_id, queued } = done;
      return audience.plain("message_accepted", { id: command.id, turn_id, queued, duplicate: true });
    }
    case "not_open":
      throw new TypeError("a message closes no particular interaction");
    default:
      return never(done);
  }
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
  if (isWaiting) resident.actor.send({ type: "turn.withdrawn", turnId: target });
  const asked = cancelling(resident, world, command, target, isWaiting);
  // Who is about to settle or to act waits for this answer: a turn that is said to be cancelled does neither any more.
  if (!isWaiting)
    resident.cancelling = asked.then(
      (done) => done && cancelledBy(done),
      () => [],
    );
  try {
    const done = await asked;
    if (done === undefined) return receipt([]);
    if (done.kind === "conflict") throw new Refused("conflict", "this id was used for another command");
    for (const turn of cancelledBy(done)) {
      if (turn === resident.runningId) resident.actor.send({ type: "turn.cancel", turnId: turn });
      else if (resident.rows.has(turn)) withdraw(resident, turn);
    }
    return receipt(cancelledBy(done), done.kind === "duplicate");
  } finally {
    if (isWaiting && resident.rows.has(target)) requeue(resident);
  }
}

/** Makes the cancel durable; undefined: it is too late for it. */
async function cancelling(
  resident: Resident,
  world: World,
  command: CancelCommand,
  target: TurnId | undefined,
  isWaiting: boolean,
): Promise<Cancellation | undefined> {
  if (!isWaiting && target !== undefined && !(await isStoppable(resident, target))) return undefined;
  const input = { commandId: commandId(command.id), digest: digestOf(command), target: target ?? "running" } as const;
  return await resident.patiently(() => world.store.inbox.cancel({ fence: resident.fence, ...input }));
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
  if (resident.isSettling) return false;
  const row = resident.rows.get(target);
  if (row && !resident.isOpened(target)) resident.append(target, [], { opens: resident.opening(row) });
  await resident.flush();
  return target === resident.runningId && !resident.isSettling;
}

/** What was taken out of the queue and not withdrawn waits again, at its place. */
function requeue(resident: Resident): void {
  const waiting = [...resident.rows.keys()].filter((turn) => turn !== resident.runningId);
  for (const type of ["turn.withdrawn", "message.admitted"] as const)
    for (const turn of waiting) resident.actor.send({ type, turnId: turn });
}

function withdraw(resident: Resident, id: TurnId): void {
  resident.ended(id);
  resident.actor.send({ type: "turn.withdrawn", turnId: id });
  resident.audience.show("turn_cancelled", { turn_id: id }, id);
  resident.audience.show("queue_changed", { waiting: [...resident.queue] });
}
