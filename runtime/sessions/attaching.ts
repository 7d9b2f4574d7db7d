import { type SessionId, type TurnId, turnId } from "../../machines/ids.ts";
import { isNumbered, type Signal } from "../../machines/protocol/signals.ts";
import type { ActionDone, Turn } from "../../machines/protocol/turns.ts";
import type { Audience } from "./audience.ts";
import type { SessionPage, Sink } from "./conversations.ts";
import type { Directory } from "./directory.ts";
import type { World } from "./world.ts";

export const PAGE = 20;

/** Holds what is sent while the beginning is still being read; then passes everything on. */
class Opening implements Sink {
  readonly #sink: Sink;
  #held: Signal[] | undefined = [];

  constructor(sink: Sink) {
    this.#sink = sink;
  }

  send(signal: Signal): void {
    if (this.#held) this.#held.push(signal);
    else this.#sink.send(signal);
  }

  close(code: number, reason: string): void {
    this.#sink.close(code, reason);
  }

  /** `upTo` is the number the beginning covers: what was held up to it is in it already. */
  open(upTo: number): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const signal of held) if (isNews(signal, upTo)) this.#sink.send(signal);
  }
}

function isNews(signal: Signal, upTo: number): boolean {
  if (signal.kind === "resync") return signal.data.seq > upTo;
  return !isNumbered(signal) || signal.seq > upTo;
}

/** Settled turns as stored, then the one that runs. Consistent: read again when a turn settled meanwhile. */
export async function readPage(
  directory: Directory,
  world: World,
  id: SessionId,
  before?: number,
): Promise<Omit<SessionPage, "session_id">> {
  for (;;) {
    const audience = directory.audience(id);
    const settled = audience.settled;
    const stored = await world.store.turns.page(id, PAGE, before);
    const known = directory.resident(id)?.run?.live.snapshot();
    const ids = [...stored, ...(known ? [known] : [])].map((turn) => turnId(turn.turn_id));
    const actions = await world.store.actions.shown(id, ids);
    // An action that is stored and not shown yet is shown next: this reading has it already.
    const isShown = (await directory.resident(id)?.acting.isKept()) ?? true;
    if (audience.settled !== settled || !isShown) continue;
    const resident = directory.resident(id);
    const live = before === undefined ? resident?.run?.live.snapshot() : undefined;
    // A settlement that was stored but not heard of yet: its turn still runs here, and its end is shown next.
    const whole: readonly Turn[] = live ? [...stored.filter((turn) => turn.n < live.n), live] : stored;
    const turns = withActions(whole, actions);
    const first = turns[0]?.n ?? 1;
    const state = resident?.state ?? { ...audience.state, queue: [] };
    return { turns, state, seq: audience.nextSeq - 1, ...(first > 1 && { before: first }) };
  }
}

/** What was done with the cards of turns, each with its turn. */
export type Actions = readonly (ActionDone & { readonly turnId: TurnId })[];

export function withActions(turns: readonly Turn[], all: Actions): readonly Turn[] {
  return turns.map((turn) => {
    const actions = all.flatMap(({ turnId: of, ...action }) => (of === turn.turn_id ? [action] : []));
    return actions.length === 0 ? turn : { ...turn, actions };
  });
}

/** Sends `session_opened` and what the client misses; from then on the sink hears everything. */
export async function begin(
  directory: Directory,
  world: World,
  audience: Audience,
  after: number | undefined,
  sink: Sink,
  opened: () => Signal,
): Promise<Sink> {
  const opening = new Opening(sink);
  audience.join(opening);
  sink.send(opened());
  const missing = after === undefined ? ({ kind: "resync" } as const) : audience.missing(after);
  if (missing.kind === "range") {
    for (const signal of missing.signals) sink.send(signal);
    opening.open(audience.nextSeq - 1);
    return opening;
  }
  try {
    const { turns, state, seq } = await readPage(directory, world, audience.sessionId);
    const data = { from_turn: turns[0]?.n ?? 1, turns: [...turns], state, seq };
    sink.send(audience.plain("resync", data));
    opening.open(seq);
    return opening;
  } catch (error) {
    audience.leave(opening);
    throw error;
  }
}
