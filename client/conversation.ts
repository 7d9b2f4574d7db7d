import type { Signal, UnknownSignal } from "../machines/protocol/signals.ts";
import { type Backlog, backlog, type Update } from "./backlog.ts";
import type { ReceiptOf, Sendable } from "./commands.ts";
import { type ConnectOptions, connect, type Ending, endingWords, type Status } from "./connection.ts";
import { ConversationEnded } from "./errors.ts";
import { applySignal } from "./reducer.ts";
import { emptyView, type View } from "./view.ts";

const MOST_WAITING = 256;

export type ConversationOptions = Omit<ConnectOptions, "after" | "onSignal"> & {
  /** A view that was kept, of the same session: only what came since is asked for. */
  readonly from?: View;
  /** How many updates may wait for a loop that falls behind; 256 unless said otherwise. */
  readonly most?: number;
};

/**
 * A session to loop over: `for await (const { signal, view } of conversation)`.
 *
 * A loop ends after `close()`, once it has had what came before. It throws `ConversationEnded` when the connection was
 * refused for good. Leaving a loop closes nothing: the next one goes on where it stopped, and what comes between two
 * loops waits for the second. Several loops at a time each get everything from their start on.
 */
export interface Conversation extends AsyncIterable<Update, undefined> {
  readonly view: View;
  readonly status: Status;
  /** Known from the start, or once the server has opened the session. */
  readonly session: string | undefined;
  /** As `Connection.send`. */
  send<C extends Sendable>(command: C): Promise<ReceiptOf<C>>;
  /** As `Connection.retryNow`. */
  retryNow(): void;
  close(): void;
}

type Reader = { readonly waiting: Backlog; wake(): void };

/** Keeps one session connected, applies what it hears, and gives it to loops one by one. */
export function conversation({ from, most = MOST_WAITING, ...options }: ConversationOptions): Conversation {
  const readers = new Set<Reader>();
  /** Gathers while nobody reads. */
  let kept: Backlog | undefined = backlog(most);
  let view = from ?? emptyView;
  let ended: Ending | undefined;

  function onSignal(signal: Signal | UnknownSignal): void {
    view = applySignal(view, signal);
    if (isKeepAlive(signal)) return;
    kept?.add(signal, view);
    for (const reader of readers) {
      reader.waiting.add(signal, view);
      reader.wake();
    }
  }

  function onStatus(status: Status): void {
    if (status.kind === "ended") ended = status.reason;
    if (ended !== undefined) for (const reader of readers) reader.wake();
    options.onStatus?.(status);
  }

  function loop(): AsyncIterator<Update, undefined> {
    let asleep: (() => void)[] = [];
    const reader: Reader = {
      waiting: kept ?? backlog(most),
      wake() {
        const woken = asleep;
        asleep = [];
        for (const resume of woken) resume();
      },
    };
    readers.add(reader);
    kept = undefined;

    function leave(): void {
      if (readers.delete(reader) && readers.size === 0) kept = reader.waiting;
      reader.wake();
    }

    return {
      async next() {
        for (;;) {
          if (!readers.has(reader)) return { done: true, value: undefined };
          const update = reader.waiting.take();
          if (update !== undefined) return { done: false, value: update };
          if (ended !== undefined) {
            leave();
            if (ended === "closed") return { done: true, value: undefined };
            throw new ConversationEnded(ended, endingWords(ended));
          }
          await new Promise<void>((resume) => asleep.push(resume));
        }
      },
      async return() {
        leave();
        return { done: true, value: undefined };
      },
    };
  }

  const connection = connect({
    ...(from?.session_id !== undefined && { session: from.session_id }),
    ...(from?.seq !== undefined && { after: from.seq }),
    ...options,
    onSignal,
    onStatus,
  });

  return {
    get view() {
      return view;
    },
    get status() {
      return connection.status;
    },
    get session() {
      return connection.session;
    },
    send: (command) => connection.send(command),
    retryNow: () => connection.retryNow(),
    close: () => connection.close(),
    [Symbol.asyncIterator]: loop,
  };
}

/** Signals that only say that the line is alive. */
const isKeepAlive = ({ kind }: Signal | UnknownSignal): boolean => kind === "heartbeat" || kind === "pong";
