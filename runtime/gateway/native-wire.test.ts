import { once } from "node:events";
import { afterEach, expect, test } from "vitest";
import { WebSocket } from "ws";
import { sessionId } from "../../machines/ids.ts";
import { type NativeSocket, nativeWire } from "./native-wire.ts";
import type { SocketWire } from "./socket.ts";
import { loadUws, type WebSocket as NativeWebSocket, type TemplatedApp } from "./uws.ts";

const SESSION = sessionId("00000000-0000-4000-8000-0000000000a1");

/** The native `send` throws for what is no text; `frames` up to 4,096 characters wait to leave together. */
const unsendable = (length: number) => ({ length }) as unknown as string;

let app: TemplatedApp;
afterEach(() => app.close());

/** A real native server. `around` puts something of the test's own between the wire and its native socket. */
async function scene(around: (ws: NativeWebSocket<unknown>) => NativeSocket = (ws) => ws) {
  const uws = loadUws();
  const errors: unknown[] = [];
  const open = new Set<NativeWebSocket<unknown>>();
  let opened: (wire: SocketWire) => void = () => expect.fail("nobody was expected");
  const log = { error: (message: string, fields: unknown) => void errors.push([message, fields]) };
  app = uws.App();
  app.ws("/*", {
    maxBackpressure: 0,
    open(ws) {
      open.add(ws);
      opened(nativeWire(around(ws), SESSION, () => open.has(ws), log));
    },
    close: (ws) => void open.delete(ws),
  });
  const port = await new Promise<number>((resolve, reject) => {
    app.listen("127.0.0.1", 0, (listening) =>
      listening ? resolve(uws.us_socket_local_port(listening as never)) : reject(new Error("can't listen")),
    );
  });
  async function join() {
    const made = new Promise<SocketWire>((resolve) => {
      opened = resolve;
    });
    const socket = new WebSocket(`ws://127.0.0.1:${port}/`, { perMessageDeflate: false });
    const frames: string[] = [];
    socket.on("message", (data) => frames.push(String(data)));
    const closed = once(socket, "close").then(([code, reason]) => [code, String(reason)]);
    const [wire] = await Promise.all([made, once(socket, "open")]);
    return { wire, frames, closed };
  }
  return { errors, join };
}

const cannotSend = expect.objectContaining({ message: expect.stringContaining("can only be passed by String") });
const isClosed = expect.objectContaining({ message: expect.stringContaining("closed") });

test.each([
  ["small", 1],
  ["large", 5_000],
])("[TO7] a %s frame that the native socket can't send ends this connection, and no other", async (_, length) => {
  const { errors, join } = await scene();
  const [one, other] = [await join(), await join()];
  for (const frame of ["a", unsendable(length), "b"]) one.wire.send(frame);
  one.wire.flush();
  expect(await one.closed).toEqual([1012, "try again"]);
  expect([one.frames, errors]).toEqual([["a"], [["send failed", { session_id: SESSION, err: cannotSend }]]]);
  other.wire.send("still here");
  other.wire.end(1000, "bye");
  expect([await other.closed, other.frames]).toEqual([[1000, "bye"], ["still here"]]);
});

test("[TO7] a wire that has ended takes nothing, asks its native socket nothing, and is ended once", async () => {
  const { errors, join } = await scene();
  const { wire, frames, closed } = await join();
  expect(wire.buffered()).toBe(0);
  wire.send("last words");
  wire.send(unsendable(1));
  wire.end(4401, "login ended");
  expect(wire.buffered()).toBe(Number.POSITIVE_INFINITY);
  wire.send("too late");
  wire.end(4401, "login ended");
  expect([await closed, frames, errors.length]).toEqual([[1012, "try again"], ["last words"], 1]);
});

test("[TO7] a connection that is gone in the middle of a frame is told to the log alone", async () => {
  const { errors, join } = await scene((ws) => ({
    send(frame) {
      ws.close();
      return ws.send(frame);
    },
    cork: (work) => ws.cork(work),
    end: (code, reason) => ws.end(code, reason),
    getBufferedAmount: () => ws.getBufferedAmount(),
  }));
  const { wire, closed } = await join();
  wire.send("a");
  wire.flush();
  expect(errors).toEqual([["send failed", { session_id: SESSION, err: isClosed }]]);
  expect(await closed).toEqual([1006, ""]);
});
