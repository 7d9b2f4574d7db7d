import type { Block } from "../../machines/protocol/turns.ts";
import type { AguiEvent, ForeignMessage, Message } from "./events.ts";

type Written = { readonly id: string; readonly stream: Stream; text: string; open: boolean };
export type Stream = "text" | "thinking";

export const isStream = (type: string): type is Stream => type === "text" || type === "thinking";
const textOf = ({ content }: Block): string => (typeof content["text"] === "string" ? content["text"] : "");
/**
 * The messages of one run, as they are written. AG-UI can only append to a message, so what is taken back or turns out
 * otherwise is stated anew as a whole: `MESSAGES_SNAPSHOT`, the client's own conversation with this run's messages.
 */
export class RunMessages {
  readonly #turnId: string;
  readonly #emit: (event: AguiEvent) => void;
  readonly #theirs: readonly ForeignMessage[];
  readonly #blocks = new Map<string, Written>();
  readonly #calls = new Map<string, { readonly name: string; answer?: string }>();
  /** Ids of this run's messages in the order they began: a block's message, or a call's. */
  readonly #order: { readonly block?: string; readonly call?: string }[] = [];

  constructor(turnId: string, theirs: readonly ForeignMessage[], emit: (event: AguiEvent) => void) {
    this.#turnId = turnId;
    this.#theirs = theirs;
    this.#emit = emit;
  }

  start(blockId: string, stream: Stream, attempt: number): void {
    this.#open(this.#block(blockId, stream, attempt));
  }

  /** `offset`: where in the block's text this begins. What the client has already is left out. */
  write(blockId: string, stream: Stream, offset: number, text: string): void {
    const block = this.#block(blockId, stream, 1);
    this.#append(block, text.slice(Math.max(0, block.text.length - offset)));
  }

  /** The final form of a text block. */
  finish(stored: Block, stream: Stream): void {
    const block = this.#block(stored.block_id, stream, stored.attempt);
    const text = textOf(stored);
    const isOther = !text.startsWith(block.text);
    if (!isOther) this.#append(block, text.slice(block.text.length));
    block.text = text;
    this.#close(block);
    if (isOther) this.snapshot();
  }

  /** Takes a block's text back. */
  reset(blockId: string): void {
    const block = this.#blocks.get(blockId);
    if (block === undefined) return;
    this.#close(block);
    this.#blocks.delete(blockId);
    this.#order.splice(
      this.#order.findIndex((one) => one.block === blockId),
      1,
    );
    this.snapshot();
  }

  /** A call, at once with its end: the arguments are not on this server's wire, so nothing of them follows. */
  call(callId: string, name: string): void {
    if (this.#calls.has(callId)) return;
    this.#calls.set(callId, { name });
    this.#order.push({ call: callId });
    this.#emit({
      type: "TOOL_CALL_START",
      toolCallId: callId,
      toolCallName: name,
      parentMessageId: callMessage(callId),
    });
    this.#emit({ type: "TOOL_CALL_END", toolCallId: callId });
  }

  /** How a call ended, once. A call without an answer would be taken for one that the client has to make. */
  answer(callId: string, name: string, outcome: string): void {
    this.call(callId, name);
    const call = this.#calls.get(callId);
    if (call === undefined || call.answer !== undefined) return;
    call.answer = outcome;
    const answered = { messageId: resultMessage(callId), toolCallId: callId, content: outcome, role: "tool" } as const;
    this.#emit({ type: "TOOL_CALL_RESULT", ...answered });
  }

  /** Nothing of a run may be open when it ends. */
  closeAll(outcome: string): void {
    for (const block of this.#blocks.values()) this.#close(block);
    for (const [callId, { name }] of this.#calls) this.answer(callId, name, outcome);
  }

  /** These blocks and no others are what is stored; calls stay as they are. */
  restate(blocks: readonly Block[]): void {
    for (const [blockId, block] of this.#blocks) {
      this.#close(block);
      this.#blocks.delete(blockId);
    }
    this.#order.splice(0, this.#order.length, ...this.#order.filter(({ call }) => call !== undefined));
    for (const stored of blocks) {
      if (!isStream(stored.type)) continue;
      this.#block(stored.block_id, stored.type, stored.attempt).text = textOf(stored);
    }
    this.snapshot();
  }

  snapshot(): void {
    const ours = new Map(this.#order.flatMap((one) => this.#messages(one)).map((message) => [message.id, message]));
    // A client that comes back brings what this turn had told it, also what is void by now.
    const isVoid = (id: string) => id.startsWith(`${this.#turnId}.`) && !ours.has(id);
    const theirs = this.#theirs.filter(({ id }) => !isVoid(id));
    const known = new Set(theirs.map(({ id }) => id));
    const messages = [
      ...theirs.map((message) => ours.get(message.id) ?? message),
      ...[...ours.values()].filter(({ id }) => !known.has(id)),
    ];
    this.#emit({ type: "MESSAGES_SNAPSHOT", messages });
  }

  #messages({ block, call }: { readonly block?: string; readonly call?: string }): readonly Message[] {
    if (block !== undefined) {
      const written = this.#blocks.get(block);
      // One that has just begun has to stay: what it is told next would find no message.
      if (written === undefined || (written.text === "" && !written.open)) return [];
      const { id, text: content } = written;
      return [written.stream === "text" ? { id, role: "assistant", content } : { id, role: "reasoning", content }];
    }
    const made = call === undefined ? undefined : this.#calls.get(call);
    if (call === undefined || made === undefined) return [];
    const toolCalls = [{ id: call, type: "function", function: { name: made.name, arguments: "" } }] as const;
    const result: Message[] =
      made.answer === undefined
        ? []
        : [{ id: resultMessage(call), role: "tool", toolCallId: call, content: made.answer }];
    return [{ id: callMessage(call), role: "assistant", toolCalls }, ...result];
  }

  /** It names the turn; another attempt is another message, for text that was taken back can't be continued. */
  #messageId(blockId: string, attempt: number): string {
    return [this.#turnId, blockId, ...(attempt === 1 ? [] : [attempt])].join(".");
  }

  #block(blockId: string, stream: Stream, attempt: number): Written {
    const known = this.#blocks.get(blockId);
    if (known !== undefined) return known;
    const block: Written = { id: this.#messageId(blockId, attempt), stream, text: "", open: false };
    this.#blocks.set(blockId, block);
    this.#order.push({ block: blockId });
    return block;
  }

  #append(block: Written, delta: string): void {
    if (delta === "") return;
    this.#open(block);
    block.text += delta;
    const type = block.stream === "text" ? "TEXT_MESSAGE_CONTENT" : "REASONING_MESSAGE_CONTENT";
    this.#emit({ type, messageId: block.id, delta });
  }

  #open(block: Written): void {
    if (block.open) return;
    block.open = true;
    const { id } = block;
    if (block.stream === "text") this.#emit({ type: "TEXT_MESSAGE_START", messageId: id, role: "assistant" });
    else {
      this.#emit({ type: "REASONING_START", messageId: id });
      this.#emit({ type: "REASONING_MESSAGE_START", messageId: id, role: "reasoning" });
    }
  }

  #close(block: Written): void {
    if (!block.open) return;
    block.open = false;
    const { id } = block;
    if (block.stream === "text") this.#emit({ type: "TEXT_MESSAGE_END", messageId: id });
    else {
      this.#emit({ type: "REASONING_MESSAGE_END", messageId: id });
      this.#emit({ type: "REASONING_END", messageId: id });
    }
  }
}

const callMessage = (callId: string): string => `${callId}.call`;
const resultMessage = (callId: string): string => `${callId}.result`;
