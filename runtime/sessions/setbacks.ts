import type { SessionId } from "../../machines/ids.ts";

const FIRST_PAUSE_MS = 3_000;
const LONGEST_PAUSE_MS = 600_000;

/**
 * Sessions whose work could not be taken up or carried through: unreadable, crashed, not to be stored. They are tried
 * again, less and less often, until one falls asleep in order: the cause may pass, and until then they must neither
 * keep the node busy nor hide others from the sweep.
 */
export class Setbacks {
  readonly #now: () => number;
  readonly #paused = new Map<SessionId, { readonly pause: number; readonly until: number }>();

  constructor(now: () => number) {
    this.#now = now;
  }

  get size(): number {
    return this.#paused.size;
  }

  add(id: SessionId): void {
    const before = this.#paused.get(id)?.pause;
    const pause = before === undefined ? FIRST_PAUSE_MS : Math.min(LONGEST_PAUSE_MS, before * 2);
    this.#paused.set(id, { pause, until: this.#now() + pause });
  }

  delete(id: SessionId): void {
    this.#paused.delete(id);
  }

  mayTry(id: SessionId): boolean {
    return (this.#paused.get(id)?.until ?? 0) <= this.#now();
  }
}
