import { threshold } from "../../../machines/compaction/compaction.rules.ts";
import { type Fixed, measureOf, partsTotal } from "../../../machines/conversation/budget.ts";
import { type AssistantEntry, callsOf, type ToolCall } from "../../../machines/conversation/entries.ts";
import { Failure, failureCode } from "../../../machines/failure.ts";
import type { TurnId } from "../../../machines/ids.ts";
import type { ModelEvent, ModelRequest } from "../../../machines/model.ts";
import type { TurnPorts } from "../../../machines/turn/turn.machine.ts";
import type { Intent } from "../../../persistence/store.ts";
import type { ToolTraits } from "../../../tools/tool.ts";
import { mediaFor } from "../attachments.ts";
import type { Resident, Run } from "../resident.ts";
import type { World } from "../world.ts";

type Ended = Extract<ModelEvent, { type: "end" }>;

/** The model was given no tools and called one all the same, and said nothing. */
export class NothingSaid extends Failure {
  readonly code = "empty_response";
  readonly retryable = true;
  constructor() {
    super("the model's final answer has no text; the turn ends with a fixed one");
  }
}

/** One model call: text streams past the chart to the clients; what it came to is appended. */
export function askModel(resident: Resident, world: World): TurnPorts["askModel"] {
  return async ({ turnId, step, final }, signal) => {
    await resident.lease.hold(signal);
    signal.throwIfAborted();
    const run = resident.running(turnId);
    // A step ends with the tools it was given; the next is given what there is by then.
    if (step > 1 && !final) run.capabilities = (await run.capabilities.relisted?.(signal)) ?? run.capabilities;
    const media = await mediaFor(resident, world, run);
    signal.throwIfAborted();
    const request: ModelRequest = {
      system: run.capabilities.system,
      tools: final ? [] : run.capabilities.toolbox.tools,
      entries: [...resident.ledger.entries],
      ...(media.size > 0 && { media }),
      maxOutputTokens: world.settings.maxOutputTokens,
      thinking: true,
    };
    const fixed = final ? { ...run.capabilities.fixed, tools: 0 } : run.capabilities.fixed;
    const estimated = resident.ledger.estimated(fixed);
    showBudget(resident, world, run.turnId, fixed);
    const asked = world.clock.monotonic();
    const note = noteCall(resident, world, run, step, asked);
    let end: Ended;
    try {
      end = await stream(resident, world, run, request, signal);
      // Closing a stream takes its time: the settlement may have begun meanwhile and kept what was shown.
      signal.throwIfAborted();
    } catch (error) {
      note(signal.aborted ? "cancelled" : "failed", undefined, error);
      throw error;
    }
    const ms = world.clock.monotonic() - asked;
    note("ok", end, undefined);
    const measured = measureOf(end.usage, estimated);
    const entry: AssistantEntry = {
      kind: "assistant",
      turnId,
      step,
      issuer: end.issuer,
      profile: end.profile,
      // A final answer has no tools: a call in it could not run, and history would owe it a result for ever.
      parts: final ? end.parts.filter((part) => part.kind !== "tool_call") : end.parts,
      ...(end.truncated && { truncated: true }),
      ...(measured && { measured }),
    };
    run.profile = end.profile;
    addUsage(run, end);
    if (final && !entry.parts.some((part) => part.kind === "text" && part.text.trim() !== "")) throw new NothingSaid();
    run.live.keepStep();
    const calls = callsOf(entry);
    for (const call of calls) run.made.add(call.callId);
    resident.append(turnId, [entry], { intents: intentsOf(resident, run, entry) });
    resident.ledger.measure(fixed);
    return {
      calls: calls.map(({ callId, name }) => ({ callId, name })),
      ms,
      tokens: end.usage.output + end.usage.thinking,
      truncated: end.truncated,
      room: resident.room(world, run),
    };
  };
}

async function stream(
  resident: Resident,
  world: World,
  run: Run,
  request: ModelRequest,
  signal: AbortSignal,
): Promise<Ended> {
  for await (const event of world.model.stream(request, signal)) {
    // The step is dead as soon as its state is left: nothing of it may be shown or stored any more.
    signal.throwIfAborted();
    switch (event.type) {
      case "text":
        run.live.write("text", event.delta);
        break;
      case "thinking":
        run.live.write("thinking", event.delta);
        break;
      case "reset":
        run.live.reset(event.reason);
        break;
      case "end":
        return event;
    }
    resident.topUpNumbers(run.turnId);
  }
  throw new TypeError(`model ${world.model.name} ended its stream without an end`);
}

/** None of a read-only call, nor of a tool that does not exist: it never leaves. */
function intentsOf(resident: Resident, run: Run, entry: AssistantEntry): Intent[] {
  return callsOf(entry).flatMap((call) => {
    const traits = run.capabilities.toolbox.find(call.name)?.traits;
    return traits && !traits.readOnly ? [intentOf(resident, entry.turnId, call, traits)] : [];
  });
}

/** Of a call that is not read-only. */
export function intentOf(
  resident: Resident,
  turnId: TurnId,
  { callId, name }: ToolCall,
  { repeatable }: Pick<ToolTraits, "repeatable">,
): Intent {
  return { turnId, callId, name, repeatable, key: `${resident.id}.${turnId}.${callId}` };
}

function addUsage(run: Run, { usage }: Ended): void {
  run.usage = {
    input: run.usage.input + usage.input,
    output: run.usage.output + usage.output,
    thinking: run.usage.thinking + usage.thinking,
    cached: run.usage.cached + usage.cached,
  };
}

/** Tells log, metrics and the audit rows of one model call. A row that can't be stored never fails the turn. */
function noteCall(resident: Resident, world: World, run: Run, step: number, asked: number) {
  return (outcome: "ok" | "failed" | "cancelled", end: Ended | undefined, error: unknown): void => {
    const ms = world.clock.monotonic() - asked;
    run.portsMs += ms;
    const profile = end?.profile ?? world.model.name;
    const usage = end?.usage ?? { input: 0, output: 0, thinking: 0, cached: 0 };
    world.observe({
      type: "model.called",
      sessionId: resident.id,
      turnId: run.turnId,
      profile,
      step,
      outcome,
      ms,
      ...(end && { usage }),
      ...(error !== undefined && { code: failureCode(error) }),
    });
    const row = { sessionId: resident.id, turnId: run.turnId, step, attempt: 1, profile, usage, ms };
    const issuer = end?.issuer ?? world.model.issuer;
    const detail = error === undefined ? outcome : failureCode(error);
    void world.store.calls.record([{ ...row, issuer, outcome: detail, projector: world.model.projector }]);
  };
}

/** What is sent now, by part, against the window. */
function showBudget(resident: Resident, world: World, turnId: TurnId, fixed: Fixed): void {
  const parts = resident.ledger.parts(fixed);
  const { window } = world.model;
  const data = { used: partsTotal(parts), window, threshold: threshold(window), parts };
  resident.audience.show("context_budget", data, turnId);
}
