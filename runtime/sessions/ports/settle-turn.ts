import { isWorthDrafting } from "../../../machines/compaction/compaction.rules.ts";
import { type Entry, openCalls, type ToolOutcome } from "../../../machines/conversation/entries.ts";
import { closedText, unresolved } from "../../../machines/conversation/interactions.ts";
import { never } from "../../../machines/failure.ts";
import type { PendingInteraction } from "../../../machines/protocol/interactions.ts";
import { type EndReason, type TurnFailureCode, turnFailureCode } from "../../../machines/protocol/signals.ts";
import type { TurnPorts } from "../../../machines/turn/turn.machine.ts";
import type { Ending } from "../../../machines/turn/turn.rules.ts";
import { showClosed } from "../closed.ts";
import type { Resident, Run } from "../resident.ts";
import type { World } from "../world.ts";
import { type Answered, answeredIn, failureWords } from "./failure-words.ts";
import { workOf } from "./make-room.ts";
import { outcomeOwed } from "./store-accepted.ts";

/** The answer of a turn that reached a limit and could not be given a final answer by the model. */
const CONCLUSIONS: Readonly<Record<EndReason, string>> = {
  step_limit: "I stopped here: this took as many steps as one answer may. Send another message and I will go on.",
  time_limit: "I stopped here: this took as long as one answer may. Send another message and I will go on.",
  token_limit: "I stopped here: this became as long as one answer may be. Send another message and I will go on.",
  tool_loop: "I stopped here: I kept making the same call without getting any further. Please try other words.",
  truncated: "I stopped here: the answer was cut off.",
};

/** Answers what is open, stores the turn in one statement, then tells the clients. Exactly once per turn. */
export function settleTurn(resident: Resident, world: World): TurnPorts["settleTurn"] {
  return async ({ turnId, ending: given, steps, ms, mayDraft }, signal) => {
    const run = resident.running(turnId);
    // A cancel that was durable before this began wins, though the chart had not heard of it.
    const isCancelled = (await resident.cancelling)?.includes(turnId) === true;
    const ending: Ending = isCancelled ? { outcome: "cancelled" } : given;
    run.live.finishOpen();
    const partial = run.live.unkeptText();
    const conclusion = conclusionOf(ending);
    run.live.write("text", conclusion);
    run.live.finishOpen();
    const last = closingEntries(resident, world, run, ending, [partial, conclusion]);
    for (const entry of last) showCancelled(resident, entry);
    const reason =
      ending.outcome === "completed" ? ending.reason : ending.outcome === "failed" ? codeOf(ending) : undefined;
    const turn = { ...run.live.snapshot(), outcome: ending.outcome, ...(reason !== undefined && { reason }) };
    const answered = answeredIn(resident.rows.get(turnId), [...resident.entriesOf(turnId), ...last]);
    const asks = ending.outcome === "awaiting" ? unresolved(resident.entriesOf(turnId)) : undefined;
    const { isOpen } = await resident.settle(turnId, last, turn, asks);
    // The actor is gone: whoever goes on from what is stored tells the clients.
    signal.throwIfAborted();
    resident.run = undefined;
    resident.ended(turnId);
    resident.audience.settled += 1;
    const wall = world.clock.monotonic() - run.startedAt;
    announce(resident, run, ending, { steps, ms: Math.max(ms, wall), answered });
    showState(resident, asks?.pending, isOpen, world.clock.now());
    record(resident, world, run, ending, { steps, ms: wall });
    if (mayDraft) prepareSummary(resident, world, run);
  };
}

/** Ahead of time, and nobody waits for it: the next turn that needs room finds it made. */
function prepareSummary(resident: Resident, world: World, run: Run): void {
  const room = resident.room(world, run);
  const work = isWorthDrafting(room) ? workOf(resident, world, run.turnId, undefined) : undefined;
  if (work !== undefined) world.drafts?.prepare(work);
}

/** History stays valid whatever ended the turn: each call has its result, and what was said is kept. */
function closingEntries(
  resident: Resident,
  world: World,
  run: Run,
  ending: Ending,
  texts: readonly [partial: string, conclusion: string],
): readonly Entry[] {
  const { turnId } = run;
  const outcome: ToolOutcome = ending.outcome === "cancelled" ? "cancelled" : "error";
  const text = ending.outcome === "cancelled" ? "cancelled by user" : "not run: the turn ended before";
  const results = openCalls(resident.entriesOf(turnId)).map(
    ({ callId, name }): Entry => ({ kind: "tool_result", turnId, callId, name, outcome, text }),
  );
  const ended = [...outcomeOwed(resident, run), ...results, ...withdrawal(resident, run, ending)];
  const said = texts.filter((one) => one.trim() !== "");
  if (said.length === 0) return ended;
  const step = resident.entriesOf(turnId).filter((entry) => entry.kind === "assistant").length + 1;
  return [
    ...ended,
    {
      kind: "assistant",
      turnId,
      step,
      issuer: world.model.issuer,
      profile: run.profile ?? "none",
      parts: said.map((one) => ({ kind: "text", text: one })),
      truncated: true,
    },
  ];
}

