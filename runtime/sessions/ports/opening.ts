import type {
  ActionEntry,
  Attachment,
  ContextSignals,
  Entry,
  ResolutionEntry,
  UserEntry,
} from "../../../machines/conversation/entries.ts";
import { closedText, resolutionLabel, resolutionText } from "../../../machines/conversation/interactions.ts";
import { blockId, type CommandId, commandId, interactionId } from "../../../machines/ids.ts";
import type { MessageCommand, ResolveCommand } from "../../../machines/protocol/commands.ts";
import type { PendingInteraction } from "../../../machines/protocol/interactions.ts";
import type { TurnInput } from "../../../machines/protocol/turns.ts";
import type { ActionRow } from "../../../persistence/store.ts";
import { notStoredText } from "../../../tools/plan-writing.ts";
import { startInherited } from "../act.ts";
import { attachmentsOf } from "../attachments.ts";
import { cardItem } from "../card-item.ts";
import type { Resident, Row, Run } from "../resident.ts";
import { NO_CAPABILITIES, type World } from "../world.ts";

/** What an answer answers. It may have been asked anew since, under another revision. */
export async function askedBy(
  resident: Resident,
  world: World,
  { interaction_id, revision }: ResolveCommand,
): Promise<PendingInteraction | undefined> {
  for (const entry of resident.entries)
    if (entry.kind === "interaction" && entry.interactionId === interaction_id && entry.pending.revision === revision)
      return entry.pending;
  const id = interactionId(interaction_id);
  return (await resident.patiently(() => world.store.interactions.find(resident.id, id)))?.pending;
}

/** What began the turn, as clients see it. */
export function inputOf(row: Row, asked: PendingInteraction | undefined): TurnInput {
  if (row.kind === "resolve") {
    const { interaction_id, resolution } = row.body;
    return { interaction_id, resolution, ...(asked && { label: resolutionLabel(asked, resolution) }) };
  }
  const { body } = row;
  return {
    text: body.text,
    ...(body.context && { context: body.context }),
    ...(body.attachments && { attachments: body.attachments }),
    ...(body.entry_point !== undefined && { entry_point: body.entry_point }),
  };
}

/** What a fresh turn begins with. `fault`: something of it could not be had; the rest is there all the same. */
export type Opening = {
  readonly entries: readonly Entry[];
  /** Actions that the entries tell the model of. */
  readonly recorded: readonly CommandId[];
  readonly fault: { readonly error: unknown } | undefined;
};

/** How what was open before ended, what was done with cards meanwhile, and then what the user says. Throws only for `signal`. */
export async function openingOf(
  resident: Resident,
  world: World,
  row: Row,
  run: Run,
  asked: PendingInteraction | undefined,
  signal: AbortSignal,
): Promise<Opening> {
  const faults: unknown[] = [];
  const had = async <T>(otherwise: T, work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      signal.throwIfAborted();
      faults.push(error);
      return otherwise;
    }
  };
  const { end, unsaved } = await had<Closing>({}, () => closing(resident, world, row, asked));
  const actions = await had([], () => newActions(resident, world, run));
  const said = row.kind === "message" ? await userEntry(resident, world, row.body, run, had, signal) : undefined;
  const patientId = row.kind === "resolve" ? pickedPatient(asked, row.body) : undefined;
  // A name is a courtesy: without it the id is there.
  const picked = patientId === undefined ? undefined : await described(run, { patientId }, signal);
  signal.throwIfAborted();
  const closed = end && { ...end, ...(picked && { context: picked }) };
  const [fault] = faults.map((error) => ({ error }));
  return {
    entries: [closed, unsaved, ...actions, said].filter((entry) => entry !== undefined),
    recorded: actions.map((entry) => entry.commandId),
    fault,
  };
}

/** `unsaved`: it was accepted, and what it proposed is not stored. */
type Closing = { readonly end?: ResolutionEntry; readonly unsaved?: ActionEntry };

/** How the interaction that was open before this turn ended; nothing where none was. */
async function closing(
  resident: Resident,
  world: World,
  row: Row,
  asked: PendingInteraction | undefined,
): Promise<Closing> {
  const { turnId } = row;
  if (row.kind === "resolve" && asked !== undefined && !isTold(resident, asked)) {
    const { resolution } = row.body;
    const text = resolutionText(asked, resolution);
    return {
      end: { kind: "resolution", turnId, interactionId: interactionId(asked.id), by: "user", resolution, text },
    };
  }
  const open = resident.ledger.unresolved;
  if (open === undefined || open.turnId === turnId) return {};
  const { pending, interactionId: id } = open;
  const stored = await resident.patiently(() => world.store.interactions.find(resident.id, id));
  const base = { kind: "resolution", turnId, interactionId: id } as const;
  if (stored?.resolved !== undefined) {
    // Answered by a turn that was withdrawn before it ran, or that comes after this one.
    const { resolution, commandId: by } = stored.resolved;
    const end: ResolutionEntry = { ...base, by: "user", resolution, text: resolutionText(pending, resolution) };
    if (resolution.kind !== "accepted" || (await isStillOpen(resident, world, by))) return { end };
    const text = notStoredText("the turn that was to store it was cancelled");
    return { end, unsaved: { kind: "action", turnId, commandId: by, text } };
  }
  // A turn follows, so nobody can answer any more.
  const by = stored?.status === "expired" ? "expired" : "superseded";
  return { end: { ...base, by, text: closedText(pending, by) } };
}

