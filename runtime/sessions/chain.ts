import type { Chance, Clock } from "../../machines/effects.ts";
import type { Batch, Fence, Histories, Settled, Settlement } from "../../persistence/store.ts";
import { StoreUnavailable } from "../../persistence/store.ts";

/** How long a passing fault of the database is waited out before a write is given up, and between two tries. */
const PATIENCE_MS = 20_000;
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2_000;
/** What comes this soon after a batch shares its statement; whoever needs it durable does not wait. */
const LINGER_MS = 5;
/** Made once: an abort without a reason makes an exception with a stack each time. */
const HURRY = new Error("what waits is needed now");

/**
 * The ordered writes of one owned session: one statement in flight, what comes meanwhile goes into the next.
 * The first write that fails for good ends the chain: everything after it rejects with the same error.
 */
export class Chain {
  readonly #fence: Fence;
  readonly #histories: Histories;
  readonly #clock: Clock;
  readonly #chance: Chance;
  #pending: Batch | undefined;
  #running: Promise<void> | undefined;
  #broken: { readonly error: unknown } | undefined;
  #lingering: AbortController | undefined;
  readonly #onReserved: (bound: number) => void;

  /** `onReserved` hears of signal numbers once they are durably this owner's. */
  constructor(fence: Fence, histories: Histories, clock: Clock, chance: Chance, onReserved: (bound: number) => void) {
    this.#onReserved = onReserved;
    this.#fence = fence;
    this.#histories = histories;
    this.#clock = clock;
    this.#chance = chance;
  }

  /** Queues a batch; its failure shows at the next `flush` or `settle`. */
  append(batch: Batch): void {
    if (this.#broken) return;
    this.#pending = this.#pending ? merge(this.#pending, batch) : batch;
    this.#running ??= this.#run();
  }

  /** Resolves when everything appended before is durable. */
  async flush(): Promise<void> {
    while (this.#running) {
      this.#lingering?.abort(HURRY);
      await this.#running;
    }
    if (this.#broken) throw this.#broken.error;
  }

  /** The settle statement takes along what still waits. */
  async settle(settlement: Settlement): Promise<Settled> {
    let held: Batch | undefined;
    while (this.#running) {
      if (this.#pending) held = held ? merge(held, this.#pending) : this.#pending;
      this.#pending = undefined;
      this.#lingering?.abort(HURRY);
      await this.#running;
    }
    if (this.#broken) throw this.#broken.error;
    const whole = held ? { ...settlement, ...merge(held, settlement) } : settlement;
    const settled = await this.retry(() => this.#histories.settle(this.#fence, whole));
    if (whole.reserveSeq !== undefined) this.#onReserved(whole.reserveSeq);
    return settled;
  }

  /** Runs one fenced write with the same patience. It must be safe to send twice. */
  async retry<T>(write: () => Promise<T>): Promise<T> {
    const until = this.#clock.monotonic() + PATIENCE_MS;
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(LONGEST_PAUSE_MS, pause * 2)) {
      try {
        return await write();
      } catch (error) {
        if (!(error instanceof StoreUnavailable) || this.#clock.monotonic() >= until) throw error;
        await this.#clock.sleep(pause * (0.5 + this.#chance.fraction() / 2));
      }
    }
  }

  async #run(): Promise<void> {
    const lingering = new AbortController();
    this.#lingering = lingering;
    await this.#clock.sleep(LINGER_MS, lingering.signal).catch(() => undefined);
    this.#lingering = undefined;
    while (this.#pending && !this.#broken) {
      const batch = this.#pending;
      this.#pending = undefined;
      try {
        await this.retry(() => this.#histories.append(this.#fence, batch));
        if (batch.reserveSeq !== undefined) this.#onReserved(batch.reserveSeq);
      } catch (error) {
        this.#broken = { error };
      }
    }
    this.#running = undefined;
  }
}

/** Two batches of one turn as one. */
function merge(first: Batch, second: Batch): Batch {
  const opens = first.opens ?? second.opens;
  const reserveSeq = Math.max(first.reserveSeq ?? 0, second.reserveSeq ?? 0);
  const recorded = [...(first.recorded ?? []), ...(second.recorded ?? [])];
  const anchors = [first.anchor, second.anchor].filter((anchor) => anchor !== undefined);
  const [from, to] = [anchors[0]?.from, anchors.at(-1)?.to];
  return {
    turnId: second.turnId,
    entries: [...first.entries, ...second.entries],
    intents: [...first.intents, ...second.intents],
    finished: [...first.finished, ...second.finished],
    ...(opens && { opens }),
    ...(recorded.length > 0 && { recorded }),
    ...(reserveSeq > 0 && { reserveSeq }),
    ...(from !== undefined && to !== undefined && { anchor: { from, to } }),
  };
}
