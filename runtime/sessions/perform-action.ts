import { callId, commandId } from "../../machines/ids.ts";
import type { ActionCommand } from "../../machines/protocol/commands.ts";
import type { ActionDone } from "../../machines/protocol/turns.ts";
import type { ActionEnd } from "../../persistence/store.ts";
import { runTool } from "../../tools/execute.ts";
import {
  addCall,
  addedText,
  type Draft,
  draftsIn,
  heldText,
  notAddedText,
  type PlanItem,
  planCardOf,
} from "../../tools/plan-writing.ts";
import type { ToolAnswer, Toolbox } from "../../tools/tool.ts";
import type { CardItem } from "./card-item.ts";
import type { Caller } from "./conversations.ts";
import { loginEnded } from "./ports/login-ended.ts";
import type { Resident } from "./resident.ts";
import type { World } from "./world.ts";

/** `isInherited`: its call may have left before, from an owner that is gone. */
export type Pressed = { readonly command: ActionCommand; readonly isInherited: boolean };

/** Does what the button says as the user, keeps what came of it, and shows it. Rejects when the session is lost meanwhile. */
export async function performAction(
  resident: Resident,
  world: World,
  caller: Caller,
  pressed: Pressed,
  item: CardItem,
): Promise<ActionEnd> {
  const { command, isInherited } = pressed;
  const toolbox = await toolboxOf(world, caller).catch(async (error: unknown) => {
    // Nothing has left, so nothing may be made up for later without the user.
    if (!isInherited) await keep(resident, world, command, failed(command, item, UNREACHABLE), item.turnId);
    throw error;
  });
  const end = await write(resident, world, caller, toolbox, pressed, item);
  // An end that came of our own end is none: the next owner finds out.
  resident.over.signal.throwIfAborted();
  await keep(resident, world, command, end, item.turnId);
  return end;
}

const toolboxOf = async (world: World, caller: Caller): Promise<Toolbox> => (await world.capabilities(caller)).toolbox;

/** Makes the end of an action durable and shows it. */
async function keep(
  resident: Resident,
  { store }: World,
  command: ActionCommand,
  end: ActionEnd,
  turnId: CardItem["turnId"],
): Promise<void> {
  await resident.acting.keep(async () => {
    await resident.patiently(() => store.actions.finish(resident.fence, commandId(command.id), end));
    resident.over.signal.throwIfAborted();
    resident.showAction(turnId, end.shown);
  });
}

async function write(
  resident: Resident,
  world: World,
  caller: Caller,
  toolbox: Toolbox,
  pressed: Pressed,
  item: CardItem,
): Promise<ActionEnd> {
  const { command, isInherited } = pressed;
  const { planTools } = world.settings;
  const ask = (name: string, args: unknown) => call(resident, caller, toolbox, command, item, { name, args });
  const refused = async (why: Refusal): Promise<ActionEnd> => {
    if (why.reason === "auth") await loginEnded(resident, world);
    return failed(command, item, why);
  };

  if ([planTools.read, planTools.create, planTools.update].some((name) => toolbox.find(name) === undefined))
    return notAllowed(command, item);
  const where = command.plan_id === undefined ? { patientId: item.patientId } : { id: command.plan_id };
  const read = await ask(planTools.read, where);
  if (read.kind === "error") return await refused(isInherited ? { ...read, mayHaveHappened: true } : read);
  const drafts = draftsIn(read.data);
  const draft = await target(resident, world, command, item, drafts);
  if (command.plan_id !== undefined && draft === undefined) {
    const text = notAddedText({ name: item.name, dosing: command.item.dosing }, "there is no such draft plan");
    const message = "That plan is not a draft any more.";
    return { state: "failed", shown: shownOf(command, item, { result: "failed", message }), text };
  }
  if (draft && item.patientId !== undefined && draft.patientId !== item.patientId) {
    const text = notAddedText({ name: item.name, dosing: command.item.dosing }, "that draft plan is another patient's");
    const message = "That plan is another patient's.";
    return { state: "failed", shown: shownOf(command, item, { result: "failed", message }), text };
  }
  const held = draft?.held(command.item.variant_id);
  if (draft && held) return there(pressed, item, draft, held);
  const patientId = draft?.patientId ?? item.patientId ?? "";
  const { name, args } = addCall(planTools, { item: command.item, planId: draft?.id, patientId });
  // Never twice, unless the platform knows the key (DESIGN §4.5); what it holds was looked at just now.
  if (isInherited && toolbox.find(name)?.traits.repeatable !== true) return unknown(command, item);
  await resident.lease.hold(resident.over.signal);
  const written = await ask(name, args);
  if (written.kind === "error") return await refused(written);
  const card = planCardOf(written.data, draft === undefined ? "created" : "updated");
  const plan = { plan_id: card?.plan_id ?? draft?.id ?? "", title: card?.title ?? draft?.title ?? null };
  return {
    state: "done",
    shown: shownOf(command, item, { result: "done", plan }),
    text: addedText({ name: item.name, dosing: command.item.dosing }, plan),
  };
}

