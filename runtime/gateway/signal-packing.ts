import type { NumberedSignal, Signal } from "../../machines/protocol/signals.ts";
import type { Packing } from "./outbox.ts";

type Delta = Extract<NumberedSignal, { kind: "llm_delta" | "thinking_summary" }>;

/** The last one: a session sends the same signal to all its sockets, one after the other. */
let encoded: { readonly signal: Signal | undefined; readonly frame: string } = { signal: undefined, frame: "" };

/** Signals as frames of a socket. Text of one block that waits is merged when nothing lies between its numbers. */
export const signalPacking: Packing<Signal> = {
  encode(signal) {
    if (signal !== encoded.signal) encoded = { signal, frame: JSON.stringify(signal) };
    return encoded.frame;
  },
  merge(first, second) {
    if (!isDelta(first) || !isDelta(second) || first.kind !== second.kind) return undefined;
    const follows = (second.from_seq ?? second.seq) === first.seq + 1;
    const sameBlock = first.data.block_id === second.data.block_id && first.session_id === second.session_id;
    if (!follows || !sameBlock || first.data.offset + first.data.text.length !== second.data.offset) return undefined;
    const item: Delta = {
      ...second,
      from_seq: first.from_seq ?? first.seq,
      data: { ...first.data, text: first.data.text + second.data.text },
    };
    return { item, grownBy: Buffer.byteLength(second.data.text) };
  },
};

const isDelta = (signal: Signal): signal is Delta => signal.kind === "llm_delta" || signal.kind === "thinking_summary";
