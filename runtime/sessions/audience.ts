import type { SessionId, TurnId } from "../../machines/ids.ts";
import type { PendingInteraction } from "../../machines/protocol/interactions.ts";
import type {
  NumberedKind,
  NumberedSignal,
  PlainKind,
  PlainSignal,
  SignalData,
} from "../../machines/protocol/signals.ts";
import type { SessionStatus, StateData } from "../../machines/protocol/turns.ts";
import type { Sink } from "./conversations.ts";

/** How many of the newest signals a session keeps for clients that come back. */
const RING_SIGNALS = 2_000;
const RING_CHARACTERS = 1_000_000;

/** The envelope of a signal: version, kind, ids, number and time. */
const ENVELOPE_CHARACTERS = 200;

type Kept = { readonly signal: NumberedSignal; readonly size: number };

/** What a client that comes back is sent: exactly what it misses, or the word that it needs a resync. */
export type Missing =
  | { readonly kind: "range"; readonly signals: readonly NumberedSignal[] }
  | { readonly kind: "resync" };

/**
 * The clients of one session on this node, and the numbers of what they are sent. It outlives the session's actor:
 * sockets stay while it sleeps. A number is used once; `bound` is the first that is not reserved in the database.
 */
export class Audience {
  readonly sessionId: SessionId;
  readonly #now: () => number;
  readonly #sinks = new Set<Sink>();
  #ring: Kept[] = [];
  #ringSize = 0;
  #next = 1;
  #bound = 1;
  /** False until someone told which number is next: nothing may be numbered before. */
  #numbered = false;
  /** Cursors under this one are void: what came before it was never stored, or was never numbered. */
  #void = 0;
  #stamp = { at: Number.NaN, text: "" };
  status: SessionStatus = "hibernated";
  /** What is open now, for clients; the database decides whether it still is when somebody answers. */
  pending: PendingInteraction | null = null;
  /** Grows with every settled turn: a page read before is out of date. */
  settled = 0;

  constructor(sessionId: SessionId, now: () => number) {
    this.sessionId = sessionId;
    this.#now = now;
  }

  get size(): number {
    return this.#sinks.size;
  }
  get nextSeq(): number {
    return this.#next;
  }
  get isNumbered(): boolean {
    return this.#numbered;
  }
  /** The session's numbers are known, and none was ever used. */
  get isUnused(): boolean {
    return this.#numbered && this.#next === 1;
  }
  /** Numbers left before the reservation ends. */
  get left(): number {
    return this.#bound - this.#next;
  }

  /** Where the session stands, as `state_changed` and a `resync` say it. */
  get state(): StateData {
    return { status: this.status, pending_interaction: this.pending };
  }

  showState(status: SessionStatus, pending: PendingInteraction | null = this.pending): void {
    this.status = status;
    this.pending = pending;
    this.show("state_changed", this.state);
  }

  /** A new owner's numbers. After a take-over that was not clean, what clients hold is void, whatever their cursor. */
  continueFrom(next: number, bound: number, isClean: boolean): void {
    if (next !== this.#next || !isClean) this.#forgetKept();
    if (!isClean) this.#void = next;
    this.#next = next;
    this.#bound = bound;
    this.#numbered = true;
  }

  reserved(bound: number): void {
    this.#bound = Math.max(this.#bound, bound);
  }

  join(sink: Sink): void {
    this.#sinks.add(sink);
  }

  leave(sink: Sink): void {
    this.#sinks.delete(sink);
  }

  /**
   * Sends one signal that changes what is shown, under the next number. When the reserved numbers are used up (the
   * database was away for long), clients are sent away instead: they come back to a resync, so nothing is missed.
   */
  show<K extends NumberedKind>(kind: K, data: SignalData<K>, turnId?: TurnId): void {
    if (this.left <= 0) {
      this.#forgetKept();
      this.#void = this.#next;
      this.dismiss(1012, "signals can't be numbered right now");
      return;
    }
    const signal = {
      v: 1,
      kind,
      session_id: this.sessionId,
      seq: this.#next,
      ...(turnId && { turn_id: turnId }),
      at: this.#at(),
      data,
    } as NumberedSignal;
    this.#next += 1;
    this.#keep(signal);
    for (const sink of this.#sinks) sink.send(signal);
  }

  /** A signal without a number, made for one client or for all. */
  plain<K extends PlainKind>(kind: K, data: SignalData<K>): PlainSignal {
    return { v: 1, kind, session_id: this.sessionId, at: this.#at(), data } as PlainSignal;
  }

  tell<K extends PlainKind>(kind: K, data: SignalData<K>): void {
    const signal = this.plain(kind, data);
    for (const sink of this.#sinks) sink.send(signal);
  }

  /** Ends every connection of this session on this node. */
  dismiss(code: number, reason: string): void {
    for (const sink of this.#sinks) sink.close(code, reason);
    this.#sinks.clear();
  }

  /** What a client that applied everything up to `after` has not seen. */
  missing(after: number): Missing {
    if (after < this.#void) return { kind: "resync" };
    if (after === this.#next - 1) return { kind: "range", signals: [] };
    const first = this.#ring[0]?.signal.seq;
    if (first === undefined || after >= this.#next || after < first - 1) return { kind: "resync" };
    return { kind: "range", signals: this.#ring.filter((kept) => kept.signal.seq > after).map((kept) => kept.signal) };
  }

  #forgetKept(): void {
    this.#ring = [];
    this.#ringSize = 0;
  }

  #keep(signal: NumberedSignal): void {
    const size = ENVELOPE_CHARACTERS + charactersOf(signal.data);
    this.#ring.push({ signal, size });
    this.#ringSize += size;
    while (this.#ring.length > RING_SIGNALS || this.#ringSize > RING_CHARACTERS) {
      this.#ringSize -= this.#ring.shift()?.size ?? 0;
    }
  }

  #at(): string {
    const at = this.#now();
    if (at !== this.#stamp.at) this.#stamp = { at, text: new Date(at).toISOString() };
    return this.#stamp.text;
  }
}

/** About as many characters as the value has as JSON, for a fraction of the work. */
function charactersOf(value: unknown): number {
  if (typeof value === "string") return value.length + 2;
  if (typeof value !== "object" || value === null) return 6;
  let characters = 2;
  for (const [key, held] of Object.entries(value)) characters += key.length + 4 + charactersOf(held);
  return characters;
}
