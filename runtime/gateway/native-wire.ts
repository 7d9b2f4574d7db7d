import type { SessionId } from "../../machines/ids.ts";
import type { Log } from "../observe/log.ts";
import type { SocketWire } from "./socket.ts";
import { Together } from "./together.ts";
import type { WebSocket } from "./uws.ts";

/** What is asked of a native socket. Each of these throws once that has closed. */
export type NativeSocket = Pick<WebSocket<unknown>, "send" | "cork" | "end" | "getBufferedAmount">;

/** The wire of one client on a native socket. A fault of it ends this connection and is nobody else's. */
export function nativeWire(
  ws: NativeSocket,
  sessionId: SessionId,
  isOpen: () => boolean,
  log: Pick<Log, "error">,
): SocketWire {
  const together = new Together({
    send: (frame) => void ws.send(frame),
    cork: (work) => void ws.cork(work),
    isOpen,
    failed(err) {
      log.error("send failed", { session_id: sessionId, err });
      // Its `close` gives up all that belongs to the socket; the client comes back to what it missed.
      if (isOpen()) ws.end(1012, "try again");
    },
  });
  return {
    send: (frame) => together.send(frame),
    flush: () => together.flush(),
    // Without the little that waits to leave together: it waits for us, not for the client.
    // A connection that has ended takes nothing: it may end while a queue is handed over to it.
    buffered: () => (isOpen() ? ws.getBufferedAmount() : Number.POSITIVE_INFINITY),
    end(code, reason) {
      together.flush();
      // Its last words may be what it failed at.
      if (isOpen()) ws.end(code, reason);
    },
  };
}
