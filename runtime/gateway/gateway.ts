import { Failure } from "../../machines/failure.ts";
import { aguiRoute } from "./agui-route.ts";
import type { RunStream } from "./agui-run.ts";
import { responder } from "./answer.ts";
import { nativeWire } from "./native-wire.ts";
import { originCheck, ownOrigins, ownUrl } from "./origin.ts";
import { httpRoutes, register } from "./routes.ts";
import { CLOSE_LINGER, type Gateway, type GatewayServices, OVERSIZE_MARGIN } from "./services.ts";
import { openSocket, type Seat, type Socket } from "./socket.ts";
import { systemTimers } from "./timers.ts";
import { type Hello, judge, readHello, SUB_PROTOCOL } from "./upgrade.ts";
import {
  type HttpResponse,
  loadUws,
  type TemplatedApp,
  type us_listen_socket,
  type us_socket_context_t,
  type WebSocket,
} from "./uws.ts";

/** The address can't be listened on. */
export class CannotListen extends Failure {
  readonly code = "cannot_listen";
  readonly retryable = false;
}

/** What hangs on a native socket. `socket` is there from open to close. */
type Carried = { readonly seat: Seat; socket?: Socket };

/** Starts the edge. Rejects with `CannotListen` or `NativeServerMissing`. */
export async function startGateway(services: GatewayServices): Promise<Gateway> {
  const uws = loadUws();
  const { host, limits, log } = services;
  const timers = services.timers ?? systemTimers;
  const random = services.random ?? Math.random;
  const sockets = new Set<Socket>();
  const natives = new Set<WebSocket<Carried>>();
  const runs = new Set<RunStream>();
  let draining = false;
  let allowed = originCheck(services.origins ?? [], services.allowNoOrigin);
  const isAllowed = (origin: string) => allowed(origin);
  const isDraining = () => draining;

  const app = uws.App();
  app.ws<Carried>("/v1/socket", {
    maxPayloadLength: limits.frame_bytes + OVERSIZE_MARGIN,
    // The outbox bounds what waits. The native limit would drop frames silently.
    maxBackpressure: 0,
    // Ours ends a silent socket after 60 s; this one only cuts what does not answer a close frame.
    idleTimeout: 120,
    upgrade(res, req, context) {
      const hello = readHello(req);
      let gone = false;
      const respond = responder(res, false, () => {
        gone = true;
      });
      void judge(hello, services, isAllowed, isDraining)
        .then((verdict) => {
          if (gone) return;
          if (verdict.kind === "refused") respond(verdict.answer);
          else accept(res, hello, verdict.seat, context, natives.values().next().value);
        })
        .catch((err: unknown) => log.error("upgrade failed", { err }));
    },
    open(ws) {
      natives.add(ws);
      const carried = ws.getUserData();
      const { seat } = carried;
      const wire = nativeWire(ws, seat.sessionId, () => natives.has(ws), log);
      carried.socket = openSocket(wire, seat, services, timers);
      sockets.add(carried.socket);
    },
    message(ws, message, isBinary) {
      const { socket } = ws.getUserData();
      if (isBinary) socket?.binaryFrame();
      else socket?.frame(Buffer.from(message).toString("utf8"), message.byteLength);
    },
    ping: (ws) => ws.getUserData().socket?.heard(),
    pong: (ws) => ws.getUserData().socket?.heard(),
    drain(ws) {
      const { socket } = ws.getUserData();
      // Not now: what is written inside this handler and does not fit into the network's buffer would never be sent.
      setImmediate(() => socket?.drained());
    },
    close(ws) {
      natives.delete(ws);
      const { socket } = ws.getUserData();
      if (socket === undefined) return;
      sockets.delete(socket);
      socket.closed();
    },
  });
  const agui = aguiRoute(services, isAllowed, isDraining, timers, runs);
  register(app, httpRoutes(services, isAllowed, isDraining, agui), services);

  const listening = await listen(app, host, services.port);
  const port = uws.us_socket_local_port(listening as unknown as Parameters<typeof uws.us_socket_local_port>[0]);
  if (services.origins === undefined) allowed = originCheck(ownOrigins(host, port), services.allowNoOrigin);
  log.info("listening", { host, port });

  let isListening = true;
  let isOpen = true;
  const stopListening = (): void => {
    if (isListening) uws.us_listen_socket_close(listening);
    isListening = false;
  };
  const close = (): void => {
    draining = true;
    stopListening();
    if (isOpen) app.close();
    isOpen = false;
  };

  return {
    url: ownUrl(host, port),
    port,
    sockets: () => sockets.size,
    announceDrain(reconnectAfterMs) {
      draining = true;
      for (const socket of [...sockets]) socket.drain(Math.round(reconnectAfterMs * (1 + random())));
    },
    stopListening,
    async closeAll(code, reason) {
      draining = true;
      stopListening();
      const ending = [...sockets, ...runs];
      for (const socket of [...sockets]) socket.end(code, reason);
      for (const run of [...runs]) run.drain();
      // The native layer does not say who answered, so a fixed moment has to do.
      if (ending.length > 0) await new Promise<void>((resolve) => timers.after(CLOSE_LINGER, resolve));
      close();
    },
    close,
  };
}

/**
 * Not in a cork of the response's own: after it this native version may take bits of the new socket for HTTP flags and
 * hang up (uWebSockets issue 1928). While another socket is corked it neither corks nor warns of a missing cork.
 */
function accept(res: HttpResponse, hello: Hello, seat: Seat, context: us_socket_context_t, other?: WebSocket<Carried>) {
  const carried: Carried = { seat };
  const upgrade = () => res.upgrade(carried, hello.key, SUB_PROTOCOL, hello.extensions, context);
  if (other) other.cork(() => void res.cork(upgrade));
  else upgrade();
}

/** The native function takes host and options together; its types know only one of them. */
type ListensExclusively = {
  listen(host: string, port: number, options: number, done: (listening: us_listen_socket | false) => void): unknown;
};

/** Exclusively: by default the native layer would share the port with another process without a word. */
function listen(app: TemplatedApp, host: string, port: number): Promise<us_listen_socket> {
  const exclusive = 1;
  return new Promise((resolve, reject) => {
    const done = (listening: us_listen_socket | false): void => {
      if (listening) resolve(listening);
      else
        reject(
          new CannotListen(`can't listen on ${host}, port ${port}: is another server there? PORT and HOST choose`),
        );
    };
    (app as unknown as ListensExclusively).listen(host, port, exclusive, done);
  });
}
