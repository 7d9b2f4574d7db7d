/** What the library uses of a socket. Both the browser's `WebSocket` and `ws` have this form. */
export interface WebSocketLike {
  onopen: ((event: never) => void) | null;
  onmessage: ((event: never) => void) | null;
  onclose: ((event: never) => void) | null;
  onerror: ((event: never) => void) | null;
  send(data: string): void;
  close(code?: number, reason?: string): void;
}

/** Opens a socket: `(url, protocols) => new WebSocket(url, protocols)`, or `ws` with its headers. */
export type SocketFactory = (url: string, protocols: string[]) => WebSocketLike;

export type SocketEvents = {
  readonly opened: () => void;
  readonly said: (text: string) => void;
  readonly closed: (code: number) => void;
};

export type Wire = { send(text: string): void; drop(code: number, reason: string): void };

/** Hooks `events` to a socket. After `drop` none of them is called any more, however long the closing takes. */
export function attach(socket: WebSocketLike, events: SocketEvents): Wire {
  socket.onopen = () => events.opened();
  socket.onmessage = (event: { readonly data: unknown }) => events.said(String(event.data));
  socket.onclose = (event: { readonly code: number }) => events.closed(event.code);
  // `onclose` follows and carries the code; without a listener `ws` would throw.
  socket.onerror = () => {};
  return {
    send: (text) => socket.send(text),
    drop(code, reason) {
      socket.onopen = null;
      socket.onmessage = null;
      socket.onclose = null;
      socket.close(code, reason);
    },
  };
}

/** The address of a session's socket. `server` is the server's own address, `http(s)` or `ws(s)`. */
export function socketUrl(server: string, session: string | undefined, after: number | undefined): string {
  const query = [
    session === undefined ? [] : [`session=${encodeURIComponent(session)}`],
    session === undefined || after === undefined ? [] : [`after=${after}`],
  ].flat();
  const base = `${server.replace(/^http/, "ws").replace(/\/+$/, "")}/v1/socket`;
  return query.length === 0 ? base : `${base}?${query.join("&")}`;
}
