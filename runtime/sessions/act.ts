import { commandId, type SessionId } from "../../machines/ids.ts";
import type { ActionCommand } from "../../machines/protocol/commands.ts";
import type { PlainSignal, SignalData } from "../../machines/protocol/signals.ts";
import type { ActionEnd, ActionRow } from "../../persistence/store.ts";
import { digestOf } from "./admit.ts";
import { type CardItem, cardItem } from "./card-item.ts";
import { type Caller, Refused } from "./conversations.ts";
import type { Directory } from "./directory.ts";
import { performAction } from "./perform-action.ts";
import type { Resident } from "./resident.ts";
import type { World } from "./world.ts";

type Receipt = SignalData<"action_receipt">;
/** Why, for people. */
type Invalid = { readonly invalid: string };
/** `again`: the same command, or another one for what is under way. */
type Begun = { readonly end: Promise<ActionEnd>; readonly again?: "same" | "other" };

/**
 * A card's button: written by the system as the user, once however often it is pressed, for what a draft holds is not
 * added to it again. It waits its turn among the session's commands only to become durable; while the platform works,
 * messages and cancels pass.
 */
export async function act(
  directory: Directory,
  world: World,
  id: SessionId,
  caller: Caller,
  command: ActionCommand,
): Promise<PlainSignal> {
  const receipt = (told: Omit<Receipt, "id">) =>
    directory.audience(id).plain("action_receipt", { id: command.id, ...told });
  const begun = await directory.inOrder(id, () => begin(directory, world, id, caller, command));
  if ("invalid" in begun) return receipt({ result: "invalid", message: begun.invalid });
  const { end, again } = begun;
  const { shown } = await end;
  const plan = shown.plan === undefined ? {} : { plan: shown.plan };
  const message = shown.message === undefined ? {} : { message: shown.message };
  const result = resultOf(shown.result, again);
  return receipt({ result, ...plan, ...message, ...(again === "same" && { duplicate: true }) });
}

function resultOf(result: string, again: Begun["again"]): Receipt["result"] {
  if (result === "failed" || result === "invalid") return result;
  return again === "other" || result !== "done" ? "duplicate" : "done";
}

/** A turn that an owner before left, and nobody has opened again yet: its cards are not to be seen until then. */
async function isBeingTakenUp(directory: Directory, { store }: World, id: SessionId, caller: Caller): Promise<boolean> {
  const resident = directory.resident(id);
  if (resident) return resident.run === undefined && resident.rows.size > 0;
  return (await store.sessions.find(id, caller.principal.userId))?.status === "turning";
}

/** Finds what the button means; makes it durable and starts it, or finds how the same command ended. In order with the session's other work. */
async function begin(
  directory: Directory,
  world: World,
  id: SessionId,
  caller: Caller,
  command: ActionCommand,
): Promise<Begun | Invalid> {
  if (directory.isDraining)
    throw new Refused("draining", "the server is restarting; try again in a moment", { retryable: true });
  const item = await cardItem(world, id, directory.resident(id), command);
  if (item === undefined) {
    if (!(await isBeingTakenUp(directory, world, id, caller)))
      return { invalid: "That item is on no card of this conversation." };
    throw new Refused("unavailable", "this conversation is being taken up again; try again in a moment", {
      retryable: true,
    });
  }
  if (item.patientId === undefined && command.plan_id === undefined)
    return { invalid: "Choose a patient or a plan first." };
  const mine = commandId(command.id);
  const resident = (await directory.awake(id)) ?? (await directory.wake(id, mine));
  if (resident === undefined)
    throw new Refused("unavailable", "this session is being moved; try again in a moment", { retryable: true });
  const { acting } = resident;
  acting.hold(mine);
  try {
    // A card of the turn that runs must be there after a crash, or nobody could tell what its button meant.
    if (resident.run?.turnId === item.turnId) await resident.flush();
    const digest = digestOf(command);
    const intended = await world.store.actions.intend(resident.fence, { command, digest, turnId: item.turnId });
    resident.hasNewActions = true;
    if (intended.kind === "conflict") throw new Refused("conflict", "this id was used for another command");
    if (intended.kind === "known" && intended.row.end !== undefined && intended.row.state !== "intended") {
      const { end, state } = intended.row;
      return { end: Promise.resolve({ ...end, state }), again: "same" };
    }
    await endInherited(resident, world, caller);
    if (intended.kind === "intended") {
      const fresh = { command, isInherited: false };
      return { end: acting.start(mine, () => performAction(resident, world, caller, fresh, item)) };
    }
    const end = startInherited(resident, world, caller, intended.row, item);
    return { end, again: intended.isSameCommand ? "same" : "other" };
  } finally {
    acting.release(mine);
  }
}

/** Starts what an owner before left without an end: what it wrote, or may have written, comes before anything new. */
async function endInherited(resident: Resident, world: World, caller: Caller): Promise<void> {
  if (!resident.hasInherited) return;
  for (const row of await world.store.actions.unrecorded(resident.id)) {
    if (row.end !== undefined || resident.acting.has(commandId(row.command.id))) continue;
    const item = await cardItem(world, resident.id, resident, row.command);
    if (item) void startInherited(resident, world, caller, row, item).catch(() => undefined);
  }
  resident.hasInherited = false;
}

/** Ends an action whose call may have left already; the one run of it here, however many wait for it. */
export function startInherited(
  resident: Resident,
  world: World,
  caller: Caller,
  { command }: Pick<ActionRow, "command">,
  item: CardItem,
): Promise<ActionEnd> {
  const row = { command, isInherited: true };
  return resident.acting.start(commandId(command.id), () => performAction(resident, world, caller, row, item));
}
