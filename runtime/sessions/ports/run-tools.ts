import {
  type InteractionEntry,
  openCalls,
  type ToolCall,
  type ToolOutcome,
  type ToolResultEntry,
} from "../../../machines/conversation/entries.ts";
import { type CallId, interactionId } from "../../../machines/ids.ts";
import type { PendingInteraction } from "../../../machines/protocol/interactions.ts";
import { LOOP_NOTE, streaks } from "../../../machines/turn/progress.ts";
import type { TurnPorts } from "../../../machines/turn/turn.machine.ts";
import type { StoredIntent } from "../../../persistence/store.ts";
import { runTool, type StepContext } from "../../../tools/execute.ts";
import type { ToolAnswer } from "../../../tools/tool.ts";
import { requestCard } from "../live-turn.ts";
import type { Resident, Run } from "../resident.ts";
import type { World } from "../world.ts";
import { intentOf } from "./ask-model.ts";
import { asking } from "./asking.ts";
import { boundedResult, shareOf } from "./bounded-result.ts";
import { loginEnded } from "./login-ended.ts";
import { subagentShown } from "./subagent-news.ts";
import { progressShown } from "./tool-progress.ts";

const UNKNOWN_OUTCOME =
  "The outcome of this call is unknown: the server restarted after it was sent. It may have had its effect; check before you try again.";

export type Batch = {
  readonly resident: Resident;
  readonly world: World;
  readonly run: Run;
  readonly signal: AbortSignal;
  /** Intents of an owner before us, by call; ours are in `run.made`. */
  readonly inherited: ReadonlyMap<CallId, StoredIntent>;
  readonly step: StepContext;
  /** Characters that each result may have. */
  readonly most: number;
  left: number;
  loginDied: boolean;
  /** A call of this turn has asked the user. */
  paused: boolean;
};

/** Runs a step's calls side by side; each gets exactly one result entry as soon as it is there. */
export function runTools(resident: Resident, world: World): TurnPorts["runTools"] {
  return async ({ turnId, calls }, signal) => {
    await resident.lease.hold(signal);
    const run = resident.running(turnId);
    const began = world.clock.monotonic();
    const wanted = new Set(calls.map((call) => call.callId));
    const open = openCalls(resident.entriesOf(turnId)).filter((call) => wanted.has(call.callId));
    const isOurs = open.every((call) => run.made.has(call.callId));
    const stored = isOurs ? [] : await world.store.histories.intents(resident.id, turnId);
    signal.throwIfAborted();
    const inherited = new Map(stored.map((intent) => [intent.callId, intent]));
    const step = stepOf(resident, run);
    const most = shareOf(Math.max(1, open.length), world.model.window);
    const paused = resident.entriesOf(turnId).some((entry) => entry.kind === "interaction");
    const said = { left: open.length, loginDied: false, paused };
    const batch: Batch = { resident, world, run, signal, inherited, step, most, ...said };
    const ended = await Promise.allSettled(open.map((call) => answer(batch, call)));
    run.portsMs += world.clock.monotonic() - began;
    signal.throwIfAborted();
    for (const end of ended) if (end.status === "rejected") throw end.reason;
    if (batch.loginDied) await loginEnded(resident, world);
    return {
      ms: world.clock.monotonic() - began,
      paused: batch.paused,
      authExpired: batch.loginDied,
      ...streaks(resident.entriesOf(turnId)),
      room: resident.room(world, run),
    };
  };
}

async function answer(batch: Batch, call: ToolCall): Promise<void> {
  const { resident, world, run, signal } = batch;
  const { callId, name } = call;
  const began = world.clock.monotonic();
  const title = run.capabilities.toolbox.find(name)?.title ?? name;
  run.tools.add(name);
  resident.audience.show("tool_call_started", { call_id: callId, name, title }, run.turnId);
  world.observe({ type: "tool.called", sessionId: resident.id, turnId: run.turnId, tool: name, callId });
  const result = await outcomeOf(batch, call);
  const text = await boundedResult(batch, call, result, batch.most);
  // A late result of a state that was left: the settlement has answered the call.
  signal.throwIfAborted();
  const ms = world.clock.monotonic() - began;
  const outcome: ToolOutcome = result.kind;
  appendResult(batch, call, { ...result, text }, outcome);
  resident.audience.show("tool_call_finished", { call_id: callId, name, outcome, ms }, run.turnId);
  world.observe({ type: "tool.finished", sessionId: resident.id, turnId: run.turnId, tool: name, callId, outcome, ms });
  if (result.kind === "error" && result.reason === "auth") batch.loginDied = true;
  if (result.kind !== "ok") return;
  if (result.card) run.live.card(result.card, callId);
  if (result.asks) run.live.card({ kind: "interaction_request", data: requestCard(result.asks) }, callId);
  if (result.skillLoaded !== undefined) {
    run.skills.add(result.skillLoaded);
    resident.audience.show("skill_loaded", { name: result.skillLoaded, eager: false }, run.turnId);
    const skill = result.skillLoaded;
    world.observe({ type: "skill.loaded", sessionId: resident.id, turnId: run.turnId, skill, eager: false });
  }
}

