import { createHash } from "node:crypto";
import type { Entry } from "../../machines/conversation/entries.ts";
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
  content: Record<string, unknown>;
  /** How much of a text block clients were sent. */
  sent: number;
  state: "open" | "finished" | "absent";
  /** Shown by the model call that runs now: a reset takes it back. */
  tentative: boolean;
};

/** Below this many numbers left, deltas wait for the next reservation; their text is sent then in one. */
export const NUMBERS_KEPT_FOR_ENDINGS = 256;

const textOf = (block: LiveBlock): string => (typeof block.content["text"] === "string" ? block.content["text"] : "");

/** The turn that runs, as clients see it: its blocks grow here, and every change is shown at once. */
export class LiveTurn {
  readonly turnId: TurnId;
  readonly n: number;
  readonly cause: TurnCause;
  readonly input: TurnInput;
  readonly #audience: Audience;
  readonly #uuid: () => string;
  readonly #blocks: LiveBlock[] = [];
  #open: LiveBlock | undefined;

  constructor(
    turn: { turnId: TurnId; n: number; cause: TurnCause; input: TurnInput },
    audience: Audience,
    uuid: () => string,
  ) {
    this.turnId = turn.turnId;
    this.n = turn.n;
    this.cause = turn.cause;
    this.input = turn.input;
    this.#audience = audience;
    this.#uuid = uuid;
  }

  /** Appends to the block that streams, or begins one. Empty text shows nothing. */
  write(stream: Stream, text: string): void {
    if (text.length === 0) return;
    if (this.#open?.type !== stream) {
      this.finishOpen();
      this.#open = this.#begin(stream, { text: "" });
    }
    const block = this.#open;
    block.content = { text: textOf(block) + text };
    if (this.#audience.left > NUMBERS_KEPT_FOR_ENDINGS) this.#send(block, stream);
  }

  /** The model call that showed these blocks is void; another attempt follows. */
  reset(reason: string): void {
    this.#open = undefined;
    for (const block of this.#blocks.filter((b) => b.tentative && b.state !== "absent")) {
      block.state = "absent";
      this.#audience.show("block_reset", { block_id: block.id, attempt: block.attempt, reason }, this.turnId);
    }
  }

  /** The model call ended well: what it showed stays. */
  keepStep(): void {
    this.finishOpen();
    for (const block of this.#blocks) block.tentative = false;
  }

  /** `of`: the call or command it came from. The next owner shows it under the same id, so its buttons stay its own. */
  card(card: CardSignal, of: string): void {
    this.finishOpen();
    const block = this.#begin(card.kind, card.data, this.#cardId(of));
    block.tentative = false;
    this.#audience.show(card.kind, { ...card.data, block_id: block.id }, this.turnId);
    this.#finish(block);
  }

  finishOpen(): void {
    const block = this.#open;
    this.#open = undefined;
    if (block) this.#finish(block);
  }

  /** What is on the screen of the model call that runs, for a turn that is cut short. */
  unkeptText(): string {
    const shown = this.#blocks.filter((block) => block.tentative && block.type === "text" && block.state !== "absent");
    return shown.map(textOf).join("\n\n");
  }

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

  #blank(type: string, content: Record<string, unknown>, id = blockId(this.#uuid())): LiveBlock {
    return { id, idx: this.#blocks.length, type, attempt: 1, content, sent: 0, state: "open", tentative: true };
  }

  /** A reset block of the same type comes back under its id with a higher attempt; else a new one begins. */
  #begin(type: string, content: Record<string, unknown>, id?: BlockId): LiveBlock {
    const isAbsent = (block: LiveBlock) => block.state === "absent" && block.type === type;
    const again = id === undefined ? this.#blocks.find(isAbsent) : undefined;
    const block = again ?? this.#blank(type, content, id);
    if (again) Object.assign(again, { attempt: again.attempt + 1, content, sent: 0, state: "open", tentative: true });
    else this.#blocks.push(block);
    const { idx, attempt } = block;
    this.#audience.show("block_started", { block_id: block.id, idx, type, attempt }, this.turnId);
    return block;
  }

  #send(block: LiveBlock, stream: Stream): void {
    const text = textOf(block).slice(block.sent);
    if (text.length === 0) return;
    const kind = stream === "text" ? "llm_delta" : "thinking_summary";
    this.#audience.show(kind, { block_id: block.id, offset: block.sent, text }, this.turnId);
    block.sent += text.length;
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