/** A turn that was admitted after the answer, and began before it because the word of its admission was lost, has told it. */
function isTold({ entries }: Resident, asked: PendingInteraction): boolean {
  const at = entries.findLastIndex(
    (entry) =>
      entry.kind === "interaction" && entry.interactionId === asked.id && entry.pending.revision === asked.revision,
  );
  return entries.slice(at + 1).some((entry) => entry.kind === "resolution" && entry.interactionId === asked.id);
}

/** The turn of this command has not ended: it is this owner's to run, whether it was heard of here or not. */
async function isStillOpen(resident: Resident, world: World, id: CommandId): Promise<boolean> {
  const rows = await resident.patiently(() => world.store.inbox.open(resident.id));
  return rows.some(({ commandId, state }) => commandId === id && state !== "cancelled");
}

/**
 * What the user did with the buttons of cards since the last turn. One that a dead owner left without an end is ended
 * first, under its own key; what is under way here comes with a later turn.
 */
async function newActions(resident: Resident, world: World, run: Run): Promise<readonly ActionEntry[]> {
  if (!resident.hasNewActions) return [];
  // One that begins from here on says so again.
  resident.hasNewActions = false;
  try {
    const rows = await resident.patiently(() => world.store.actions.unrecorded(resident.id));
    const ended = await Promise.all(rows.map((row) => endOf(resident, world, run, row)));
    resident.hasNewActions ||= ended.includes(undefined);
    return rows.flatMap(({ command }, at) => {
      const end = ended[at];
      if (end === undefined) return [];
      const base = { kind: "action", turnId: run.turnId, commandId: commandId(command.id) } as const;
      return [{ ...base, blockId: blockId(command.block_id), text: end.text }];
    });
  } catch (error) {
    resident.hasNewActions = true;
    throw error;
  }
}

async function endOf(
  resident: Resident,
  world: World,
  { caller, capabilities }: Run,
  row: ActionRow,
): Promise<{ readonly text: string } | undefined> {
  if (row.end !== undefined) return row.end;
  if (resident.acting.has(commandId(row.command.id)) || capabilities === NO_CAPABILITIES) return undefined;
  const item = await cardItem(world, resident.id, resident, row.command);
  return item && (await startInherited(resident, world, caller, row, item));
}

type Had = <T>(otherwise: T, work: () => Promise<T>) => Promise<T>;

async function userEntry(
  resident: Resident,
  world: World,
  body: MessageCommand,
  run: Run,
  had: Had,
  signal: AbortSignal,
): Promise<UserEntry> {
  const attachments = await had<readonly Attachment[]>([], () =>
    resident.patiently(() => attachmentsOf(world, resident.id, body)),
  );
  const context = await contextOf(body, run, signal);
  const skills = body.entry_point === undefined ? [] : run.capabilities.eager(body.entry_point);
  return {
    kind: "user",
    turnId: run.turnId,
    text: body.text,
    ...(context && { context }),
    ...(body.entry_point !== undefined && { entryPoint: body.entry_point }),
    ...(skills.length > 0 && { skills }),
    ...(attachments.length > 0 && { attachments }),
  };
}

async function contextOf(
  { context }: MessageCommand,
  run: Run,
  signal: AbortSignal,
): Promise<ContextSignals | undefined> {
  const { preferences } = run.caller.principal;
  const named = await described(run, { patientId: context?.patient_id, planId: context?.plan_id }, signal);
  const page = context?.page && {
    ...(context.page.url !== undefined && { url: context.page.url }),
    ...(context.page.title !== undefined && { title: context.page.title }),
  };
  const all: ContextSignals = {
    ...named,
    ...(page && { page }),
    ...(Object.keys(preferences).length > 0 && { preferences }),
  };
  return Object.keys(all).length > 0 ? all : undefined;
}

/** What is on the screen, by name where the platform gives one. */
async function described(
  run: Run,
  { patientId, planId }: { readonly patientId?: string | undefined; readonly planId?: string | undefined },
  signal: AbortSignal,
): Promise<Pick<ContextSignals, "patient" | "plan">> {
  try {
    return await run.capabilities.describe({ patientId, planId }, signal);
  } catch {
    signal.throwIfAborted();
    return {
      ...(patientId !== undefined && { patient: { id: patientId } }),
      ...(planId !== undefined && { plan: { id: planId } }),
    };
  }
}

/** The patient that a picker's answer puts on the screen. */
function pickedPatient(asked: PendingInteraction | undefined, { resolution }: ResolveCommand): string | undefined {
  return asked?.kind === "patient_picker" && resolution.kind === "answered" ? resolution.selected[0] : undefined;
}
