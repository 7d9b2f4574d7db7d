/** The real client library on a real socket, which a test can cut, hold back and slow down. */
import { WebSocket } from "ws";
import type { Clock } from "../../client/clock.ts";
import { type Connection, connect, type Status } from "../../client/connection.ts";
import { applySignal, storedBlocks } from "../../client/reducer.ts";
import type { WebSocketLike } from "../../client/socket.ts";
import { emptyView, type View } from "../../client/view.ts";
import type { Signal, UnknownSignal } from "../../machines/protocol/signals.ts";
import type { Block } from "../../machines/protocol/turns.ts";

export type LibraryOptions = {
  readonly url: string;
  readonly session: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Called with every frame's number among those of its socket, from 1; "cut" breaks the line there, "pause" stops reading. */
  readonly onFrame?: (at: number, signal: Signal | UnknownSignal, socket: number) => "cut" | "pause" | undefined;
  /** Without one nothing falls due by itself: no ping, no wait that ends. */
  readonly clock?: Clock;
  /** Waited for before each reconnect; at once when absent. */
  readonly beforeReconnect?: () => Promise<void>;
};

export interface LibraryClient {
  readonly connection: Connection;
  view(): View;
  /** Every block of every turn, as it is shown now. */
  blocks(): readonly Block[];
  /** Signals that the library passed on, by kind. */
  count(kind: string): number;
  /** How many sockets there have been. */
  sockets(): number;
  /** What it sent, of all sockets, in order. */
  readonly sent: readonly { readonly type: string; readonly id: string }[];
  /** Close codes the client saw. */
  readonly codes: readonly number[];
  until(fits: (view: View) => boolean): Promise<void>;
  /** Lets a paused socket read again. */
  resume(): void;
  close(): void;
}

const stillClock: Clock = { now: () => Date.now(), after: () => () => {} };

export function libraryClient(options: LibraryOptions): LibraryClient {
  let view = emptyView;
  let opened = 0;
  let current: WebSocket | undefined;
  let waiting: { readonly fits: (view: View) => boolean; readonly resolve: () => void }[] = [];
  const counts = new Map<string, number>();
  const codes: number[] = [];
  const sent: LibraryClient["sent"][number][] = [];

  function socket(url: string, protocols: string[]): WebSocketLike {
    opened += 1;
    const mine = opened;
    const native = new WebSocket(url, protocols, { headers: options.headers, perMessageDeflate: false });
    current = native;
    let frames = 0;
    const line: WebSocketLike = {
      onopen: null,
      onmessage: null,
      onclose: null,
      onerror: null,
      send(data) {
        sent.push(JSON.parse(data));
        native.send(data);
      },
      close: (code, reason) => native.close(code, reason),
    };
    native.on("open", () => line.onopen?.({} as never));
    native.on("error", () => {});
    native.on("close", (code) => line.onclose?.({ code } as never));
    native.on("message", (data) => {
      if (native.readyState !== WebSocket.OPEN) return;
      const text = String(data);
      line.onmessage?.({ data: text } as never);
      frames += 1;
      const act = options.onFrame?.(frames, JSON.parse(text) as Signal, mine);
      if (act === "cut") native.terminate();
      if (act === "pause") native.pause();
    });
    return line;
  }

  const connection = connect({
    url: options.url,
    session: options.session,
    socket,
    probe: async () => 200,
    clock: options.clock ?? stillClock,
    onSignal(signal) {
      view = applySignal(view, signal);
      counts.set(signal.kind, (counts.get(signal.kind) ?? 0) + 1);
      for (const one of waiting.filter(({ fits }) => fits(view))) one.resolve();
      waiting = waiting.filter(({ fits }) => !fits(view));
    },
    onStatus(status: Status) {
      if (status.kind !== "waiting") return;
      codes.push(status.code ?? 0);
      if (options.clock) return;
      void (options.beforeReconnect?.() ?? Promise.resolve()).then(() => connection.retryNow());
    },
  });

  return {
    connection,
    view: () => view,
    blocks: () => view.turns.flatMap(storedBlocks),
    count: (kind) => counts.get(kind) ?? 0,
    sockets: () => opened,
    codes,
    sent,
    until: (fits) =>
      fits(view) ? Promise.resolve() : new Promise<void>((resolve) => void waiting.push({ fits, resolve })),
    resume: () => current?.resume(),
    close: () => connection.close(),
  };
}
