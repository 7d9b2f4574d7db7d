import { isCardKind } from "../../machines/protocol/cards.ts";
import type { PendingInteraction } from "../../machines/protocol/interactions.ts";
import { isNumbered, type NumberedSignal, type Signal, type SignalData } from "../../machines/protocol/signals.ts";
import type { Block, SessionState, Turn } from "../../machines/protocol/turns.ts";
import { type AguiEvent, type ForeignMessage, type Outcome, PROTOCOL_VERSION, type TokenUsage } from "./events.ts";
import { interruptOf } from "./interrupts.ts";
import { isStream, RunMessages } from "./run-messages.ts";
import { Subagents } from "./subagents.ts";

export type RunFacts = {
  readonly threadId: string;
  readonly runId: string;
  readonly sessionId: string;
  readonly turnId: string;
  readonly messages: readonly ForeignMessage[];
  /** Fields of the input that were not used. */
  readonly ignored: readonly string[];
};

type Completed = SignalData<"turn_completed">;
const COMPACTION = "compaction";

/**
 * One turn of a session told as one AG-UI run: signals in, events out, in an order that the protocol allows. Of a
 * session it tells only this turn; after the run's last event it says nothing more.
 */
export class RunEvents {
  readonly #facts: RunFacts;
  readonly #out: (event: AguiEvent) => void;
  readonly #messages: RunMessages;
  readonly #subagents: Subagents;
  readonly #cards = new Set<string>();
  #at: number | undefined;
  #isRunning = false;
  #isCompacting = false;
  #completed: Completed | undefined;
  #pending: PendingInteraction | null = null;
  #isOver = false;

