import type { PlacedEntry } from "../../machines/conversation/entries.ts";
import type { SessionId } from "../../machines/ids.ts";
import type { Taken } from "../../persistence/store.ts";

/** About 4 MB of text: enough for the conversations that go on within the minute. */
const MOST_TOKENS = 1_000_000;

type Kept = {
  readonly epoch: number;
  readonly anchor: number;
  readonly history: readonly PlacedEntry[];
  readonly tokens: number;
};

/**
 * Histories of the sessions that fell asleep here last, so that a conversation that goes on is not read and opened
 * again. Only the very next epoch may use one: then nobody else has owned the session, and nothing was added.
 */
export class Slept {
  readonly #kept = new Map<SessionId, Kept>();
  readonly #most: number;
  #tokens = 0;

  constructor(mostTokens = MOST_TOKENS) {
    this.#most = mostTokens;
  }

  keep(id: SessionId, epoch: number, anchor: number, history: readonly PlacedEntry[]): void {
    this.forget(id);
    const tokens = history.reduce((sum, placed) => sum + placed.tokens, 0);
    this.#kept.set(id, { epoch, anchor, history: [...history], tokens });
    this.#tokens += tokens;
    for (const oldest of this.#kept.keys()) {
      if (this.#tokens <= this.#most) break;
      this.forget(oldest);
    }
  }

  /** The history that `taken` would read, when it is known here; it is given once. */
  take({ fence, clean, anchor }: Taken): readonly PlacedEntry[] | undefined {
    const kept = this.#kept.get(fence.sessionId);
    this.forget(fence.sessionId);
    return kept && clean && kept.epoch === fence.epoch - 1 && kept.anchor === anchor ? kept.history : undefined;
  }

  forget(id: SessionId): void {
    this.#tokens -= this.#kept.get(id)?.tokens ?? 0;
    this.#kept.delete(id);
  }
}
