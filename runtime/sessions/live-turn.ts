import { createHash } from "node:crypto";
import type { Entry } from "../../machines/conversation/entries.ts";
import type { Clock } from "../../machines/effects.ts";
import { type BlockId, blockId, type TurnId } from "../../machines/ids.ts";
import type { CardData, CardSignal } from "../../machines/protocol/cards.ts";
import type { PendingInteraction } from "../../machines/protocol/interactions.ts";
import type { Block, Turn, TurnCause, TurnInput, TurnOutcome } from "../../machines/protocol/turns.ts";
import type { Audience } from "./audience.ts";

type Stream = "text" | "thinking";
type LiveBlock = {
  readonly id: BlockId;
  readonly idx: number;
  readonly type: string;
  attempt: number;
  /** What clients hold of it. */
  content: Record<string, unknown>;
  state: "open" | "finished" | "absent";
  /** Shown by the model call that runs now: a reset takes it back. */
  tentative: boolean;
};

/** Below this many numbers left, deltas wait for the next reservation; their text is sent then in one. */
export const NUMBERS_KEPT_FOR_ENDINGS = 256;

const textOf = (block: LiveBlock): string => (typeof block.content["text"] === "string" ? block.content["text"] : "");

type Effects = {
  readonly uuid: () => string;
  readonly soon: Clock["soon"];
  /** Aborted when this owner's part of the turn has ended: numbers are not its to use any more. */
  readonly over: AbortSignal;
};

/**
 * The turn that runs, as clients see it: its blocks grow here. Every change is shown at once, but text of one block that
 * comes within one turn of the event loop is one signal at its end.
 */
export class LiveTurn {
  readonly turnId: TurnId;
  readonly n: number;
  readonly cause: TurnCause;
  readonly input: TurnInput;
  readonly #audience: Audience;
  readonly #effects: Effects;
  readonly #blocks: LiveBlock[] = [];
  #open: LiveBlock | undefined;
  /** Text of the open block that no signal has carried yet: it is in no snapshot either, so that those agree with the numbers. */
  #unsent = "";
  #isFlushAsked = false;
  /**
   * Of text that left between two calls. The next one throws it, so that it fails this turn and not the process; a reset
   * and the settlement drop it: what it befell is void, or the turn has its ending already.
   */
  #fault: { readonly error: unknown } | undefined;

  constructor(
    turn: { turnId: TurnId; n: number; cause: TurnCause; input: TurnInput },
    audience: Audience,
    effects: Effects,
  ) {
    this.turnId = turn.turnId;
    this.n = turn.n;
    this.cause = turn.cause;
    this.input = turn.input;
    this.#audience = audience;
    this.#effects = effects;
  }

  /** Appends to the block that streams, or begins one. Empty text shows nothing. */
  write(stream: Stream, text: string): void {
    this.#tellFault();
    if (text.length === 0) return;
    if (this.#open?.type !== stream) {
      this.finishOpen();
      this.#open = this.#begin(stream, { text: "" });
    }
    this.#unsent += text;
    this.#flushSoon();
  }

  /** The model call that showed these blocks is void; another attempt follows. */
  reset(reason: string): void {
    this.#fault = undefined;
    this.#open = undefined;
    this.#unsent = "";
    for (const block of this.#blocks.filter((b) => b.tentative && b.state !== "absent")) {
      block.state = "absent";
      this.#audience.show("block_reset", { block_id: block.id, attempt: block.attempt, reason }, this.turnId);
    }
  }