  constructor(facts: RunFacts, out: (event: AguiEvent) => void) {
    this.#facts = facts;
    this.#out = out;
    const emit = (event: AguiEvent) => this.#emit(event);
    this.#messages = new RunMessages(facts.turnId, facts.messages, emit);
    this.#subagents = new Subagents(emit);
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Opens the run. `stored`: what there is of its turn already, when the run is taken up again. */
  begin(stored?: { readonly turn: Turn; readonly state: SessionState }): void {
    const { threadId, runId, ignored } = this.#facts;
    this.#emit({ type: "RUN_STARTED", threadId, runId, protocolVersion: PROTOCOL_VERSION });
    if (ignored.length > 0) this.#custom("input_ignored", { fields: ignored });
    this.#tellState();
    if (stored !== undefined) this.#restate(stored.turn, stored.state);
  }

  /** A run that can't begin: the protocol knows only runs that began and failed. */
  refuse(code: string, message: string): void {
    const { threadId, runId } = this.#facts;
    this.#emit({ type: "RUN_STARTED", threadId, runId, protocolVersion: PROTOCOL_VERSION });
    this.fail(code, message);
  }

  hear(signal: Signal): void {
    if (this.#isOver) return;
    this.#at = Date.parse(signal.at);
    if (isNumbered(signal)) {
      if (signal.turn_id === undefined || signal.turn_id === this.#facts.turnId) this.#hearNumbered(signal);
    } else if (signal.kind === "resync") this.#resync(signal.data);
  }

  /** Ends a run of which nothing more will come here. */
  fail(code: string, message: string): void {
    this.#end({ type: "RUN_ERROR", code, message });
  }

  /** Ends a run whose turn was withdrawn before it began, or was stopped. */
  cancel(): void {
    this.#finish({ type: "cancelled" }, "cancelled");
  }

  /** The session sleeps, so a turn that did not begin never will: it was withdrawn. */
  asleep(): void {
    if (!this.#isRunning) this.cancel();
  }

  #hearNumbered(signal: NumberedSignal): void {
    if (signal.kind === "turn_started") this.#isRunning = true;
    if (signal.kind === "turn_cancelled") this.cancel();
    // What has no turn belongs to the one that runs, and that may be another.
    else if (this.#isRunning) this.#tell(signal);
  }

  #tell(signal: Exclude<NumberedSignal, { kind: "turn_cancelled" }>): void {
    switch (signal.kind) {
      case "block_started":
        if (isStream(signal.data.type))
          this.#messages.start(signal.data.block_id, signal.data.type, signal.data.attempt);
        break;
      case "llm_delta":
        this.#messages.write(signal.data.block_id, "text", signal.data.offset, signal.data.text);
        break;
      case "thinking_summary":
        this.#messages.write(signal.data.block_id, "thinking", signal.data.offset, signal.data.text);
        break;
      case "block_finished":
        this.#finishBlock(signal.data);
        break;
      case "block_reset":
        this.#cards.delete(signal.data.block_id);
        this.#custom(signal.kind, signal.data);
        this.#messages.reset(signal.data.block_id);
        break;
      case "tool_call_started":
        this.#messages.call(signal.data.call_id, signal.data.name);
        break;
      case "tool_call_finished":
        this.#messages.answer(signal.data.call_id, signal.data.name, signal.data.outcome);
        break;
      case "subagent_started":
        this.#subagents.start(signal.data);
        break;
      case "subagent_finished":
        this.#subagents.finish(signal.data);
        break;
      case "compaction_started":
        this.#compact(true);
        break;
      case "compaction_finished":
        this.#compact(false);
        this.#custom(signal.kind, signal.data);
        break;
      case "state_changed":
        this.#stateChanged(signal.data.pending_interaction);
        break;
      case "turn_completed":
        this.#turnCompleted(signal.data);
        break;
      case "turn_failed":
        this.fail(signal.data.code, signal.data.message);
        break;
      case "turn_started":
      case "queue_changed":
        break;
      default:
        // Cards and what else has no form of its own in the protocol: the signal as it is.
        if ("block_id" in signal.data) this.#cards.add(signal.data.block_id);
        this.#custom(signal.kind, signal.data);
    }
  }

  #finishBlock(block: Block): void {
    if (isStream(block.type)) this.#messages.finish(block, block.type);
    else if (isCardKind(block.type) && !this.#cards.has(block.block_id)) this.#card(block);
  }

  #card({ block_id, type, content }: Block): void {
    this.#cards.add(block_id);
    this.#custom(type, { ...content, block_id });
  }

  #compact(begins: boolean): void {
    if (begins === this.#isCompacting) return;
    this.#isCompacting = begins;
    this.#emit({ type: begins ? "STEP_STARTED" : "STEP_FINISHED", stepName: COMPACTION });
  }

  /** Right after a turn that ended with a question, this says which. */
  #stateChanged(pending: PendingInteraction | null): void {
    const isNews = JSON.stringify(pending) !== JSON.stringify(this.#pending);
    this.#pending = pending;
    if (isNews) this.#tellState();
    if (this.#completed !== undefined) this.#complete(this.#completed);
  }

  #turnCompleted(completed: Completed): void {
    if (completed.outcome === "awaiting" && this.#pending === null) this.#completed = completed;
    else this.#complete(completed);
  }

  #complete({ reason, usage, ms, steps }: Completed): void {
    const result = { turn_id: this.#facts.turnId, steps, ms, ...(reason !== undefined && { reason }) };
    this.#finish(this.#outcome(), "unknown", { result, usage: [usageOf(usage)] });
  }

  #outcome(): Outcome {
    if (this.#pending !== null) return { type: "interrupt", interrupts: [interruptOf(this.#pending)] };
    return { type: "success", pendingToolCallIds: [] };
  }

  /** A new owner of the session: what the former one had streamed and not stored is void. */
  #resync({ turns, state }: SignalData<"resync">): void {
    const turn = turns.find(({ turn_id }) => turn_id === this.#facts.turnId);
    if (turn !== undefined) this.#restate(turn, state);
    else if (state.queue.some(({ turn_id }) => turn_id === this.#facts.turnId)) this.#isRunning = false;
    else if (this.#isRunning) this.fail("interrupted", "the turn is not there any more");
  }

  #restate(turn: Turn, state: SessionState): void {
    this.#isRunning = true;
    this.#cards.clear();
    this.#messages.restate(turn.blocks);
    for (const block of turn.blocks) if (isCardKind(block.type)) this.#card(block);
    if (turn.outcome === undefined) return;
    const isOpen = turn.outcome === "awaiting" && state.status === "awaiting";
    if (isOpen) this.#stateChanged(state.pending_interaction);
    const result = { turn_id: turn.turn_id, ...(turn.reason !== undefined && { reason: turn.reason }) };
    if (turn.outcome === "cancelled") this.cancel();
    else if (turn.outcome === "failed") this.fail(turn.reason ?? "interrupted", "the turn failed; send a new message");
    else this.#finish(this.#outcome(), "unknown", { result });
  }

  #finish(
    outcome: Outcome,
    ofCalls: string,
    spent: { readonly result?: unknown; readonly usage?: readonly TokenUsage[] } = {},
  ): void {
    if (this.#isOver) return;
    this.#messages.closeAll(ofCalls);
    this.#subagents.closeAll();
    this.#compact(false);
    const { threadId, runId } = this.#facts;
    this.#end({ type: "RUN_FINISHED", threadId, runId, outcome, ...spent });
  }

  #end(event: AguiEvent): void {
    this.#emit(event);
    this.#isOver = true;
  }

  #tellState(): void {
    const { sessionId: session_id, turnId: turn_id } = this.#facts;
    this.#emit({ type: "STATE_SNAPSHOT", snapshot: { session_id, turn_id, pending_interaction: this.#pending } });
  }

  #custom(name: string, value: unknown): void {
    this.#emit({ type: "CUSTOM", name, value });
  }

  #emit(event: AguiEvent): void {
    if (!this.#isOver) this.#out(this.#at === undefined ? event : { ...event, timestamp: this.#at });
  }
}

/** Thinking is a part of the output there and beside it here; what was cached is a part of the input in both. */
function usageOf({ input, output, thinking, cached }: Completed["usage"]): TokenUsage {
  return {
    inputTokens: input,
    outputTokens: output + thinking,
    totalTokens: input + output + thinking,
    reasoningTokens: thinking,
    cachedInputTokens: cached,
  };
}
