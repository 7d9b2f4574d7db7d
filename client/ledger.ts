import type { Limits, PlainSignal, Signal, UnknownSignal } from "../machines/protocol/signals.ts";
import type { Clock } from "./clock.ts";
import type { ReceiptOf, Sendable } from "./commands.ts";
import { CommandRefused, ConnectionEnded, LimitExceeded } from "./errors.ts";

/** The limits a server has unless `session_opened` says otherwise (PROTOCOL.md). */
export const usualLimits: Limits = {
  text_bytes: 65_536,
  frame_bytes: 262_144,
  commands_per_second: 20,
  queued_messages: 10,
  send_buffer_bytes: 1_048_576,
  upload_bytes: 10_485_760,
};

type Entry = {
  readonly frame: string;
  readonly answer: Promise<ReceiptOf<Sendable>>;
  readonly settle: (receipt: ReceiptOf<Sendable>) => void;
  readonly refuse: (error: Error) => void;
};

/** Commands that wait for their answer, in the order they were given. */
export function ledger(clock: Clock) {
  const open = new Map<string, Entry>();
  let limits = usualLimits;
  let sent: number[] = [];

  /** Throws `LimitExceeded` for what the server would refuse. */
  function check(command: Sendable, frame: string): void {
    if (command.type === "message" && bytes(command.text) > limits.text_bytes)
      throw new LimitExceeded("text_too_long", limits.text_bytes);
    if (bytes(frame) > limits.frame_bytes) throw new LimitExceeded("frame_too_large", limits.frame_bytes);
    sent = sent.filter((at) => at > clock.now() - 1000);
    if (Math.max(sent.length, open.size) >= limits.commands_per_second)
      throw new LimitExceeded("too_many_commands", limits.commands_per_second);
  }

  return {
    limit(given: Limits): void {
      limits = given;
    },

    /** Takes a command in; the same id again waits for the same answer. Throws `LimitExceeded`. */
    add(command: Sendable): Entry & { readonly fresh: boolean } {
      const known = open.get(command.id);
      if (known !== undefined) return { ...known, fresh: false };
      const frame = JSON.stringify(command);
      check(command, frame);
      const { promise, resolve, reject } = pending();
      const entry: Entry = { frame, answer: promise, settle: resolve, refuse: reject };
      open.set(command.id, entry);
      return { ...entry, fresh: true };
    },

    /** Every unanswered frame, to be sent on a new socket under its old id. */
    frames: (): readonly string[] => [...open.values()].map((entry) => entry.frame),

    /** Notes that a frame left, for the rate. */
    left(): void {
      sent.push(clock.now());
    },

    /** A new socket has its own rate. */
    renewed(): void {
      sent = [];
    },

    /** Settles what `signal` answers. `draining` is no answer: the command goes to the next owner. */
    hear(signal: Signal | UnknownSignal): void {
      if ("unknown" in signal) return;
      const id = answered(signal);
      const entry = id === undefined ? undefined : open.get(id);
      if (id === undefined || entry === undefined) return;
      if (signal.kind === "error") {
        if (signal.data.code === "draining") return;
        entry.refuse(new CommandRefused(signal.data.code, signal.data.message));
      } else entry.settle(signal.data as ReceiptOf<Sendable>);
      open.delete(id);
    },

    /** Refuses everything that still waits. */
    end(why: string): void {
      for (const entry of open.values()) entry.refuse(new ConnectionEnded(why));
      open.clear();
    },
  };
}

function answered(signal: Signal): string | undefined {
  const kinds: readonly Signal["kind"][] = [
    "message_accepted",
    "interaction_receipt",
    "action_receipt",
    "cancel_receipt",
    "error",
  ];
  return kinds.includes(signal.kind) ? (signal as Extract<PlainSignal, { kind: "error" }>).data.id : undefined;
}

function pending() {
  let resolve: Entry["settle"] = () => {};
  let reject: Entry["refuse"] = () => {};
  const promise = new Promise<ReceiptOf<Sendable>>((settle, refuse) => {
    resolve = settle;
    reject = refuse;
  });
  // Whoever sent the command may not look at the answer; a refusal must not end the process then.
  promise.catch(() => {});
  return { promise, resolve, reject };
}

const encoder = new TextEncoder();
const bytes = (text: string): number => encoder.encode(text).length;
