import type { ActionEntry, ToolCall } from "../../../machines/conversation/entries.ts";
import { editedProposal } from "../../../machines/conversation/interactions.ts";
import { type CallId, callId } from "../../../machines/ids.ts";
import type { PendingInteraction, Proposal } from "../../../machines/protocol/interactions.ts";
import type { Intent } from "../../../persistence/store.ts";
import { runTool } from "../../../tools/execute.ts";
import {
  allHeldText,
  draftsIn,
  extension,
  notStoredText,
  type PlanCall,
  type PlanCard,
  type PlanItem,
  planCardOf,
  proposalCall,
  storedText,
} from "../../../tools/plan-writing.ts";
import type { ToolAnswer, ToolProgress } from "../../../tools/tool.ts";
import type { Resident, Row, Run } from "../resident.ts";
import type { World } from "../world.ts";
import { AuthRequired, loginEnded } from "./login-ended.ts";
import { progressShown } from "./tool-progress.ts";

const UNKNOWN = notStoredText("its answer was lost", true);

type ResolveRow = Extract<Row, { kind: "resolve" }>;
type Found = {
  readonly asked: PendingInteraction | undefined;
  readonly isFresh: boolean;
};

/**
 * Stores the plan of an accepted proposal as the user, without the model: once, under the interaction's own key, and in
 * order with the buttons of cards. What came of it is an entry of the turn; a write that failed leaves the proposal
 * accepted and tells the model. Where nothing came of it, because the turn ended before, the settlement says so
 * (`outcomeOwed`).
 */
export async function storeAccepted(
  resident: Resident,
  world: World,
  run: Run,
  row: ResolveRow,
  { asked, isFresh }: Found,
  signal: AbortSignal,
): Promise<void> {
  const { resolution } = row.body;
  if (resolution.kind !== "accepted" || asked?.proposal === undefined || !owesOutcome(resident, row)) return;
  const proposal = editedProposal(asked.proposal, resolution.edits);
  await resident.acting.inOrder(async () => {
    signal.throwIfAborted();
    await resident.lease.hold(signal);
    await store({ resident, world, run, row, signal }, proposal, isFresh);
  });
}

type Accepting = {
  readonly resident: Resident;
  readonly world: World;
  readonly run: Run;
  readonly row: ResolveRow;
  readonly signal: AbortSignal;
};

async function store(accepting: Accepting, proposal: Proposal, isFresh: boolean): Promise<void> {
  const { resident, world, run, row, signal } = accepting;
  const { turnId, commandId } = row;
  const { interaction_id, revision } = row.body;
  const { planTools } = world.settings;
  const key = `${interaction_id}.${revision}`;
  const intents = isFresh ? [] : await resident.patiently(() => world.store.histories.intents(resident.id, turnId));
  signal.throwIfAborted();
  const earlier = intents.find((intent) => intent.key === key);
  const id = callId(`accept_${revision}`);
  const { toolbox } = run.capabilities;
  const isExtension = proposal.plan_id !== undefined;
  const tool = toolbox.find(isExtension ? planTools.update : planTools.create);
  const isAble = !isExtension || toolbox.find(planTools.read) !== undefined;
  const note = (text: string, card?: PlanCard) => {
    const shown = card && { card: { kind: "treatment_plan", data: card } as const };
    const entry: ActionEntry = { kind: "action", turnId, commandId, text, ...shown };
    resident.append(turnId, [entry], { finished: [id] });
  };
  const show = (card: PlanCard | undefined) => card && run.live.card({ kind: "treatment_plan", data: card }, commandId);
  if (earlier !== undefined && (tool === undefined || !earlier.repeatable)) return note(UNKNOWN);
  run.mayHaveStored = earlier !== undefined;
  if (tool === undefined || !isAble)
    return note(notStoredText("plans can't be written for this user", run.mayHaveStored));
  const loggedOut = async () => {
    await loginEnded(resident, world);
    throw new AuthRequired();
  };

  const needed = await neededCall(accepting, proposal, { id, key, isAgain: earlier !== undefined });
  if (needed.kind === "error") {
    note(notStoredText(needed.text, needed.mayHaveHappened));
    return needed.reason === "auth" ? await loggedOut() : undefined;
  }
  if (needed.kind === "none") {
    note(needed.text, needed.card);
    show(needed.card);
    return;
  }
  const { held } = needed;
  const { name, args } = needed.call;

  const intent: Intent = { turnId, callId: id, name, repeatable: tool.traits.repeatable, key };
  if (earlier === undefined) resident.append(turnId, [], { intents: [intent] });
  await resident.flush();
  signal.throwIfAborted();
  // A Stop that came before the call leaves: it does not leave.
  if (await resident.isCancelled(turnId)) return;
  signal.throwIfAborted();
  run.mayHaveStored = true;
  const began = world.clock.monotonic();
  run.tools.add(name);
  resident.audience.show("tool_call_started", { call_id: id, name, title: tool.title }, turnId);
  world.observe({ type: "tool.called", sessionId: resident.id, turnId, tool: name, callId: id });
  const progress = progressShown({ resident, world, run, signal }, { callId: id, name, args });
  const answer = await call(accepting, { callId: id, name, args }, key, progress.show).finally(progress.end);
  const ms = world.clock.monotonic() - began;
  run.portsMs += ms;
  const outcome = answer.kind;
  const card = answer.kind === "ok" ? planCardOf(answer.data, isExtension ? "updated" : "created") : undefined;
  const isUnsure = earlier !== undefined;
  note(textOf(answer, { card, held, isUnsure }), card);
  resident.audience.show("tool_call_finished", { call_id: id, name, outcome, ms }, turnId);
  world.observe({ type: "tool.finished", sessionId: resident.id, turnId, tool: name, callId: id, outcome, ms });
  show(card);
  if (answer.kind === "error" && answer.reason === "auth") await loggedOut();
}