/** A question of a turn that was cut short is never put: nobody can answer it. */
function withdrawal(resident: Resident, { turnId }: Run, ending: Ending): readonly Entry[] {
  const asked = ending.outcome === "awaiting" ? undefined : unresolved(resident.entriesOf(turnId));
  if (asked === undefined) return [];
  const { interactionId, pending } = asked;
  return [{ kind: "resolution", turnId, interactionId, by: "superseded", text: closedText(pending, "superseded") }];
}

const conclusionOf = (ending: Ending): string =>
  ending.outcome === "completed" && ending.unanswered === true ? CONCLUSIONS[ending.reason ?? "step_limit"] : "";

function showCancelled(resident: Resident, entry: Entry): void {
  if (entry.kind !== "tool_result") return;
  const { callId: call_id, name, outcome } = entry;
  resident.audience.show("tool_call_finished", { call_id, name, outcome, ms: 0 }, entry.turnId);
}

/** Codes of the model routes, as clients know them. A refused request is our own bug and not in the list. */
const OUTAGES: ReadonlySet<string> = new Set([
  "overloaded",
  "throttled",
  "unreachable",
  "stalled",
  "stream_error",
  "truncated_stream",
  "not_found",
  "unauthorized",
]);

function codeOf({ code }: Extract<Ending, { outcome: "failed" }>): TurnFailureCode {
  if (OUTAGES.has(code)) return "model_unavailable";
  if (code === "output_budget_exhausted" || code.startsWith("unknown_finish_reason")) return "empty_response";
  const known = turnFailureCode.safeParse(code);
  return known.success ? known.data : "interrupted";
}

type Announced = { readonly steps: number; readonly ms: number; readonly answered: Answered | undefined };

function announce(resident: Resident, run: Run, ending: Ending, { steps, ms, answered }: Announced): void {
  const { audience } = resident;
  const turn_id = run.turnId;
  switch (ending.outcome) {
    case "completed":
    case "awaiting": {
      const reason = ending.outcome === "completed" && ending.reason !== undefined ? { reason: ending.reason } : {};
      const done = { turn_id, outcome: ending.outcome, ...reason, usage: run.usage, ms, steps };
      audience.show("turn_completed", done, turn_id);
      break;
    }
    case "cancelled":
      audience.show("turn_cancelled", { turn_id }, turn_id);
      break;
    case "failed": {
      const code = codeOf(ending);
      const message = failureWords(code, answered);
      audience.show("turn_failed", { turn_id, code, message, retryable: ending.retryable }, turn_id);
      break;
    }
    default:
      never(ending);
  }
}

/** A turn that waits behind this one has closed the question, whether the statement knew of it or not. */
function showState(resident: Resident, asked: PendingInteraction | undefined, isOpen: boolean, now: number): void {
  const { audience, rows } = resident;
  const isAsked = asked !== undefined && isOpen && rows.size === 0;
  if (asked !== undefined && !isAsked) showClosed(audience, asked, [...rows.values()], now);
  audience.showState(isAsked ? "awaiting" : "resting", isAsked ? asked : null);
}

function record(
  resident: Resident,
  world: World,
  run: Run,
  ending: Ending,
  { steps, ms }: { steps: number; ms: number },
) {
  const turn = { sessionId: resident.id, turnId: run.turnId };
  if (ending.outcome !== "failed") {
    const reason = ending.outcome === "completed" && ending.reason !== undefined ? { reason: ending.reason } : {};
    world.observe({ type: "turn.ended", ...turn, outcome: ending.outcome, ...reason, steps, ms, portsMs: run.portsMs });
    return;
  }
  world.observe({
    type: "turn.failed",
    ...turn,
    code: ending.code,
    retryable: ending.retryable,
    ms,
    context: {
      step: steps,
      tools: [...run.tools],
      skills: [...run.skills],
      ...(run.profile !== undefined && { profile: run.profile }),
    },
  });
}
