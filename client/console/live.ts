import type { message } from "../commands.ts";
import { type Connection, connect } from "../connection.ts";
import type { SessionsApi } from "../http.ts";
import { type SessionStore, sessionStore } from "../store.ts";
import { olderThan } from "../view.ts";

/** One open conversation: its store and its connection. */
export type Live = {
  readonly id: string;
  readonly store: SessionStore;
  readonly connection: Connection;
  /** The server's clock, milliseconds, as far as its greeting told it. */
  now(): number;
  /** Loads the turns before those held. */
  older(): Promise<void>;
  close(): void;
};

export function openLive(id: string, api: SessionsApi): Live {
  const store = sessionStore();
  let ahead = 0;
  const connection = connect({
    url: location.origin,
    session: id,
    socket: (url, protocols) => new WebSocket(url, protocols),
    probe: api.probe,
    onSignal(signal) {
      if (signal.kind === "session_opened") ahead = Date.parse(signal.at) - Date.now();
      store.trigger.signal({ signal });
    },
    onStatus: (status) => store.trigger.status({ status }),
  });
  const wake = () => {
    if (document.visibilityState === "visible") connection.retryNow();
  };
  window.addEventListener("online", wake);
  document.addEventListener("visibilitychange", wake);
  return {
    id,
    store,
    connection,
    now: () => Date.now() + ahead,
    async older() {
      const before = olderThan(store.getSnapshot().context.view);
      if (before === undefined) return;
      store.trigger.older({ turns: (await api.page(id, before)).turns });
    },
    close() {
      window.removeEventListener("online", wake);
      document.removeEventListener("visibilitychange", wake);
      connection.close();
    },
  };
}

/** A message on its way: shown until the server has accepted it, and kept with the reason if it did not. */
export type Outgoing = { readonly command: ReturnType<typeof message>; readonly problem?: string };
