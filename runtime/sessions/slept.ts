import type { BackOff } from "../../machines/compaction/compaction.rules.ts";
import type { Ledger } from "../../machines/conversation/ledger.ts";
import type { SessionId } from "../../machines/ids.ts";
import type { Taken } from "../../persistence/store.ts";

/** About 4 MB of text: enough for the conversations that go on within the minute. */
const MOST_TOKENS = 1_000_000;

/** What a session that fell asleep here is made of again: what its entries and its snapshot would give. */
export type Asleep = { readonly ledger: Ledger; readonly backOff: BackOff | null };

type Kept = Asleep & { readonly epoch: number; readonly tokens: number };

/**
 * The sessions that fell asleep here last, so that a conversation that goes on is not read and opened again. Only the
 * very next epoch may use one: then nobody else has owned the session, and nothing was added.
 */
export class Slept {
  readonly #kept = new Map<SessionId, Kept>();
  readonly #most: number;
  #tokens = 0;

  constructor(mostTokens = MOST_TOKENS) {
    this.#most = mostTokens;
  }

  keep(id: SessionId, epoch: number, { ledger, backOff }: Asleep): void {
    this.forget(id);
    const { tokens } = ledger;
    this.#kept.set(id, { epoch, ledger, backOff, tokens });
    this.#tokens += tokens;
    for (const oldest of this.#kept.keys()) {
      if (this.#tokens <= this.#most) break;
      this.forget(oldest);
    }
  }

  /** What `taken` would be made of, when it is known here; it is given once. */
  take({ fence, clean, anchor }: Taken): Asleep | undefined {
    const kept = this.#kept.get(fence.sessionId);
    this.forget(fence.sessionId);
    const isNext = kept !== undefined && clean && kept.epoch === fence.epoch - 1 && kept.ledger.anchor === anchor;
    return isNext ? { ledger: kept.ledger.thawed(), backOff: kept.backOff } : undefined;
  }

  forget(id: SessionId): void {
    this.#tokens -= this.#kept.get(id)?.tokens ?? 0;
    this.#kept.delete(id);
  }
}
