import type { BackOff } from "../../machines/compaction/compaction.rules.ts";
import type { Ledger } from "../../machines/conversation/ledger.ts";
import type { SessionId } from "../../machines/ids.ts";
import type { Taken } from "../../persistence/store.ts";

/** About 4 MB of text: enough for the conversations that go on within the minute. */
const MOST_TOKENS = 1_000_000;

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
  readonly #kept = new Map<SessionId, Asleep>();
  readonly #most: number;
  #tokens = 0;

  constructor(mostTokens = MOST_TOKENS) {
    this.#most = mostTokens;
  }

  keep(id: SessionId, asleep: Asleep): void {
    this.forget(id);
    this.#kept.set(id, { ...asleep, ledger: asleep.ledger.thawed() });
    this.#tokens += asleep.ledger.tokens;
    for (const oldest of this.#kept.keys()) {
      if (this.#tokens <= this.#most) break;
      this.forget(oldest);
    }
  }

  /** What is known of it here, whoever may have owned it since. */
  look(id: SessionId): Asleep | undefined {
    return this.#kept.get(id);
  }

  /** What `taken` would be made of, when it is known here; it is given once. */
  take({ fence, clean, anchor }: Taken): Asleep | undefined {
    const kept = this.#kept.get(fence.sessionId);
    this.forget(fence.sessionId);
    return kept && clean && kept.epoch === fence.epoch - 1 && kept.ledger.anchor === anchor ? kept : undefined;
  }

  forget(id: SessionId): void {
    this.#tokens -= this.#kept.get(id)?.ledger.tokens ?? 0;
    this.#kept.delete(id);
  }
}
