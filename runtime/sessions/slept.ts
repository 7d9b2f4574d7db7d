import type { BackOff } from "../../machines/compaction/compaction.rules.ts";
import type { Ledger } from "../../machines/conversation/ledger.ts";
import type { SessionId } from "../../machines/ids.ts";
import type { Taken } from "../../persistence/store.ts";

/** In tokens of text, four bytes each. About 8 MB: enough for the conversations that go on within the minute. */
const MOST = 2_000_000;
/** What a ledger takes besides its text, in the same measure: short conversations are many (measured: 1 KB, 350 bytes). */
const SESSION = 250;
const ENTRY = 100;

/** What a session that sleeps is made of again: what its entries, its row and its snapshot would give. */
export type Asleep = {
  /** Of the owner that put it to sleep. */
  readonly epoch: number;
  readonly ledger: Ledger;
  readonly turns: number;
  readonly backOff: BackOff | null;
};

/**
 * The sessions that fell asleep here last, so that a conversation that goes on is not read and opened again. Only the
 * very next epoch may use one: then nobody else has owned the session, and nothing was added.
 */
export class Slept {
  readonly #kept = new Map<SessionId, { readonly asleep: Asleep; readonly size: number }>();
  readonly #most: number;
  #size = 0;

  constructor(most = MOST) {
    this.#most = most;
  }

  /** The ledger is handed over: from now on it is the next owner's, as one that was read is. */
  keep(id: SessionId, asleep: Asleep): void {
    this.forget(id);
    const { ledger } = asleep;
    ledger.forgetBase();
    const size = SESSION + ENTRY * ledger.history.length + ledger.tokens;
    this.#kept.set(id, { asleep, size });
    this.#size += size;
    for (const oldest of this.#kept.keys()) {
      if (this.#size <= this.#most) break;
      this.forget(oldest);
    }
  }

  /** What is known of it here, whoever may have owned it since. */
  look(id: SessionId): Asleep | undefined {
    return this.#kept.get(id)?.asleep;
  }

  /** What `taken` would be made of, when it is known here; it is given once. */
  take({ fence, clean, anchor }: Taken): Asleep | undefined {
    const kept = this.look(fence.sessionId);
    this.forget(fence.sessionId);
    return kept && clean && kept.epoch === fence.epoch - 1 && kept.ledger.anchor === anchor ? kept : undefined;
  }

  forget(id: SessionId): void {
    this.#size -= this.#kept.get(id)?.size ?? 0;
    this.#kept.delete(id);
  }
}
