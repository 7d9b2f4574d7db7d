import type { NumberedSignal, Signal } from "../../machines/protocol/signals.ts";

/** The part of a native socket that the outbox uses. Valid until it has closed. */
export type Wire = {
  send(frame: string): void;
  /** Bytes handed over and not yet taken by the network. */
  buffered(): number;
};

export interface Outbox {
  /** Never throws. False: the client is too slow, nothing more is taken, end the socket. */
  push(signal: Signal): boolean;
  /** The network has taken something. */
  drained(): void;
}

type Waiting = { readonly signal: Signal; readonly bytes: number };
type Delta = Extract<NumberedSignal, { kind: "llm_delta" | "thinking_summary" }>;

/** Bytes that may lie in the native buffer before signals wait here, where they can still be merged. */
const HANDED_OVER = 65_536;

/**
 * Signals of one socket, in order. What a slow client has not fetched waits, at most `limit` bytes of it; text of one
 * block that waits is merged into one frame. One signal alone may be of any size: a resync has to get through.
 */
export function createOutbox(wire: Wire, limit: number): Outbox {
  const waiting: Waiting[] = [];
  const watermark = Math.min(HANDED_OVER, limit / 2);
  let bytes = 0;
  let full = false;

  return {
    push(signal) {
      if (full) return false;
      if (waiting.length === 0 && wire.buffered() < watermark) {
        wire.send(JSON.stringify(signal));
        return true;
      }
      const wasEmpty = waiting.length === 0;
      enqueue(signal);
      full = !wasEmpty && bytes > limit;
      if (full) waiting.length = 0;
      return !full;
    },
    drained() {
      while (waiting.length > 0 && wire.buffered() < watermark) {
        const next = waiting.shift() as Waiting;
        bytes -= next.bytes;
        wire.send(JSON.stringify(next.signal));
      }
    },
  };

  function enqueue(signal: Signal): void {
    const last = waiting.at(-1);
    const merged = last && merge(last.signal, signal);
    if (last !== undefined && merged !== undefined) {
      const grown = Buffer.byteLength((signal as Delta).data.text);
      waiting[waiting.length - 1] = { signal: merged, bytes: last.bytes + grown };
      bytes += grown;
    } else {
      const size = Buffer.byteLength(JSON.stringify(signal));
      waiting.push({ signal, bytes: size });
      bytes += size;
    }
  }
}

/** One signal for two, when the second continues the text of the first and nothing lies between their numbers. */
export function merge(first: Signal, second: Signal): Delta | undefined {
  if (!isDelta(first) || !isDelta(second) || first.kind !== second.kind) return undefined;
  const follows = (second.from_seq ?? second.seq) === first.seq + 1;
  const sameBlock = first.data.block_id === second.data.block_id && first.session_id === second.session_id;
  if (!follows || !sameBlock || first.data.offset + first.data.text.length !== second.data.offset) return undefined;
  return {
    ...second,
    from_seq: first.from_seq ?? first.seq,
    data: { ...first.data, text: first.data.text + second.data.text },
  };
}

const isDelta = (signal: Signal): signal is Delta => signal.kind === "llm_delta" || signal.kind === "thinking_summary";
