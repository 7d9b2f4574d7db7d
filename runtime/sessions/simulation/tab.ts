import { applySignal } from "../../../client/reducer.ts";
import { blockText, emptyView, type View } from "../../../client/view.ts";
import type { SessionId } from "../../../machines/ids.ts";
import type { Command } from "../../../machines/protocol/commands.ts";
import {
  isNumbered,
  type PlainSignal,
  parseSignal,
  type Signal,
  type SignalData,
} from "../../../machines/protocol/signals.ts";
import type { Attachment, Caller, Conversations, Sink } from "../conversations.ts";
import type { Oracle } from "./oracle.ts";

export type Sent = Exclude<Command, { type: "ping" }>;

type Connection = { isOpen: boolean; attachment?: Attachment };

/** A browser tab on one session: keeps its view over connections and sends again what was not answered. */
export class Tab {
  readonly name: string;
  readonly session: SessionId;
  readonly #oracle: Oracle;
  readonly #caller: Caller;
  #connection: Connection | undefined;
  readonly #silent: Connection[] = [];
  view: View = emptyView;
  /** Commands without an answer, in the order they were given. */
  readonly unanswered = new Map<string, Sent>();

  constructor(name: string, session: SessionId, caller: Caller, oracle: Oracle) {
    this.name = name;
    this.session = session;
    this.#caller = caller;
    this.#oracle = oracle;
  }

  get isConnected(): boolean {
    return this.#connection !== undefined;
  }
  /** Attached: commands can be sent. */
  get isReady(): boolean {
    return this.#connection?.attachment !== undefined;
  }

  connect(conversations: Conversations): void {
    const connection: Connection = { isOpen: true };
    this.#connection = connection;
    const sink: Sink = {
      send: (signal) => {
        if (connection.isOpen) this.#hear(signal);
      },
      close: () => this.#lost(connection),
    };
    conversations.attach(this.session, this.#caller, this.view.seq, sink).then(
      (attachment) => {
        if (!connection.isOpen) return attachment.detach();
        connection.attachment = attachment;
        for (const command of this.unanswered.values()) this.#deliver(connection, command);
      },
      () => this.#lost(connection),
    );
  }

  disconnect(): void {
    if (this.#connection) this.#lost(this.#connection);
  }

  /** The other end is silent: it is given up, and hears of that only when it wakes (`hangUp`). */
  cut(): void {
    if (this.#connection) {
      this.#connection.isOpen = false;
      this.#silent.push(this.#connection);
    }
    this.#connection = undefined;
  }

  hangUp(): void {
    for (const connection of this.#silent.splice(0)) connection.attachment?.detach();
  }

  send(command: Sent): void {
    this.unanswered.set(command.id, command);
    if (this.#connection) this.#deliver(this.#connection, command);
  }

  #deliver(connection: Connection, command: Sent): void {
    this.#oracle.sent(command);
    void connection.attachment?.deliver(command).then((receipt) => {
      if (connection.isOpen) this.#answered(command, receipt);
    });
  }

  #answered(command: Sent, receipt: PlainSignal): void {
    this.#oracle.answered(command, receipt);
    // Draining is no answer: the command goes to the next owner.
    if (receipt.kind !== "error" || receipt.data.code !== "draining") this.unanswered.delete(command.id);
  }

  #lost(connection: Connection): void {
    if (!connection.isOpen) return;
    connection.isOpen = false;
    if (this.#connection === connection) this.#connection = undefined;
    connection.attachment?.detach();
  }

  #hear(given: Signal): void {
    const signal = parseSignal(JSON.parse(JSON.stringify(given)));
    if ("unknown" in signal) throw new TypeError(`unknown signal ${signal.kind}`);
    const held = this.view.seq;
    if (isNumbered(signal)) {
      if (held === undefined)
        this.#oracle.broken(`${this.name} heard ${signal.seq} before it was told where it stands`);
      else if ((signal.from_seq ?? signal.seq) !== held + 1)
        this.#oracle.broken(`${this.name} holds ${held} and heard ${signal.seq} (${signal.kind})`);
    } else if (signal.kind === "resync" && held !== undefined && signal.data.seq < held) {
      this.#oracle.broken(`${this.name} holds ${held} and was set back to ${signal.data.seq}`);
    }
    if (signal.kind === "llm_delta" || signal.kind === "thinking_summary") this.#compare(signal.data);
    this.#oracle.shown(signal);
    this.view = applySignal(this.view, signal);
  }

  /** Text goes on where the tab stands: it is told nothing twice, and nothing of a block that is void. */
  #compare({ block_id, offset }: SignalData<"llm_delta">): void {
    const block = this.view.turns.flatMap(({ blocks }) => blocks).find((one) => one.block_id === block_id);
    const held = block && blockText(block).length;
    if (held !== offset)
      this.#oracle.broken(`${this.name} holds ${held} characters of a block and heard from ${offset}`);
  }
}
