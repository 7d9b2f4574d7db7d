import { afterEach, expect, test, vi } from "vitest";
import type { Log } from "../observe/log.ts";
import { type Opening, type StreamWire, streaming } from "./event-stream.ts";
import { loadUws, type TemplatedApp } from "./uws.ts";

let app: TemplatedApp | undefined;
afterEach(() => app?.close());

const errors: string[] = [];
const log: Log = { debug() {}, info() {}, warn() {}, error: (line) => void errors.push(line), flush: async () => {} };

/** A native server with one stream. Gives its address. */
async function serve(opening: Opening): Promise<string> {
  app?.close();
  errors.length = 0;
  const uws = loadUws();
  app = uws.App();
  app.post(
    "/stream",
    streaming(log, async () => opening),
  );
  app.get("/alive", (res) => void res.end("yes"));
  const one = app;
  const socket = await new Promise<unknown>((resolve) => one.listen("127.0.0.1", 0, resolve));
  return `http://127.0.0.1:${uws.us_socket_local_port(socket as never)}`;
}

const failures: readonly [name: string, before: (wire: StreamWire) => void][] = [
  ["at once", () => {}],
  ["after something was sent", (wire) => wire.send("data: 1\n\n")],
  ["after it was ended", (wire) => wire.end()],
  ["after it was cut", (wire) => wire.cut()],
];

test.each(failures)("[AG20] an opening that throws %s is abandoned, and its wire is dead", async (_, before) => {
  let kept: StreamWire | undefined;
  const told: string[] = [];
  const url = await serve({
    open(wire) {
      kept = wire;
      before(wire);
      throw new Error("no");
    },
    abandon: () => void told.push("abandoned"),
  });
  await fetch(`${url}/stream`, { method: "POST", body: "{}" })
    .then((response) => response.text())
    .catch(() => "cut");
  await vi.waitFor(() => expect([told, errors]).toEqual([["abandoned"], ["answer not written"]]));
  kept?.send(": heartbeat\n\n");
  kept?.end();
  kept?.cut();
  expect(await (await fetch(`${url}/alive`)).text()).toBe("yes");
  expect([told, errors]).toEqual([["abandoned"], ["answer not written"]]);
});

test("[AG20] a stream that cuts its own wire while it opens is no fault", async () => {
  const told: string[] = [];
  const url = await serve({
    open(wire) {
      wire.cut();
      return { drained: () => void told.push("drained"), gone: () => void told.push("gone") };
    },
    abandon: () => void told.push("abandoned"),
  });
  await expect(fetch(`${url}/stream`, { method: "POST", body: "{}" }).then((one) => one.text())).rejects.toThrow();
  expect(await (await fetch(`${url}/alive`)).text()).toBe("yes");
  expect([told, errors]).toEqual([[], []]);
});
