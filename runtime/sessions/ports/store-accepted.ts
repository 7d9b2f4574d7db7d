import type { ActionEntry } from "../../../machines/conversation/entries.ts";
import { editedProposal } from "../../../machines/conversation/interactions.ts";
import { callId } from "../../../machines/ids.ts";
import type { PendingInteraction } from "../../../machines/protocol/interactions.ts";
import type { Intent } from "../../../persistence/store.ts";
import { runTool } from "../../../tools/execute.ts";
import { notStoredText, planCardOf, proposalCall, storedText } from "../../../tools/plan-writing.ts";
import type { ToolAnswer } from "../../../tools/tool.ts";
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
 * Stores the plan of an accepted proposal as the user, without the model: once, under the interaction's own key. What
 * came of it is an entry of the turn; a write that failed leaves the proposal accepted and tells the model. Where
 * nothing came of it, because the turn ended before, the settlement says so (`outcomeOwed`).
 */
export async function storeAccepted(
  resident: Resident,
  world: World,
  run: Run,
  row: ResolveRow,
  { asked, isFresh }: Found,
  signal: AbortSignal,
): Promise<void> {
  const { turnId, commandId } = row;
  const { resolution, interaction_id, revision } = row.body;
  if (resolution.kind !== "accepted" || asked?.proposal === undefined || !owesOutcome(resident, row)) return;
  const key = `${interaction_id}.${revision}`;
  const intents = isFresh ? [] : await resident.patiently(() => world.store.histories.intents(resident.id, turnId));
  const earlier = intents.find((intent) => intent.key === key);
  const id = callId(`accept_${revision}`);
  const { name, args } = proposalCall(world.settings.planTools, editedProposal(asked.proposal, resolution.edits));
  const tool = run.capabilities.toolbox.find(name);
  const note = (text: string, card?: ActionEntry["card"]) => {
    const entry: ActionEntry = { kind: "action", turnId, commandId, text, ...(card && { card }) };
    resident.append(turnId, [entry], { finished: [id] });
  };
  if (earlier !== undefined && (tool === undefined || !earlier.repeatable)) return note(UNKNOWN);
  run.mayHaveStored = earlier !== undefined;
  if (tool === undefined) return note(notStoredText("plans can't be written for this user"));

  const intent: Intent = { turnId, callId: id, name, ...tool.traits, readOnly: false, key };
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
  const step = { sessionId: resident.id, turnId, ...run.caller, loadedSkills: new Set<string>(), idempotencyKey: key };
  const result = await runTool(
    run.capabilities.toolbox,
    { callId: id, name, args },
    step,
    signal,
    progress.show,
  ).finally(progress.end);
  signal.throwIfAborted();
  const answer: ToolAnswer =
    result.kind === "pause" ? { kind: "error", reason: "tool", text: `${name} asked instead of writing.` } : result;
  const ms = world.clock.monotonic() - began;
  run.portsMs += ms;
  const outcome = answer.kind;
  const card =
    answer.kind === "ok" ? planCardOf(answer.data, asked.proposal.plan_id ? "updated" : "created") : undefined;
  note(textOf(answer, card), card && { kind: "treatment_plan", data: card });
  resident.audience.show("tool_call_finished", { call_id: id, name, outcome, ms }, turnId);
  world.observe({ type: "tool.finished", sessionId: resident.id, turnId, tool: name, callId: id, outcome, ms });
  if (card) run.live.card({ kind: "treatment_plan", data: card }, commandId);
  if (answer.kind !== "error" || answer.reason !== "auth") return;
  await loginEnded(resident, world);
  throw new AuthRequired();
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

function textOf(answer: ToolAnswer, card: ReturnType<typeof planCardOf>): string {
  if (answer.kind === "error") return notStoredText(answer.text, answer.mayHaveHappened);
  return card ? storedText(card) : UNKNOWN;
}
