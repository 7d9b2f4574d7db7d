import { checkResolution } from "../../machines/conversation/interactions.ts";
import { commandId, interactionId, type SessionId } from "../../machines/ids.ts";
import type { ResolveCommand } from "../../machines/protocol/commands.ts";
import type { PlainSignal, SignalData } from "../../machines/protocol/signals.ts";
import { canonical } from "../../machines/turn/progress.ts";
import type { InteractionRow } from "../../persistence/store.ts";
import { admit, adoptKnown, digestOf } from "./admit.ts";
import { type Caller, Refused } from "./conversations.ts";
import type { Directory } from "./directory.ts";
import type { World } from "./world.ts";

type Receipt = SignalData<"interaction_receipt">;

/** An answer to what is open begins a turn; any other one is told why it does not. In order with the session's other work. */
export async function resolve(
  directory: Directory,
  world: World,
  id: SessionId,
  caller: Caller,
  command: ResolveCommand,
): Promise<PlainSignal> {
  const { interactions, inbox } = world.store;
  const asked = interactionId(command.interaction_id);
  const receipt = (told: Pick<Receipt, "result"> & Partial<Receipt>) => {
    const base = { id: command.id, interaction_id: asked, open: null };
    return directory.audience(id).plain("interaction_receipt", { ...base, ...told });
  };
  // A second look, when somebody else closed it between the first one and the statement.
  for (const _ of ["first", "second"]) {
    const found = await interactions.find(id, asked);
    const isOpen = found?.status === "open" && found.pending.revision === command.revision;
    if (found && isOpen) {
      const checked = checkResolution(found.pending, command.resolution);
      if (!checked.ok)
        return receipt({
          result: "invalid",
          message: checked.problem,
          open: { id: asked, revision: command.revision },
        });
      const done = await admit(directory, world, id, caller, { kind: "resolve", command, status: checked.status });
      if (done.kind === "not_open") continue;
      const duplicate = done.kind === "duplicate" && { duplicate: true };
      return receipt({ result: "accepted", turn_id: done.turnId, ...duplicate });
    }
    const earlier = await inbox.earlier(id, commandId(command.id), "resolve", digestOf(command));
    if (earlier?.kind === "conflict") throw new Refused("conflict", "this id was used for another command");
    if (earlier) {
      adoptKnown(await directory.awake(id), { kind: "resolve", command }, earlier, caller);
      return receipt({ result: "accepted", turn_id: earlier.turnId, duplicate: true });
    }
    const open = await openNow(world, id);
    if (found === undefined) return receipt({ result: "not_found", open });
    const isEqual =
      found.pending.revision === command.revision &&
      canonical(found.resolved?.resolution ?? null) === canonical(command.resolution);
    if (found.resolved && isEqual) {
      const message = await notStored(world, id, found.resolved);
      return receipt({ result: "duplicate", turn_id: found.resolved.turnId, open, ...(message && { message }) });
    }
    return receipt({ result: found.status === "expired" ? "expired" : "stale", open });
  }
  throw new Refused("unavailable", "this conversation is busy; try again in a moment", { retryable: true });
}

const NOT_STORED =
  "This was accepted before, but its plan may not have been stored. Look at the patient's plans, or write a message to have it proposed again.";
/** How many of the newest turns are looked through. */
const RECENT = 100;

/** Told of a proposal that was accepted before, when its turn is over and has shown no plan. */
async function notStored(
  { store }: World,
  id: SessionId,
  { resolution, turnId }: NonNullable<InteractionRow["resolved"]>,
): Promise<string | undefined> {
  if (resolution.kind !== "accepted") return undefined;
  const turn = (await store.turns.page(id, RECENT)).find(({ turn_id }) => turn_id === turnId);
  if (turn?.outcome === undefined || turn.blocks.some(({ type }) => type === "treatment_plan")) return undefined;
  return NOT_STORED;
}

/** What can be answered now, so that a client with an old card can show the right one. */
async function openNow({ store, clock }: World, id: SessionId): Promise<Receipt["open"]> {
  const open = await store.interactions.open(id);
  if (open === undefined) return null;
  if (open.expires_at !== undefined && Date.parse(open.expires_at) <= clock.now()) return null;
  return { id: open.id, revision: open.revision };
}