  /** The model call ended well: what it showed stays. */
  keepStep(): void {
    this.#tellFault();
    this.finishOpen();
    for (const block of this.#blocks) block.tentative = false;
  }

  /** `of`: the call or command it came from. The next owner shows it under the same id, so its buttons stay its own. */
  card(card: CardSignal, of: string): void {
    this.#tellFault();
    this.finishOpen();
    const block = this.#begin(card.kind, card.data, this.#cardId(of));
    block.tentative = false;
    this.#audience.show(card.kind, { ...card.data, block_id: block.id }, this.turnId);
    this.#finish(block);
  }

  /** The settlement's: nothing kept from before is thrown, and the final form brings what was not sent. */
  finishOpen(): void {
    this.#fault = undefined;
    this.#flush();
    const block = this.#open;
    this.#open = undefined;
    if (block === undefined) return;
    // Numbers may have been too few for it: the final form brings it.
    this.#take(block);
    this.#finish(block);
  }

  /** What is on the screen of the model call that runs, for a turn that is cut short. */
  unkeptText(): string {
    const shown = this.#blocks.filter((block) => block.tentative && block.type === "text" && block.state !== "absent");
    return shown.map(textOf).join("\n\n");
  }

  /** As far as the signals up to the audience's next number tell it. */
  snapshot(ending?: { outcome: TurnOutcome; reason?: string | undefined }): Turn {
    return {
      turn_id: this.turnId,
      n: this.n,
      cause: this.cause,
      input: this.input,
      ...(ending && { outcome: ending.outcome, ...(ending.reason !== undefined && { reason: ending.reason }) }),
      blocks: this.#blocks.filter((block) => block.state !== "absent").map(stored),
    };
  }

  /** Rebuilds the blocks of a turn that another owner began, from what it made durable; nothing is sent. */
  restore(entries: readonly Entry[]): void {
    const add = (type: string, content: Record<string, unknown>, id?: BlockId) => {
      this.#blocks.push({ ...this.#blank(type, content, id), state: "finished", tentative: false });
    };
    for (const entry of entries) {
      if (entry.kind === "tool_result" && entry.card) add(entry.card.kind, entry.card.data, this.#cardId(entry.callId));
      if (entry.kind === "action" && entry.card) add(entry.card.kind, entry.card.data, this.#cardId(entry.commandId));
      if (entry.kind === "interaction")
        add("interaction_request", requestCard(entry.pending), this.#cardId(entry.callId));
      if (entry.kind !== "assistant") continue;
      for (const part of entry.parts) {
        if (part.kind === "text" && part.text) add("text", { text: part.text });
        if (part.kind === "reasoning" && part.text) add("thinking", { text: part.text });
      }
    }
  }

  /** A call id may come again in a later step. */
  #cardId(of: string): BlockId {
    for (let at = 1; ; at += 1) {
      const id = idFrom(`${this.turnId} ${of} ${at}`);
      if (this.#blocks.every((block) => block.id !== id)) return id;
    }
  }

  #blank(type: string, content: Record<string, unknown>, id = blockId(this.#effects.uuid())): LiveBlock {
    return { id, idx: this.#blocks.length, type, attempt: 1, content, state: "open", tentative: true };
  }

  /** A reset block of the same type comes back under its id with a higher attempt; else a new one begins. */
  #begin(type: string, content: Record<string, unknown>, id?: BlockId): LiveBlock {
    const isAbsent = (block: LiveBlock) => block.state === "absent" && block.type === type;
    const again = id === undefined ? this.#blocks.find(isAbsent) : undefined;
    const block = again ?? this.#blank(type, content, id);
    if (again) Object.assign(again, { attempt: again.attempt + 1, content, state: "open", tentative: true });
    else this.#blocks.push(block);
    const { idx, attempt } = block;
    this.#audience.show("block_started", { block_id: block.id, idx, type, attempt }, this.turnId);
    return block;
  }

  #flushSoon(): void {
    if (this.#isFlushAsked) return;
    this.#isFlushAsked = true;
    this.#effects.soon(() => {
      this.#isFlushAsked = false;
      if (this.#effects.over.aborted) return;
      try {
        this.#flush();
      } catch (error) {
        this.#fault = { error };
      }
    });
  }

  /** Once: the turn that it fails is settled then. */
  #tellFault(): void {
    const fault = this.#fault;
    this.#fault = undefined;
    if (fault !== undefined) throw fault.error;
  }

  /** Sends what the open block has grown by. */
  #flush(): void {
    const block = this.#open;
    if (block === undefined || this.#unsent === "" || this.#audience.left <= NUMBERS_KEPT_FOR_ENDINGS) return;
    const kind = block.type === "text" ? "llm_delta" : "thinking_summary";
    const offset = textOf(block).length;
    const text = this.#take(block);
    this.#audience.show(kind, { block_id: block.id, offset, text }, this.turnId);
  }

  #take(block: LiveBlock): string {
    const text = this.#unsent;
    this.#unsent = "";
    if (text !== "") block.content = { text: textOf(block) + text };
    return text;
  }

  #finish(block: LiveBlock): void {
    block.state = "finished";
    this.#audience.show("block_finished", stored(block), this.turnId);
  }
}

/** A question or proposal as its card shows it. */
export function requestCard({ id, schema: _, ...pending }: PendingInteraction): CardData<"interaction_request"> {
  return { interaction_id: id, ...pending };
}

/** Always the same for the same seed, in the form of a uuid. */
function idFrom(seed: string): BlockId {
  const hex = createHash("sha256").update(seed).digest("hex");
  const parts = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ];
  return blockId(parts.join("-"));
}

function stored(block: LiveBlock): Block {
  return { block_id: block.id, idx: block.idx, type: block.type, content: block.content, attempt: block.attempt };
}