/** The draft that the item goes into; none: a new one. Where this button has put it before, while it is there, else the newest. */
async function target(
  resident: Resident,
  { store }: World,
  { plan_id, block_id, item }: ActionCommand,
  { turnId }: CardItem,
  drafts: readonly Draft[],
): Promise<Draft | undefined> {
  if (plan_id !== undefined) return drafts.find(({ id }) => id === plan_id);
  const [newest, ...older] = drafts;
  const holding = older.filter((draft) => draft.held(item.variant_id) !== undefined);
  if (holding.length === 0) return newest;
  const shown = await resident.patiently(() => store.actions.shown(resident.id, [turnId]));
  const before = shown.filter((one) => one.block_id === block_id && one.item["variant_id"] === item.variant_id);
  const ids = before.map(({ plan }) => (plan as { readonly plan_id?: unknown } | undefined)?.plan_id);
  return holding.find(({ id }) => ids.includes(id)) ?? newest;
}

type Refusal = ToolAnswer & { readonly kind: "error" };
const UNREACHABLE: Refusal = { kind: "error", reason: "unavailable", text: "the platform can't be reached" };

function failed(command: ActionCommand, item: CardItem, why: Refusal): ActionEnd {
  const message =
    why.reason === "auth"
      ? "Your login ended. Log in again and try once more."
      : "The plan could not be changed. Please try again.";
  const text = notAddedText({ name: item.name, dosing: command.item.dosing }, why.text, why.mayHaveHappened);
  return { state: "failed", shown: shownOf(command, item, { result: "failed", message }), text };
}

/** Nobody can tell whether it was added; a plan that is read shows it. */
function unknown(command: ActionCommand, item: CardItem): ActionEnd {
  const message = "It is not known whether this was added. Look at the plan before you try again.";
  const text = notAddedText({ name: item.name, dosing: command.item.dosing }, "its answer was lost", true);
  return { state: "failed", shown: shownOf(command, item, { result: "failed", message }), text };
}

/**
 * The draft holds it, maybe in another dosing: all are told the draft's own. What an owner before may have written, and
 * is there just so, it has added.
 */
function there({ command, isInherited }: Pressed, item: CardItem, draft: Draft, { dosing }: PlanItem): ActionEnd {
  const plan = { plan_id: draft.id, title: draft.title };
  const isOther = dosing !== command.item.dosing;
  const told = isOther ? { message: `It was in the plan already, as “${dosing}”. Nothing was changed.` } : {};
  const shown = shownOf(command, item, { result: "duplicate", plan, ...told });
  return {
    state: "done",
    shown: { ...shown, item: { ...shown.item, dosing } },
    text: (isInherited && !isOther ? addedText : heldText)({ name: item.name, dosing }, plan),
  };
}

/** The platform gives this user no tool to write plans with: trying again would not help. */
function notAllowed(command: ActionCommand, item: CardItem): ActionEnd {
  const message = "Plans can't be changed with your account.";
  const text = notAddedText({ name: item.name, dosing: command.item.dosing }, "plans can't be written for this user");
  return { state: "failed", shown: shownOf(command, item, { result: "invalid", message }), text };
}

function shownOf(
  { block_id, action, item }: ActionCommand,
  { name, brand }: CardItem,
  told: Pick<ActionDone, "result" | "plan" | "message">,
): ActionDone {
  return { block_id, action, item: { ...item, name, brand }, ...told };
}

async function call(
  resident: Resident,
  caller: Caller,
  toolbox: Toolbox,
  command: ActionCommand,
  { turnId }: CardItem,
  { name, args }: { readonly name: string; readonly args: unknown },
): Promise<ToolAnswer> {
  const step = {
    sessionId: resident.id,
    turnId,
    ...caller,
    loadedSkills: new Set<string>(),
    // A command's id is unique in its session only.
    idempotencyKey: `${resident.id}.${command.id}`,
  };
  const result = await runTool(
    toolbox,
    { callId: callId(`action_${command.id}`), name, args },
    step,
    resident.over.signal,
  );
  if (result.kind !== "pause") return result;
  return { kind: "error", reason: "tool", text: `${name} asked instead of writing.` };
}
