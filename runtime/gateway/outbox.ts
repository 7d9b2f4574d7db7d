/** The part of a native connection that the outbox uses. Valid until it has closed. */
export type Wire = {
  send(frame: string): void;
  /** Bytes handed over and not yet taken by the network. */
  buffered(): number;
};

/** How items become frames, and which two of them one frame can carry. */
export type Packing<Item> = {
  readonly encode: (item: Item) => string;
  /** One item for two neighbours, and by how many bytes the first has grown. */
  readonly merge: (first: Item, second: Item) => { readonly item: Item; readonly grownBy: number } | undefined;
};

export interface Outbox<Item> {
  /** Never throws. False: the client is too slow, nothing more is taken, end the connection. */
  push(item: Item): boolean;
  /** The network has taken something. */
  drained(): void;
  /** Bytes that wait here. */
  held(): number;
}

type Waiting<Item> = { readonly item: Item; readonly bytes: number };

/** Bytes that may lie in the native buffer before items wait here, where they can still be merged. */
const HANDED_OVER = 65_536;

/**
 * What one client is sent, in order. What a slow one has not fetched waits, at most `limit` bytes of it; neighbours
 * that wait are merged where they can be. One item alone may be of any size: a resync has to get through.
 */
export function createOutbox<Item>(wire: Wire, limit: number, { encode, merge }: Packing<Item>): Outbox<Item> {
  const waiting: Waiting<Item>[] = [];
  const watermark = Math.min(HANDED_OVER, limit / 2);
  let bytes = 0;
  let full = false;

  return {
    push(item) {
      if (full) return false;
      if (waiting.length === 0 && wire.buffered() < watermark) {
        wire.send(encode(item));
        return true;
      }
      const wasEmpty = waiting.length === 0;
      enqueue(item);
      full = !wasEmpty && bytes > limit;
      if (full) {
        waiting.length = 0;
        bytes = 0;
      }
      return !full;
    },
    drained() {
      while (waiting.length > 0 && wire.buffered() < watermark) {
        const next = waiting.shift() as Waiting<Item>;
        bytes -= next.bytes;
        wire.send(encode(next.item));
      }
    },
    held: () => bytes,
  };

  function enqueue(item: Item): void {
    const last = waiting.at(-1);
    const merged = last && merge(last.item, item);
    if (last !== undefined && merged !== undefined) {
      waiting[waiting.length - 1] = { item: merged.item, bytes: last.bytes + merged.grownBy };
      bytes += merged.grownBy;
    } else {
      const size = Buffer.byteLength(encode(item));
      waiting.push({ item, bytes: size });
      bytes += size;
    }
  }
}