type Needed =
  | { readonly kind: "call"; readonly call: PlanCall; readonly held: readonly PlanItem[] }
  /** `card`: an owner before has written it. */
  | { readonly kind: "none"; readonly text: string; readonly card?: PlanCard }
  | Extract<ToolAnswer, { kind: "error" }>;

/**
 * What is still to be written. A draft is read now: it may hold some of it since the proposal. `isAgain`: an owner before
 * may have written it. Then the draft tells: if it lacks an item, it is as that owner found it, and the same call comes
 * of it; what it holds in the very dosing of the proposal, that owner has written.
 */
async function neededCall(
  accepting: Accepting,
  proposal: Proposal,
  { id, key, isAgain }: { readonly id: CallId; readonly key: string; readonly isAgain: boolean },
): Promise<Needed> {
  const { planTools } = accepting.world.settings;
  const planId = proposal.plan_id;
  if (planId === undefined) return { kind: "call", call: proposalCall(planTools, proposal), held: [] };
  const reading = { callId: callId(`${id}_read`), name: planTools.read, args: { id: planId } };
  const read = await call(accepting, reading, `${key}.read`);
  if (read.kind === "error") return isAgain ? { ...read, mayHaveHappened: true } : read;
  const draft = draftsIn(read.data).find((one) => one.id === planId && one.patientId === proposal.patient_id);
  if (draft === undefined)
    return { kind: "none", text: notStoredText(`plan ${planId} is no draft of this patient any more`, isAgain) };
  const { call: wanted, held } = extension(planTools, proposal, draft);
  if (wanted) return { kind: "call", call: wanted, held };
  const isOurs = ({ variant_id, dosing }: PlanItem) =>
    proposal.items.some((item) => item.variant_id === variant_id && item.dosing === dosing);
  if (!isAgain || !held.some(isOurs)) return { kind: "none", text: allHeldText(draft.card, held) };
  const others = held.filter((one) => !isOurs(one));
  return { kind: "none", text: storedText(draft.card, others), card: draft.card };
}

async function call(
  { resident, run, row, signal }: Accepting,
  { callId, name, args }: ToolCall,
  idempotencyKey: string,
  onProgress?: (progress: ToolProgress) => void,
): Promise<ToolAnswer> {
  const of = { sessionId: resident.id, turnId: row.turnId, loadedSkills: new Set<string>() };
  const step = { ...of, ...run.caller, idempotencyKey };
  const result = await runTool(run.capabilities.toolbox, { callId, name, args }, step, signal, onProgress);
  signal.throwIfAborted();
  return result.kind === "pause"
    ? { kind: "error", reason: "tool", text: `${name} asked instead of writing.` }
    : result;
}

/** What the model is told of an accepted proposal whose turn ends without a word about it. */
export function outcomeOwed(resident: Resident, { turnId, mayHaveStored }: Run): readonly ActionEntry[] {
  const row = resident.rows.get(turnId);
  if (row?.kind !== "resolve" || !owesOutcome(resident, row)) return [];
  const text = mayHaveStored ? UNKNOWN : notStoredText("the turn ended before");
  return [{ kind: "action", turnId, commandId: row.commandId, text }];
}

function owesOutcome(resident: Resident, { turnId, commandId, body }: ResolveRow): boolean {
  if (body.resolution.kind !== "accepted") return false;
  return !resident.entriesOf(turnId).some((entry) => entry.kind === "action" && entry.commandId === commandId);
}

type Written = { readonly card: PlanCard | undefined; readonly held: readonly PlanItem[]; readonly isUnsure: boolean };

/** `isUnsure`: an earlier try may have been stored, whatever this one was told. */
function textOf(answer: ToolAnswer, { card, held, isUnsure }: Written): string {
  if (answer.kind === "error") return notStoredText(answer.text, isUnsure || answer.mayHaveHappened);
  return card ? storedText(card, held) : UNKNOWN;
}