type Outcome =
  | Extract<ToolAnswer, { kind: "error" }>
  /** `asks`: it is the call that ends the turn with a question or a proposal. */
  | (Extract<ToolAnswer, { kind: "ok" }> & { readonly asks?: PendingInteraction })
  | { readonly kind: "unknown"; readonly text: string };

async function outcomeOf(batch: Batch, call: ToolCall): Promise<Outcome> {
  const { resident, run, signal } = batch;
  const tool = run.capabilities.toolbox.find(call.name);
  const isOurs = run.made.has(call.callId);
  const intent = batch.inherited.get(call.callId);
  // What the intent says counts, not what the tool says of itself today. Without one the call was read-only when it was made;
  // it may have been a write all the same, so today's mark is trusted over that one.
  const traits = intent ? { readOnly: false, repeatable: intent.repeatable } : tool?.traits;
  if (!isOurs && traits && !traits.readOnly && !traits.repeatable) return { kind: "unknown", text: UNKNOWN_OUTCOME };
  // One statement has made the call and its intent durable before it leaves (DESIGN §4.5).
  if (traits && !traits.readOnly) {
    if (!isOurs && intent === undefined)
      resident.append(run.turnId, [], { intents: [intentOf(resident, run.turnId, call, traits)] });
    await resident.flush();
    // A Stop that came before the call leaves: the settlement answers it.
    if (await resident.isCancelled(run.turnId)) await aborted(signal);
  }
  signal.throwIfAborted();
  const progress = progressShown(batch, call);
  try {
    const result = await runTool(
      run.capabilities.toolbox,
      call,
      batch.step,
      signal,
      progress.show,
      subagentShown(batch, call),
    );
    return result.kind === "pause" ? await asking(batch, result) : result;
  } finally {
    progress.end();
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

function stepOf(resident: Resident, run: Run): StepContext {
  return {
    sessionId: resident.id,
    turnId: run.turnId,
    ...run.caller,
    loadedSkills: run.capabilities.loadedSkills(resident.ledger.entries),
  };
}

function appendResult(batch: Batch, call: ToolCall, result: Outcome, outcome: ToolOutcome): void {
  const { resident, run, world } = batch;
  const entry: ToolResultEntry = {
    kind: "tool_result",
    turnId: run.turnId,
    callId: call.callId,
    name: call.name,
    outcome,
    text: result.text,
    ...(result.kind === "error" && result.reason === "unknown_tool" && { unknownTool: true }),
    ...(result.kind === "ok" && result.card && { card: result.card }),
    ...(result.kind === "ok" && result.skillLoaded !== undefined && { skill: result.skillLoaded }),
  };
  batch.left -= 1;
  const isLast = batch.left === 0;
  const { repeats } = isLast ? streaks([...resident.entriesOf(run.turnId), entry]) : { repeats: 0 };
  // Told once, one repetition before the limit.
  const isTold = repeats === world.settings.limits.repeats - 1;
  const told = isTold ? { ...entry, text: entry.text + LOOP_NOTE } : entry;
  const asks: readonly InteractionEntry[] =
    result.kind === "ok" && result.asks
      ? [
          {
            kind: "interaction",
            turnId: run.turnId,
            interactionId: interactionId(result.asks.id),
            callId: call.callId,
            pending: result.asks,
          },
        ]
      : [];
  // Of a read-only call there is no intent that could end.
  const isReadOnly = run.capabilities.toolbox.find(call.name)?.traits.readOnly ?? true;
  const finished = isReadOnly && !batch.inherited.has(call.callId) ? [] : [call.callId];
  resident.append(run.turnId, [told, ...asks], { finished });
}
