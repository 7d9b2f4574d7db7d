import { WebSocket } from "ws";
import type { PendingInteraction } from "../../machines/protocol/interactions.ts";
import type { Signal, UnknownSignal } from "../../machines/protocol/signals.ts";
import type { Turn } from "../../machines/protocol/turns.ts";
import { type Connection, connect, type Status } from "../connection.ts";
import { sessionsApi } from "../http.ts";
import { applySignal } from "../reducer.ts";
import { emptyView, type View } from "../view.ts";

export type Listener = { readonly view?: (view: View) => void; readonly status?: (status: Status) => void };

/** A session as the terminal holds it: its connection and what it shows. */
export type ChatSession = {
  readonly id: string;
  readonly connection: Connection;
  /** The turns that had ended before we came. */
  readonly earlier: readonly Turn[];
  /** What waited for an answer when we came. */
  readonly pending: PendingInteraction | null;
  view(): View;
  /** Hears every change until the returned function is called. */
  listen(listener: Listener): () => void;
};

/** Connects to a session of the user whose cookie is given; makes one if `session` is undefined. */
export async function openSession(url: string, cookie: string, session: string | undefined): Promise<ChatSession> {
  const headers = { cookie, origin: new URL(url).origin };
  const api = sessionsApi(url, fetch, headers);
  // Asking first gives a clear answer to a wrong id, instead of a refused upgrade.
  const id = session ?? (await api.create());
  const page = session === undefined ? undefined : await api.page(session);

  const listeners = new Set<Listener>();
  let view = emptyView;
  const connection = connect({
    url,
    session: id,
    socket: (address, protocols) => new WebSocket(address, protocols, { headers }),
    probe: (known) => api.probe(known),
    onSignal(signal: Signal | UnknownSignal) {
      view = applySignal(view, signal);
      for (const listener of [...listeners]) listener.view?.(view);
    },
    onStatus(status) {
      for (const listener of [...listeners]) listener.status?.(status);
    },
  });
  return {
    id,
    connection,
    earlier: (page?.turns ?? []).filter((turn) => turn.outcome !== undefined),
    pending: page?.state.pending_interaction ?? null,
    view: () => view,
    listen(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
